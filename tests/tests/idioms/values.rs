//! Values: ascriptions, tuples, arrays, masks, casts, operators with tensors, views and scalars on either side.

use pypto::ir::DType;
use pypto::prelude::*;

use crate::{check, f, finish, z};
type Row = Tile<f32>;
type Weights = Tensor<f32, 2>;
#[pypto::jit]
fn alias_in_let(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t: Row = x.load_all();
    let s: f32 = 2.0;
    let u: Tile<f32, 2> = t * s;
    y.set(u);
}
#[pypto::jit]
fn select_ints(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i32, 2>,
) {
    y.set(select(x.gt(0.0), 1, 0));
}
#[pypto::jit]
fn select_method(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i8, 2>,
) {
    let m = x.gt(0.0).select(1, -1);
    y.set(m);
}
#[pypto::jit]
fn select_halves(
    #[shape(M, N)] x: &Tensor<f16, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f16, 2>,
) {
    let m = select(x.gt(f16::ZERO), f16::ONE, f16::ZERO);
    y.set(m * x);
}
#[pypto::jit]
fn scalars_left(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = 1.0 - x;
    y.set(2.0 / (3.0 + t * t) - 1.0 % (x.abs() + 1.0));
}
#[pypto::jit]
fn tensor_exprs(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] w: &Tensor<f32, 2>,
    #[shape(M, N)] y: &mut Tensor<f32, 2>,
) {
    y.set(x * w + y.load_all() - x.exp());
}
#[pypto::jit]
fn mut_plus(#[shape(M, N)] x: &Tensor<f32, 2>, #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    let s = x + &*y;
    y.set(s);
}
#[pypto::jit]
fn views_left(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, 2) {
        let v = x.rows(i, 2) + 1.0;
        y.rows_mut(i, 2).set(1.0 - x.rows(i, 2) * v);
    }
}
#[pypto::jit]
fn view_named(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, 2) {
        let part = x.rows(i, 2);
        let mut out = y.rows_mut(i, 2);
        out.set(&part * 2.0 + &part);
    }
}
#[pypto::jit]
fn compound(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut t = x.load_all();
    t += 1.0;
    t *= x;
    t -= x;
    t /= 2.0;
    let mut b = t.gt(0.0);
    b &= t.lt(1.0);
    b |= x.eq(0.0);
    b ^= x.lt(0.0);
    y.set(select(b, t, -t));
}
#[pypto::jit]
fn bits(
    #[shape(M, N)] x: &Tensor<i32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i32, 2>,
) {
    let t = x.load_all();
    y.set(((t << 3) | (t >> 2)) ^ !t & 0xff);
}
#[pypto::jit]
fn tuples(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut state = (Tile::full([M, 1], f32::NEG_INFINITY), Tile::zeros([M, 1]));
    for j in range(0, N, 8) {
        let t = x.tile([0, j], [M, 8]);
        let m = state.0.max(t.row_max());
        state = (m, state.1 * (state.0 - m).exp() + (t - m).exp().row_sum());
    }
    let (m, l) = state;
    y.set((x - m).exp() / l);
}
#[pypto::jit]
fn array_of_tiles(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let parts = [x.load_all(), x.exp(), -x];
    let mut s = parts[0];
    for k in unroll(1..3) {
        s += parts[k as usize];
    }
    for part in parts {
        s *= part;
    }
    y.set(s);
}
#[pypto::jit]
fn nested_arrays(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let m = [[1.0, 2.0], [3.0, 4.0]];
    y.set(x * m[0][1] + m[1][0]);
}
#[pypto::jit]
fn array_pattern(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let [a, b] = [1.0, 2.0];
    y.set(x * a + b);
}
#[pypto::jit]
fn int_casts(
    n: i64,
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<i8, 2>,
) {
    let t = (x * 127.0).cast_with::<i32>(Round::Rint).cast::<f16>().cast_with::<i8>(Round::Trunc);
    y.set(t + (n as u8 as i8) + 1);
}
#[pypto::jit]
fn masks(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<bool, 2>,
    #[out]
    #[shape(M, 1)]
    c: &mut Tensor<i32, 2>,
) {
    let m = x.gt(0.5) & !x.gt(0.75) | x.lt(-0.9);
    y.set(m);
    c.set(m.cast::<i32>().row_sum());
}
#[pypto::jit]
fn mean_of_all(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(1, 1)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.row_sum().col_sum() / (M * N) as f32);
}
#[pypto::jit]
fn powers(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.abs().pow(1.5) + x.pow(2.0));
}
#[pypto::jit]
fn clamped(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.clamp(-0.5, 0.5));
}
#[pypto::jit]
fn tile_rounding(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x * 3.0;
    y.set(t.floor() + t.ceil());
}
#[pypto::jit]
fn references(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let t = x.load_all();
    let r = &t;
    y.set(*r + 1.0);
}
#[pypto::jit]
fn shapes_from_tile(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [4, 8]) {
        let t = x.load(at);
        let ones = Tile::full([t.dim(0), t.dim(1)], 1.0);
        y.store(at, t + ones * t.valid(0) as f32 + at.valid(1) as f32 + at.offset(0) as f32);
    }
}
#[pypto::jit]
fn row_vector(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(N)] g: &Tensor<f32, 1>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let g = g.load_all().reshape([1, N]);
    y.set(x * g);
}
#[pypto::jit]
fn scalar_tile(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let m = x.row_max().col_max();
    let s = m.get([0, 0]);
    y.set(x / s);
}
#[pypto::jit]
fn bf16_math(
    #[shape(M, N)] x: &Tensor<bf16, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<bf16, 2>,
) {
    let t = x.cast::<f32>();
    y.set((t * 2.0).cast() + x * bf16::from_f32(0.5));
}
#[pypto::jit]
fn element_types<T: Element>(
    #[shape(M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<T, 2>,
) {
    let wide = T::DTYPE == f32::DTYPE;
    let step = if wide { 1.5 } else { 0.5 };
    let factor = match T::DTYPE {
        DType::F16 => 2.0,
        DType::BF16 if T::DTYPE != f32::DTYPE => 3.0,
        _ => 4.0,
    };
    static_print!("{} is wide: {wide}", T::DTYPE);
    y.set((x.cast::<f32>() * factor + step).cast::<T>());
}
#[test]
fn element_types_are_told_apart_at_specialization() {
    fn of<T: Element>(failures: &mut Vec<String>, expected: f32) {
        let one = || Tensor::full([2, 3], 1.0f32).cast::<T>();
        let (mut x, mut y) = (Tensor::<T, 2>::zeros([2, 3]), Tensor::<T, 2>::zeros([2, 3]));
        x.set(one());
        check!(failures, element_types::<T>, [&x], y = Tensor::<T, 2>::zeros([2, 3]));
        element_types(&x, &mut y).unwrap();
        let mut wide = Tensor::<f32, 2>::zeros([2, 3]);
        wide.set(y.cast::<f32>());
        assert_eq!(wide.to_vec(), [expected; 6]);
        let text = element_types::<T>.lower(&(&x, &y)).unwrap().to_string();
        assert!(!text.contains("if"), "{text}");
    }
    let mut failures = Vec::new();
    of::<f32>(&mut failures, 5.5);
    of::<f16>(&mut failures, 2.5);
    of::<bf16>(&mut failures, 3.5);
    finish(failures);
}
#[test]
fn values_of_every_kind() {
    let mut failures = Vec::new();
    let x = f(1, [10, 33]);
    check!(failures, alias_in_let, [&x], y = z([10, 33]));
    check!(failures, select_ints, [&x], y = Tensor::<i32, 2>::zeros([10, 33]));
    check!(failures, select_method, [&x], y = Tensor::<i8, 2>::zeros([10, 33]));
    check!(failures, select_halves, [&Tensor::full([2, 3], f16::ONE)], y = Tensor::<f16, 2>::zeros([2, 3]));
    check!(failures, scalars_left, [&x], y = z([10, 33]));
    check!(failures, tensor_exprs, [&x, &f(2, [10, 33])], y = f(3, [10, 33]));
    check!(failures, mut_plus, [&x], y = f(3, [10, 33]));
    check!(failures, views_left, [&x], y = z([10, 33]));
    check!(failures, view_named, [&x], y = z([10, 33]));
    check!(failures, compound, [&x], y = z([10, 33]));
    check!(failures, bits, [&Tensor::full([2, 3], 77i32)], y = Tensor::<i32, 2>::zeros([2, 3]));
    check!(failures, tuples, [&x], y = z([10, 33]));
    check!(failures, array_of_tiles, [&x], y = z([10, 33]));
    check!(failures, nested_arrays, [&x], y = z([10, 33]));
    check!(failures, array_pattern, [&x], y = z([10, 33]));
    check!(failures, int_casts, [3i64, &x], y = Tensor::<i8, 2>::zeros([10, 33]));
    check!(failures, masks, [&x], y = Tensor::<bool, 2>::zeros([10, 33]), c = Tensor::<i32, 2>::zeros([10, 1]));
    check!(failures, mean_of_all, [&x], y = z([1, 1]));
    check!(failures, powers, [&x], y = z([10, 33]));
    check!(failures, clamped, [&x], y = z([10, 33]));
    check!(failures, tile_rounding, [&x], y = z([10, 33]));
    check!(failures, references, [&x], y = z([10, 33]));
    check!(failures, shapes_from_tile, [&x], y = z([10, 33]));
    check!(failures, row_vector, [&x, &f(2, [33])], y = z([10, 33]));
    check!(failures, scalar_tile, [&x], y = z([10, 33]));
    check!(failures, bf16_math, [&Tensor::full([2, 3], bf16::ONE)], y = Tensor::<bf16, 2>::zeros([2, 3]));
    finish(failures);
}
