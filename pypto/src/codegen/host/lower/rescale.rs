//! Products that are added to an accumulator whose rows are scaled, as attention does when a maximum changes: `acc * c + p * v`.
//!
//! The accumulator is scaled where the product is added to it, instead of being read and written once more before. Rows have to lie across
//! the lanes, so that their factors are vectors.

use super::access::Access;
use super::block::BlockState;
use super::context::{Lowering, Tile};
use super::dot;
use super::movement::own_copy;
use super::trace::Reason;
use crate::codegen::host::gemm::Init;
use crate::codegen::host::lir::Builder;
use crate::ir::{DType, Extent, Op, ValueId};
use crate::ops::OpKind;

/// A product with the accumulator that it is added to and the factors of its rows.
struct Rescaled<'f> {
    product: &'f Op,
    accumulator: ValueId,
    factors: ValueId,
}

/// Lowers a multiplication together with the product after it; false, and nothing is lowered, where they are not of that form.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) -> bool {
    let Some(Rescaled { product, accumulator, factors }) = rescaled(l, state, op) else { return false };
    l.trace.ends_at(product, Reason::Product);
    l.flush(b, state);
    let Some(factors) = across_lanes(l, b, factors) else { return false };
    let Some(out) = own_copy(l, b, state, accumulator, product) else { return false };
    dot::lower_to(l, b, state, product, Some((out, Init::Scaled(factors.base))));
    state.skip.push(state.position + 1);
    true
}

fn rescaled<'f>(l: &Lowering<'f>, state: &BlockState<'f>, op: &Op) -> Option<Rescaled<'f>> {
    let next = state.position + 1;
    let product = state.block.ops.get(next).filter(|_| op.kind == OpKind::Mul)?;
    let scaled = op.result();
    let is_only_added = product.kind == OpKind::MatmulAcc
        && product.operands[0] == scaled
        && !product.operands[1..].contains(&scaled)
        && l.uses.positions(scaled) == [next];
    let is_factor = |value: ValueId| {
        let (ty, result) = (l.tile_type(value), l.tile_type(product.result()));
        ty.dtype == DType::F32 && ty.dims[0] == result.dims[0] && ty.dims[1..] == [Extent::Const(1)]
    };
    let is_accumulator = |value: ValueId| {
        let (ty, result) = (l.tile_type(value), l.tile_type(product.result()));
        ty.dtype == DType::F32 && result.dtype == DType::F32 && ty.dims == result.dims && l.turned.contains(&value)
    };
    let [x, y] = op.operands[..] else { return None };
    if !is_only_added || !l.is_tile(x) || !l.is_tile(y) || !l.turned.contains(&product.result()) {
        return None;
    }
    let of = |accumulator, factors| {
        (is_accumulator(accumulator) && is_factor(factors)).then_some(Rescaled { product, accumulator, factors })
    };
    of(x, y).or_else(|| of(y, x))
}

/// The memory of factors that lie next to each other.
fn across_lanes(l: &Lowering<'_>, b: &Builder<'_>, factors: ValueId) -> Option<Access> {
    let Some(Tile::Memory(access)) = l.tile(factors) else { return None };
    let is_contiguous = access.strides.first().is_some_and(|&stride| b.as_const(stride) == Some(1));
    (is_contiguous && access.dtype == DType::F32).then(|| access.clone())
}
