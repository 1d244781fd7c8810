use pypto::prelude::*;

#[pypto::jit(mata(TM = 1))]
fn k(n: i64, #[out] b: &mut Tensor<f32, 2>) {
    b.set(n as f32);
}

fn main() {
    // The handles are there in spite of the error.
    let _ = k.ir();
}
