//! Products that are added to an accumulator whose rows are scaled, as attention does when a maximum changes: `acc * c + p * v`.
//!
//! The accumulator is scaled where the product is added to it, instead of being read and written once more before. Rows have to lie across
//! the lanes, so that their factors are vectors.

use super::access::Access;
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::dot::{self, Place};
use super::movement::own_copy;
use super::trace::Reason;
use crate::codegen::host::gemm::Init;
use crate::codegen::host::lir::Builder;
use crate::ir::{DType, Extent, Op, ValueId};
use crate::ops::OpKind;

/// A product with the accumulator that it is added to and the factors of its rows.
struct Rescaled<'f> {
    position: usize,
    product: &'f Op,
    accumulator: ValueId,
    factors: ValueId,
}

/// Lowers a multiplication together with the product that its result is for; false, and nothing is lowered, where they are not of that form.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) -> bool {
    let Some(Rescaled { position, product, accumulator, factors }) = rescaled(l, state, op) else { return false };
    l.trace.ends_at(product, Reason::Product);
    l.flush(b, state);
    let Some(factors) = across_lanes(l, b, factors) else { return false };
    let Some(out) = own_copy(l, b, state, accumulator, product) else { return false };
    let own = state.position;
    for between in own + 1..position {
        state.position = between;
        l.lower_op(b, state, &state.block.ops[between]);
    }
    state.position = own;
    let padded = out.has_all_rows() && factors.has_all_rows();
    dot::lower_to(l, b, state, product, Some(Place { out, init: Init::Scaled(factors.base), padded }));
    state.skip.extend(own + 1..=position);
    true
}

/// Whether an operation only names something that a product may read, or computes scalars: it may come before what it follows.
fn is_passive(l: &Lowering<'_>, op: &Op) -> bool {
    match op.kind {
        OpKind::Load | OpKind::View | OpKind::SetValid | OpKind::Constant | OpKind::Assert => true,
        kind => kind.is_elementwise() && !op.results.iter().any(|&result| l.is_tile(result)),
    }
}

fn rescaled<'f>(l: &Lowering<'f>, state: &BlockState<'f>, op: &Op) -> Option<Rescaled<'f>> {
    if op.kind != OpKind::Mul || !l.is_tile(op.result()) {
        return None;
    }
    let (scaled, first) = (op.result(), state.position + 1);
    let &[position] = l.uses.positions(scaled) else { return None };
    let product = state.block.ops.get(position)?;
    let is_only_added = l.turned.contains(&product.results.first().copied()?)
        && product.kind == OpKind::MatmulAcc
        && product.operands[0] == scaled
        && !product.operands[1..].contains(&scaled)
        && state.block.ops[first..position].iter().all(|between| is_passive(l, between));
    let is_factor = |value: ValueId| {
        let (ty, result) = (l.tile_type(value), l.tile_type(product.result()));
        ty.dtype == DType::F32 && ty.dims[0] == result.dims[0] && ty.dims[1..] == [Extent::Const(1)]
    };
    let is_accumulator = |value: ValueId| {
        let (ty, result) = (l.tile_type(value), l.tile_type(product.result()));
        ty.dtype == DType::F32 && result.dtype == DType::F32 && ty.dims == result.dims && l.turned.contains(&value)
    };
    let [x, y] = op.operands[..] else { return None };
    if !is_only_added || !l.is_tile(x) || !l.is_tile(y) {
        return None;
    }
    let of = |accumulator, factors| {
        let fits = is_accumulator(accumulator) && is_factor(factors);
        fits.then_some(Rescaled { position, product, accumulator, factors })
    };
    of(x, y).or_else(|| of(y, x))
}

/// The memory of factors that lie next to each other.
fn across_lanes(l: &Lowering<'_>, b: &Builder<'_>, factors: ValueId) -> Option<Access> {
    let Some(Tile::Memory(access)) = l.tile(factors) else { return None };
    let is_contiguous = access.strides.first().is_some_and(|&stride| b.as_const(stride) == Some(1));
    (is_contiguous && access.dtype == DType::F32).then(|| access.clone())
}
