use pypto::prelude::*;

const NAME: &str = "k";

#[pypto::jit]
fn k(#[out] b: &mut Tensor<f32, 2>) {
    let _ = NAME;
    b.set(1.0);
}

fn main() {}
