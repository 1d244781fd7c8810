//! Tiles that do not fit into a vector core's buffer together.

use pypto::config::Platform;
use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit(incore)]
pub fn blend(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &Tensor<f32, 2>, #[out] #[shape(M, N)] z: &mut Tensor<f32, 2>) {
    let mut sum = Tile::<f32>::zeros([160, 160]);
    for i in 0..M / 160 {
        let a = x.tile([i * 160, 0], [160, N]);
        let b = y.tile([i * 160, 0], [160, N]);
        sum += a.exp() * b + b.exp() * a;
    }
    for i in 0..M / 160 {
        z.store([i * 160, 0], sum);
    }
}

pub fn case() -> Case {
    Case::of::<blend>([f32s([320, 160]), f32s([320, 160]), f32s([320, 160])]).on(Platform::A2a3Sim)
}
