use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 1>, #[out] b: &mut Tensor<f32, 1>) {
    for i in range(0, 16, 2, 1) {
        b.put([i], a.get([i]));
    }
}

fn main() {}
