//! Builds kernels that the tests share.

use crate::ir::builder::ForLoop;
use crate::ir::{
    Builder, DType, Direction, Extent, FileId, Function, FunctionKind, Loc, LoopKind, ParamRole, TensorType, Type,
    ValueId,
};
use crate::ops::OpKind;

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
    b.for_loop::<crate::ops::rules::RuleError>(&head, |b, index, _| {
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
