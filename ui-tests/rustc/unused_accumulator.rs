#![deny(unused_must_use)]
use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, #[out] c: &mut Tensor<f32, 2>) {
    let acc = Tile::<f32>::zeros([16, 16]);
    acc.mma(a, b);
    c.set(acc);
}

fn main() {}
