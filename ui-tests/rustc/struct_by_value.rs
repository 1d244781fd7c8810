use pypto::prelude::*;

#[derive(pypto::Args)]
struct Weights {
    #[shape(M, N)]
    up: Tensor<f32, 2>,
}

#[pypto::jit]
fn scaled(#[shape(M, N)] x: &Tensor<f32, 2>, w: Weights, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.set(x * &w.up);
}

fn main() {}
