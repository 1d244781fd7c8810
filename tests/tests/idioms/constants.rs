//! Constants of the module, of types, and of the body.

use pypto::prelude::*;

use crate::{check, f, finish, z};
use std::f32::consts::{LN_2, PI};
const TM: i64 = 4;
const EPS: f32 = 1e-6;
const SHAPE: [i64; 2] = [4, 16];
const TABLE: [f32; 4] = [0.5, 1.5, 2.5, 3.5];
const BITS: u32 = 0xff;
const COUNT: usize = 4;
const DOUBLE: i64 = TM * 2;
const SLOPE: f16 = f16::from_f32_const(0.25);
const PAIR: (i64, f32) = (3, 0.5);
static GLOBAL: f32 = 2.0;
pub struct Config;
impl Config {
    pub const HEADS: i64 = 2;
    pub const DIM: usize = 8;
    pub const TILE: [i64; 2] = [2, 8];
}
pub mod model {
    pub const HIDDEN: i64 = 8;
    pub mod deep {
        pub const EPS: f32 = 1e-3;
    }
}
const fn half(n: i64) -> i64 {
    n / 2
}

#[pypto::jit]
fn tile_shape_constant(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], SHAPE) {
        y.store(at, x.load(at) * 2.0);
    }
}
#[pypto::jit]
fn table_lookup(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in 0..M {
        y.store([i, 0], x.tile([i, 0], [1, N]) * TABLE[(i % 4) as usize]);
    }
}
#[pypto::jit]
fn shape_parts(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, SHAPE[0]) {
        y.store([i, 0], x.tile([i, 0], [SHAPE[0], N]) + SHAPE[1] as f32);
    }
}
#[pypto::jit]
fn scalars(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [DOUBLE, N]) {
        y.store(
            at,
            (x.load(at) * PI + EPS + LN_2 + std::f32::consts::E) * Config::HEADS as f32
                + (BITS & 3) as f32
                + model::deep::EPS
                + f32::EPSILON
                + COUNT as f32,
        );
    }
}
#[pypto::jit]
fn repeat_with_constant(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut sums = [0.0f32; COUNT];
    for i in 0..COUNT {
        sums[i] = i as f32;
    }
    y.set(x * sums[1] + sums[3]);
}
#[pypto::jit]
fn associated_array(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], Config::TILE) {
        y.store(at, x.load(at).exp());
    }
}
#[pypto::jit]
fn pair_constant(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x * PAIR.1 + PAIR.0 as f32);
}
#[pypto::jit]
fn static_value(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x * GLOBAL);
}
#[pypto::jit]
fn inner_const(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    const STEP: i64 = 4;
    use std::f32::consts::FRAC_PI_2;
    for i in range(0, M, STEP) {
        y.store([i, 0], x.tile([i, 0], [STEP, N]).exp() * FRAC_PI_2);
    }
}
#[pypto::jit]
fn const_fn_call(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [comptime!(half(N)), N]) {
        y.store(at, x.load(at).exp());
    }
}
#[pypto::jit]
fn half_constant(
    #[shape(M, N)] x: &Tensor<f16, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f16, 2>,
) {
    y.set(x * SLOPE + f16::ONE + f16::from_f32(0.5));
}
#[pypto::jit]
fn extremes(
    #[shape(M, N)] x: &Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i32, 2>,
) {
    y.set(x.max(i32::MIN + 1).min(i32::MAX - 1) + i8::MAX as i32 + u8::MAX as i32);
}
#[test]
fn constants_of_every_kind() {
    let mut failures = Vec::new();
    check!(failures, tile_shape_constant, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, table_lookup, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, shape_parts, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, scalars, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, repeat_with_constant, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, associated_array, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, pair_constant, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, static_value, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, inner_const, [&f(1, [10, 33])], y = z([10, 33]));
    check!(failures, const_fn_call, [&f(1, [10, 8])], y = z([10, 8]));
    check!(failures, half_constant, [&Tensor::full([2, 3], f16::ONE)], y = Tensor::<f16, 2>::zeros([2, 3]));
    check!(failures, extremes, [&Tensor::full([2, 3], i32::MIN)], y = Tensor::<i32, 2>::zeros([2, 3]));
    finish(failures);
}
