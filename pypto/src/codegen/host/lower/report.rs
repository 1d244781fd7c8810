//! Shows values to whoever takes reports: their addresses, extents and strides as words, then a call.

use super::access::{stored, to_stored};
use super::block::BlockState;
use super::context::{Lowering, Tile};
use crate::codegen::host::lir::{Builder, Value};
use crate::ir::report::site_number;
use crate::ir::{DType, Op, Type, ValueId};

/// Lowers `print` and `checkpoint`. What they show is complete: no group is open.
pub(super) fn lower<'f>(l: &mut Lowering<'f>, b: &mut Builder<'_>, state: &mut BlockState<'f>, op: &'f Op) {
    l.flush(b, state);
    let mut words = Vec::new();
    let mut slots = Vec::new();
    for &value in &op.operands {
        match l.function.ty(value) {
            Type::Tile(_) => tile(l, b, state, value, &mut words),
            Type::Tensor(_) => {
                let Some(tensor) = l.tensor(value).cloned() else {
                    return l.unsupported(op.loc, "a tensor that is not known here");
                };
                words.push(tensor.base);
                tensor.dims.iter().zip(&tensor.strides).for_each(|(dim, stride)| words.extend([*dim, *stride]));
            }
            other => {
                let dtype = other.dtype().unwrap_or(DType::I64);
                let (slot, scalar, zero) = (l.take_slot(b, dtype, &[1]), l.scalar(b, value), b.index(0));
                let scalar = to_stored(b, scalar, dtype);
                b.store(scalar, slot.base, zero);
                words.push(slot.base);
                slots.push(slot);
            }
        }
    }
    let list = l.take_slot(b, DType::I64, &[words.len().max(1) as i64]);
    for (position, word) in words.into_iter().enumerate() {
        let position = b.index(position as i64);
        b.store(word, list.base, position);
    }
    match site_number(l.function, op) {
        Some(site) => b.report(list.base, site),
        None => l.unsupported(op.loc, "a report of another kernel"),
    }
    slots.iter().chain([&list]).for_each(|slot| l.release(slot));
}

/// Where a tile lies; one that lies nowhere is written to memory first.
fn tile<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    state: &mut BlockState<'f>,
    value: ValueId,
    words: &mut Vec<Value>,
) {
    let access = match l.tile(value) {
        Some(Tile::Memory(access)) => Some(access.clone()),
        _ => l.materialize(b, state, value),
    };
    let Some(access) = access else {
        return l.unsupported(l.function.info(value).loc, "a tile that is not known here");
    };
    debug_assert_eq!(stored(access.dtype), stored(l.tile_type(value).dtype));
    words.push(access.base);
    for (&extent, &stride) in l.tile_type(value).valid.iter().zip(&access.strides) {
        let extent = l.extent(b, extent);
        words.extend([extent, stride]);
    }
}
