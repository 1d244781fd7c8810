//! Rust code at specialization on an extent that is not known there.

use pypto::prelude::*;

use crate::{Case, f32s};

fn half(n: i64) -> i64 {
    n / 2
}

#[pypto::jit]
pub fn computed(#[shape(dyn M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let rows = comptime!(half(M) + N);
    y.set(x * rows as f32);
}

pub fn case() -> Case {
    Case::of::<computed>([f32s([4, 4]), f32s([4, 4])])
}
