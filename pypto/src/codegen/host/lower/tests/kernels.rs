//! Builds kernels that the tests share.

use crate::ir::builder::ForLoop;
use crate::ir::{
    Builder, DType, Direction, Extent, FileId, Function, FunctionKind, Loc, LoopKind, ParamRole, TensorType, Type,
    ValueId,
};
use crate::ops::OpKind;
use crate::ops::rules::RuleError;

pub(super) fn loc() -> Loc {
    Loc::new(FileId::intern("kernel.rs"), 1, 1, 1, 2)
}

/// A builder for an in-core function.
pub(super) fn kernel(name: &str) -> Builder {
    Builder::new(name, FunctionKind::InCore, loc())
}

/// A contiguous tensor parameter of constant extents.
pub(super) fn tensor(b: &mut Builder, name: &str, dtype: DType, dims: &[i64], direction: Direction) -> ValueId {
    let strides = super::super::context::row_major(dims).into_iter().map(Extent::Const).collect();
    let dims = dims.iter().map(|&d| Extent::Const(d)).collect();
    b.param(name, Type::Tensor(TensorType { dtype, dims, strides }), direction, ParamRole::Tensor, loc())
}

/// `for offset in (0..extent).step_by(tile)`.
pub(super) fn tiles(b: &mut Builder, kind: LoopKind, extent: i64, tile: i64, body: impl Fn(&mut Builder, ValueId)) {
    let (lower, upper, step) = (b.index(0, loc()), b.index(extent, loc()), b.index(tile, loc()));
    let head = ForLoop { kind, lower, upper, step, initial: vec![], index_name: None, names: vec![], loc: loc() };
    b.for_loop::<RuleError>(&head, |b, index, _| {
        body(b, index);
        Ok(vec![])
    })
    .unwrap();
}

/// Softmax over rows, `tile` rows at a time.
pub(super) fn softmax(m: i64, n: i64, tile: i64) -> Function {
    let mut b = kernel("softmax");
    let x = tensor(&mut b, "x", DType::F32, &[m, n], Direction::In);
    let y = tensor(&mut b, "y", DType::F32, &[m, n], Direction::Out);
    tiles(&mut b, LoopKind::Parallel, m, tile, |b, at| {
        let zero = b.index(0, loc());
        let dims = [Extent::Const(tile), Extent::Const(n)];
        let t = b.load(x, &[at, zero], &dims, None, loc()).unwrap();
        let max = b.unary(OpKind::RowMax, t, loc()).unwrap();
        let d = b.binary(OpKind::Sub, t, max, loc()).unwrap();
        let e = b.unary(OpKind::Exp, d, loc()).unwrap();
        let sum = b.unary(OpKind::RowSum, e, loc()).unwrap();
        let out = b.binary(OpKind::Div, e, sum, loc()).unwrap();
        b.store(out, y, &[at, zero], None, loc()).unwrap();
    });
    b.finish(vec![]).unwrap()
}

/// `for at in (0..extent).step_by(tile)` with carried values.
pub(super) fn carried(
    b: &mut Builder,
    extent: i64,
    tile: i64,
    initial: &[ValueId],
    body: impl Fn(&mut Builder, ValueId, &[ValueId]) -> Vec<ValueId>,
) -> Vec<ValueId> {
    let (lower, upper, step) = (b.index(0, loc()), b.index(extent, loc()), b.index(tile, loc()));
    let head = ForLoop {
        kind: LoopKind::Sequential,
        lower,
        upper,
        step,
        initial: initial.to_vec(),
        index_name: None,
        names: vec![],
        loc: loc(),
    };
    b.for_loop::<RuleError>(&head, |b, index, carried| Ok(body(b, index, carried))).unwrap()
}

fn c(n: i64) -> Extent {
    Extent::Const(n)
}

pub(super) fn float(b: &mut Builder, x: f64) -> ValueId {
    b.literal_of(crate::ops::fold::Literal::Float(x), DType::F32, loc()).unwrap()
}

/// `c = a @ b` in tiles of `tm` x `tn`, K in steps of `tk`.
pub(super) fn matmul(m: i64, n: i64, k: i64, (tm, tn, tk): (i64, i64, i64)) -> Function {
    let mut b = kernel("matmul");
    let x = tensor(&mut b, "a", DType::F32, &[m, k], Direction::In);
    let y = tensor(&mut b, "b", DType::F32, &[k, n], Direction::In);
    let z = tensor(&mut b, "c", DType::F32, &[m, n], Direction::Out);
    tiles(&mut b, LoopKind::Parallel, m, tm, |b, i| {
        tiles(b, LoopKind::Parallel, n, tn, |b, j| {
            if tk == k {
                let none = b.index(0, loc());
                let p = b.load(x, &[i, none], &[c(tm), c(tk)], None, loc()).unwrap();
                let q = b.load(y, &[none, j], &[c(tk), c(tn)], None, loc()).unwrap();
                let product = b.matmul(OpKind::Matmul, &[p, q], false, false, loc()).unwrap();
                b.store(product, z, &[i, j], None, loc()).unwrap();
                return;
            }
            let zero = float(b, 0.0);
            let zero = b.full(zero, &[c(tm), c(tn)], loc()).unwrap();
            let acc = carried(b, k, tk, &[zero], |b, at, acc| {
                let p = b.load(x, &[i, at], &[c(tm), c(tk)], None, loc()).unwrap();
                let q = b.load(y, &[at, j], &[c(tk), c(tn)], None, loc()).unwrap();
                vec![b.matmul(OpKind::MatmulAcc, &[acc[0], p, q], false, false, loc()).unwrap()]
            });
            b.store(acc[0], z, &[i, j], None, loc()).unwrap();
        });
    });
    b.finish(vec![]).unwrap()
}

