//! Folding, sharing and placing of scalars, and control flow with carried values.

use super::{Builder, ForLoop};
use crate::ir::*;
use crate::ops::OpKind;
use crate::ops::rules::RuleError;

fn loc() -> Loc {
    Loc::new(FileId::intern("kernel.rs"), 1, 1, 1, 2)
}

fn tensor(dims: &[i64]) -> Type {
    let dims: Vec<Extent> = dims.iter().map(|n| Extent::Const(*n)).collect();
    let strides = types::contiguous_strides(&dims).unwrap();
    Type::Tensor(TensorType { dtype: DType::F32, dims, strides })
}

/// A function with a tensor `x` of these extents and a scalar `n`.
fn start(dims: &[i64]) -> (Builder, ValueId, ValueId) {
    let mut b = Builder::new("f", FunctionKind::InCore, loc());
    let x = b.param("x", tensor(dims), Direction::InOut, ParamRole::Tensor, loc());
    let n = b.param("n", Type::INDEX, Direction::In, ParamRole::Scalar, loc());
    (b, x, n)
}

fn tiles(b: &mut Builder, extent: i64, step: i64) -> ForLoop {
    let (lower, upper, step) = (b.index(0, loc()), b.index(extent, loc()), b.index(step, loc()));
    let (initial, names) = (Vec::new(), Vec::new());
    ForLoop { kind: LoopKind::Auto, lower, upper, step, initial, index_name: None, names, loc: loc() }
}

/// Loads tiles of 64 rows in a loop; the valid extent of the rows.
fn valid_rows(extent: i64) -> Extent {
    let (mut b, x, _) = start(&[extent, 8]);
    let head = tiles(&mut b, extent, 64);
    let (i, _) = b.begin_for(&head, &[]).unwrap();
    let zero = b.index(0, loc());
    let t = b.load(x, &[i, zero], &[64.into(), 8.into()], None, loc()).unwrap();
    let valid = b.tile_type(t).unwrap().valid[0];
    b.end_for(&[]).unwrap();
    verify_function(&b.finish(vec![]).unwrap()).unwrap_or_else(|e| panic!("{e:?}"));
    valid
}

#[test]
fn divisible_extents_have_full_tiles() {
    assert_eq!(valid_rows(1024), Extent::Const(64));
    assert!(valid_rows(1000).value().is_some());
}

#[test]
fn equal_scalars_are_one_and_leave_loops() {
    let (mut b, _, n) = start(&[128, 8]);
    let head = tiles(&mut b, 128, 64);
    b.begin_for(&head, &[]).unwrap();
    let two = b.index(2, loc());
    let first = b.binary(OpKind::Mul, n, two, loc()).unwrap();
    b.end_for(&[]).unwrap();
    let second = b.binary(OpKind::Mul, n, two, loc()).unwrap();
    assert_eq!(first, second);
    verify_function(&b.finish(vec![second]).unwrap()).unwrap();
}

#[test]
fn constant_arithmetic_without_a_result_is_an_error() {
    let (mut b, _, _) = start(&[8]);
    let (max, one, zero) = (b.index(i64::MAX, loc()), b.index(1, loc()), b.index(0, loc()));
    let overflow = b.binary(OpKind::Add, max, one, loc()).unwrap_err();
    assert_eq!(overflow.to_string(), "`9223372036854775807 + 1` overflows `i64`");
    let division = b.binary(OpKind::Div, one, zero, loc()).unwrap_err();
    assert_eq!(division, RuleError::DivisionByZero { op: OpKind::Div, left: 1 });
}

#[test]
fn a_division_that_may_fail_is_not_shared() {
    let (mut b, _, n) = start(&[8]);
    let four = b.index(4, loc());
    let by_unknown = [0, 1].map(|_| b.binary(OpKind::Div, four, n, loc()).unwrap());
    assert_ne!(by_unknown[0], by_unknown[1]);
    let by_known = [0, 1].map(|_| b.binary(OpKind::Div, n, four, loc()).unwrap());
    assert_eq!(by_known[0], by_known[1]);
}

#[test]
fn rollback_forgets() {
    let (mut b, _, n) = start(&[8]);
    let checkpoint = b.checkpoint();
    let three = b.index(3, loc());
    b.binary(OpKind::Add, n, three, loc()).unwrap();
    b.rollback(&checkpoint);
    let three = b.index(3, loc());
    let sum = b.binary(OpKind::Add, n, three, loc()).unwrap();
    let function = b.finish(vec![sum]).unwrap();
    assert_eq!(function.body.ops.len(), 2);
    verify_function(&function).unwrap();
}

#[test]
fn branches_may_differ_in_valid_extents_only() {
    let (mut b, x, n) = start(&[8, 8]);
    let zero = b.index(0, loc());
    let t = b.load_all(x, loc()).unwrap();
    let condition = b.binary(OpKind::CmpGt, n, zero, loc()).unwrap();
    b.begin_if(condition, loc()).unwrap();
    let part = b.set_valid(t, &[Extent::Value(n), 8.into()], loc()).unwrap();
    b.begin_else(&[part]).unwrap();
    let results = b.end_if(&[t]).unwrap();
    assert!(b.tile_type(results[0]).unwrap().valid[0].value().is_some());
    b.begin_if(condition, loc()).unwrap();
    b.begin_else(&[t]).unwrap();
    let narrow = b.unary(OpKind::RowSum, t, loc()).unwrap();
    assert!(matches!(b.end_if(&[narrow]), Err(RuleError::BranchType { index: 0, .. })));
}

#[test]
fn stores_are_narrowed_to_the_tensor() {
    let (mut b, x, _) = start(&[100, 8]);
    let (at, zero) = (b.index(64, loc()), b.index(0, loc()));
    let value = b.literal_of(crate::ops::fold::Literal::Float(1.0), DType::F32, loc()).unwrap();
    let t = b.full(value, &[64.into(), 8.into()], loc()).unwrap();
    b.store(t, x, &[at, zero], None, loc()).unwrap();
    let outside = b.binary(OpKind::Mul, at, at, loc()).unwrap();
    assert!(matches!(b.store(t, x, &[outside, zero], None, loc()), Err(RuleError::OutOfBounds { axis: 0, .. })));
    let text = b.finish(vec![]).unwrap().to_string();
    assert!(text.contains("tile<f32>[64, 8; 36, 8] = set_valid"), "{text}");
}

#[test]
fn mistakes_carry_their_facts() {
    let (mut b, x, _) = start(&[64, 32]);
    let t = b.load_all(x, loc()).unwrap();
    let s = b.unary(OpKind::Transpose, t, loc()).unwrap();
    let shapes = b.binary(OpKind::Add, t, s, loc()).unwrap_err();
    assert_eq!(
        shapes.to_string(),
        "extents of operands 0 and 1 of `add` disagree in dimension 0: [64, 32] and [32, 64]"
    );
    let product = b.matmul(OpKind::Matmul, &[t, t], false, false, loc()).unwrap_err();
    assert_eq!(
        product.to_string(),
        "contraction dimensions of `matmul` differ: 32 and 64 (left is [64, 32], right is [64, 32])"
    );
    let half = b.cast(t, DType::F16, Round::None, loc()).unwrap();
    let dtypes = b.binary(OpKind::Mul, t, half, loc()).unwrap_err();
    assert_eq!(dtypes.to_string(), "operands 0 and 1 of `mul` differ in element type: `f32` and `f16`");
    let bits = b.binary(OpKind::And, t, t, loc()).unwrap_err();
    assert!(bits.to_string().starts_with("`and` does not support `f32`"));
}
