//! Loops that are proved parallel, loops that are not, and what is said about the latter.

use super::kernels::*;
use crate::diagnostics::{Diagnostics, codes};
use crate::ir::*;
use crate::ops::OpKind;
use crate::ops::rules::RuleError;
use crate::passes::prove_parallel::prove_parallel;

/// Kinds of the loops after the pass, in the order of the text.
fn kinds(mut program: Program) -> Result<Vec<LoopKind>, Diagnostics> {
    fn collect(block: &Block, kinds: &mut Vec<LoopKind>) {
        for op in &block.ops {
            if op.kind == OpKind::For {
                kinds.push(op.attrs.loop_kind());
            }
            op.regions.iter().for_each(|region| collect(region, kinds));
        }
    }
    prove_parallel(&mut program)?;
    let mut found = Vec::new();
    collect(&program.entry_function().body, &mut found);
    Ok(found)
}

/// A loop of the given kind and step over the rows of `x` that stores `[extent, 64]` to `y` at rows `place(i)`.
fn rows(
    kind: LoopKind,
    step: i64,
    extent: i64,
    place: impl Fn(&mut Builder, ValueId) -> Result<ValueId, RuleError>,
) -> Program {
    let params: [Declared<'_>; 2] = [("x", &[256, 64], Direction::In), ("out", &[256, 64], Direction::InOut)];
    program(vec![function("rows", FunctionKind::Opaque, &params, |b, t| {
        let upper = b.index(256, at(1));
        each(b, kind, upper, step, |b, i| {
            let zero = b.index(0, at(3));
            let x = b.load(t[0], &[zero, zero], &[extent.into(), 64.into()], None, at(3))?;
            let row = place(b, i)?;
            let operands = [x, t[1], row, zero];
            b.emit_effect(OpKind::Store, &operands, Attrs::new(), at(4))
        })
    })])
}

#[test]
fn disjoint_rows_are_parallel() {
    assert_eq!(kinds(softmax(-1, 64, 16)).unwrap(), [LoopKind::Parallel]);
    assert_eq!(kinds(rows(LoopKind::Parallel, 64, 64, |_, i| Ok(i))).unwrap(), [LoopKind::Parallel]);
    assert_eq!(kinds(rows(LoopKind::Spmd, 64, 32, |_, i| Ok(i))).unwrap(), [LoopKind::Parallel]);
}

#[test]
fn rows_from_the_end_are_parallel() {
    let backwards = |b: &mut Builder, i: ValueId| {
        let last = b.index(192, at(3));
        b.binary(OpKind::Sub, last, i, at(3))
    };
    assert_eq!(kinds(rows(LoopKind::Parallel, 64, 64, backwards)).unwrap(), [LoopKind::Parallel]);
}

#[test]
fn quotient_and_remainder_tell_iterations_apart() {
    let params: [Declared<'_>; 1] = [("out", &[64, 64], Direction::InOut)];
    let program = program(vec![function("blocks", FunctionKind::Opaque, &params, |b, t| {
        let upper = b.index(16, at(1));
        each(b, LoopKind::Spmd, upper, 1, |b, i| {
            let (four, tile) = (b.index(4, at(2)), b.index(16, at(2)));
            let row = b.binary(OpKind::Div, i, four, at(2))?;
            let row = b.binary(OpKind::Mul, row, tile, at(2))?;
            let column = b.binary(OpKind::Rem, i, four, at(2))?;
            let column = b.binary(OpKind::Mul, column, tile, at(2))?;
            let value = b.literal_of(crate::ops::fold::Literal::Float(1.0), DType::F32, at(2))?;
            let one = b.full(value, &[16.into(), 16.into()], at(3))?;
            b.emit_effect(OpKind::Store, &[one, t[0], row, column], Attrs::new(), at(4))
        })
    })]);
    assert_eq!(kinds(program).unwrap(), [LoopKind::Parallel]);
}

#[test]
fn overlapping_rows_run_in_order() {
    assert_eq!(kinds(rows(LoopKind::Auto, 64, 128, |_, i| Ok(i))).unwrap(), [LoopKind::Sequential]);
    let pipeline = LoopKind::Pipeline(2);
    assert_eq!(kinds(rows(pipeline, 64, 64, |_, i| Ok(i))).unwrap(), [pipeline]);
}

#[test]
fn a_step_below_the_extent_is_an_error_with_numbers() {
    let errors = kinds(rows(LoopKind::Parallel, 64, 128, |_, i| Ok(i))).unwrap_err();
    let error = &errors.0[0];
    assert_eq!(error.code, codes::OVERLAPPING_WRITES);
    assert_eq!(error.title, "iterations 0 and 1 of `parallel` both write `out[64..128, ..]`");
    assert_eq!(error.helps, ["advance by 128 for each iteration, or access 64 elements in dimension 0"]);
}

#[test]
fn a_place_without_the_index_is_an_error() {
    let errors = kinds(rows(LoopKind::Spmd, 64, 64, |b, _| Ok(b.index(0, at(3))))).unwrap_err();
    assert_eq!(errors.0[0].title, "iterations 0 and 1 of `spmd` both write `out[0..64, ..]`");
    assert_eq!(errors.0[0].notes, ["the place does not depend on the index of the loop"]);
}

#[test]
fn reading_a_neighbour_is_an_error() {
    let params: [Declared<'_>; 1] = [("x", &[256, 64], Direction::InOut)];
    let program = program(vec![function("shift", FunctionKind::Opaque, &params, |b, t| {
        let upper = b.index(192, at(1));
        each(b, LoopKind::Parallel, upper, 64, |b, i| {
            let (zero, ahead) = (b.index(0, at(3)), b.index(64, at(3)));
            let next = b.binary(OpKind::Add, i, ahead, at(3))?;
            let x = b.load(t[0], &[next, zero], &[64.into(), 64.into()], None, at(3))?;
            b.emit_effect(OpKind::Store, &[x, t[0], i, zero], Attrs::new(), at(4))
        })
    })]);
    let errors = kinds(program).unwrap_err();
    assert_eq!(errors.0[0].title, "iterations 0 and 1 of `parallel` write and read `x[64..128, ..]`");
    assert_eq!(errors.0[0].secondary.len(), 2);
}

/// Rows of a run-time number of chunks, `M / n` rows each.
#[test]
fn symbolic_chunks_are_parallel() {
    let params: [Declared<'_>; 1] = [("y", &[-1, 64], Direction::InOut)];
    let program = program(vec![function("chunks", FunctionKind::Opaque, &params, |b, t| {
        let Type::Tensor(ty) = b.ty(t[0]).clone() else { return Ok(()) };
        let m = b.extent_value(ty.dims[0], at(1));
        let eight = b.index(8, at(1));
        let chunk = b.binary(OpKind::Div, m, eight, at(1))?;
        each(b, LoopKind::Spmd, eight, 1, |b, i| {
            let zero = b.index(0, at(2));
            let row = b.binary(OpKind::Mul, i, chunk, at(2))?;
            let part = b.view(t[0], &[row, zero], &[b.extent(chunk), 64.into()], at(2))?;
            let x = b.load_all(part, at(3))?;
            let x = b.unary(OpKind::Exp, x, at(3))?;
            b.emit_effect(OpKind::Store, &[x, part, zero, zero], Attrs::new(), at(4))
        })
    })]);
    assert_eq!(kinds(program).unwrap(), [LoopKind::Parallel]);
}