/// Flash attention of `heads` heads, `s` queries and keys, width `d`, in blocks of `bq` x `bk`.
pub(super) fn flash(heads: i64, s: i64, d: i64, (bq, bk): (i64, i64)) -> Function {
    let mut b = kernel("flash");
    let dims = [heads * s, d];
    let q = tensor(&mut b, "q", DType::F32, &dims, Direction::In);
    let k = tensor(&mut b, "k", DType::F32, &dims, Direction::In);
    let v = tensor(&mut b, "v", DType::F32, &dims, Direction::In);
    let o = tensor(&mut b, "o", DType::F32, &dims, Direction::Out);
    tiles(&mut b, LoopKind::Parallel, heads, 1, |b, head| {
        tiles(b, LoopKind::Parallel, s, bq, |b, row| {
            let (zero, rows) = (b.index(0, loc()), b.index(s, loc()));
            let base = b.binary(OpKind::Mul, head, rows, loc()).unwrap();
            let at = b.binary(OpKind::Add, base, row, loc()).unwrap();
            let queries = b.load(q, &[at, zero], &[c(bq), c(d)], None, loc()).unwrap();
            let (none, least, scale) = (float(b, 0.0), float(b, f64::NEG_INFINITY), float(b, 1.0 / (d as f64).sqrt()));
            let acc = b.full(none, &[c(bq), c(d)], loc()).unwrap();
            let max = b.full(least, &[c(bq), c(1)], loc()).unwrap();
            let sum = b.full(none, &[c(bq), c(1)], loc()).unwrap();
            let out = carried(b, s, bk, &[acc, max, sum], |b, key, state| {
                let at = b.binary(OpKind::Add, base, key, loc()).unwrap();
                let keys = b.load(k, &[at, zero], &[c(bk), c(d)], None, loc()).unwrap();
                let values = b.load(v, &[at, zero], &[c(bk), c(d)], None, loc()).unwrap();
                let scores = b.matmul(OpKind::Matmul, &[queries, keys], false, true, loc()).unwrap();
                let scores = b.binary(OpKind::Mul, scores, scale, loc()).unwrap();
                let block_max = b.unary(OpKind::RowMax, scores, loc()).unwrap();
                let max = b.binary(OpKind::Max, state[1], block_max, loc()).unwrap();
                let shifted = b.binary(OpKind::Sub, scores, max, loc()).unwrap();
                let p = b.unary(OpKind::Exp, shifted, loc()).unwrap();
                let down = b.binary(OpKind::Sub, state[1], max, loc()).unwrap();
                let fix = b.unary(OpKind::Exp, down, loc()).unwrap();
                let sum = b.binary(OpKind::Mul, state[2], fix, loc()).unwrap();
                let block_sum = b.unary(OpKind::RowSum, p, loc()).unwrap();
                let sum = b.binary(OpKind::Add, sum, block_sum, loc()).unwrap();
                let acc = b.binary(OpKind::Mul, state[0], fix, loc()).unwrap();
                let acc = b.matmul(OpKind::MatmulAcc, &[acc, p, values], false, false, loc()).unwrap();
                vec![acc, max, sum]
            });
            let normal = b.binary(OpKind::Div, out[0], out[2], loc()).unwrap();
            b.store(normal, o, &[at, zero], None, loc()).unwrap();
        });
    });
    b.finish(vec![]).unwrap()
}

/// Layer norm over rows with scale and shift, `tile` rows at a time.
pub(super) fn layer_norm(m: i64, n: i64, tile: i64) -> Function {
    let mut b = kernel("layer_norm");
    let x = tensor(&mut b, "x", DType::F32, &[m, n], Direction::In);
    let scale = tensor(&mut b, "scale", DType::F32, &[1, n], Direction::In);
    let shift = tensor(&mut b, "shift", DType::F32, &[1, n], Direction::In);
    let y = tensor(&mut b, "y", DType::F32, &[m, n], Direction::Out);
    tiles(&mut b, LoopKind::Parallel, m, tile, |b, at| {
        let (zero, count, least) = (b.index(0, loc()), float(b, 1.0 / n as f64), float(b, 1e-5));
        let t = b.load(x, &[at, zero], &[c(tile), c(n)], None, loc()).unwrap();
        let gamma = b.load(scale, &[zero, zero], &[c(1), c(n)], None, loc()).unwrap();
        let beta = b.load(shift, &[zero, zero], &[c(1), c(n)], None, loc()).unwrap();
        let sum = b.unary(OpKind::RowSum, t, loc()).unwrap();
        let mean = b.binary(OpKind::Mul, sum, count, loc()).unwrap();
        let d = b.binary(OpKind::Sub, t, mean, loc()).unwrap();
        let square = b.binary(OpKind::Mul, d, d, loc()).unwrap();
        let squares = b.unary(OpKind::RowSum, square, loc()).unwrap();
        let variance = b.binary(OpKind::Mul, squares, count, loc()).unwrap();
        let variance = b.binary(OpKind::Add, variance, least, loc()).unwrap();
        let factor = b.unary(OpKind::Rsqrt, variance, loc()).unwrap();
        let normal = b.binary(OpKind::Mul, d, factor, loc()).unwrap();
        let scaled = b.binary(OpKind::Mul, normal, gamma, loc()).unwrap();
        let out = b.binary(OpKind::Add, scaled, beta, loc()).unwrap();
        b.store(out, y, &[at, zero], None, loc()).unwrap();
    });
    b.finish(vec![]).unwrap()
}
