use pypto::prelude::*;

#[pypto::jit]
fn k(n: i64, #[out] b: &mut Tensor<f32, 2>) {
    for i in 0..n {
        b.put([i, 0], 1.0);
        return;
    }
}

fn main() {}
