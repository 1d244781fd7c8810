//! The estimate of a kernel's time. It only decides how many iterations make a task worth handing to another thread, so it is coarse:
//! simple vector instructions at two per cycle of 3 GHz, or the bytes of tensors at what a core moves beyond its own caches, whichever is
//! more; and 16 iterations for loops of unknown length. Tiles whose valid extents
//! are known at run time only count as whole: of the tiles of a loop, those at the edges alone are smaller.

use super::access::{Access, Memory};
use super::context::Lowering;
use super::graph::{Node, NodeKind, Sink};
use super::plan::Plan;
use crate::codegen::host::lir::Builder;
use crate::ir::{Extent, TileType};

/// Assumed trip count where it is not known.
const UNKNOWN_TRIPS: f64 = 16.0;
/// Nanoseconds of one simple vector instruction.
const INSTRUCTION: f64 = 0.17;
/// Nanoseconds of one byte of a tensor that is read or written.
const BYTE: f64 = 0.01;
/// Nanoseconds of starting a column loop.
const SEGMENT: f64 = 3.0;
/// Nanoseconds of one f32 multiply-add in the micro-kernel, per lane.
const MULTIPLY_ADD: f64 = 0.022;

/// The extent, or a guess.
fn count(extent: Extent) -> f64 {
    extent.constant().map_or(UNKNOWN_TRIPS, |n| n.max(0) as f64)
}

/// The valid extents of a tile as far as they are known, else the physical ones.
pub(super) fn usual(ty: &TileType) -> Vec<Extent> {
    usual_of(&ty.valid, &ty.dims)
}

fn usual_of(valid: &[Extent], dims: &[Extent]) -> Vec<Extent> {
    valid.iter().zip(dims).map(|(&valid, &most)| if valid.constant().is_some() { valid } else { most }).collect()
}

/// Bytes of tensors that a group reads and writes for each column of a row. What serves all rows is in a near cache.
pub(super) fn bytes(b: &Builder<'_>, nodes: &[Node<'_>], sinks: &[Sink], plan: &Plan) -> usize {
    let serves_all = |access: &Access| access.strides.iter().any(|&stride| b.as_const(stride) == Some(0));
    let of_access = |access: &Access| match access.memory {
        Memory::Tensor { .. } if !serves_all(access) => access.dtype.size(),
        _ => 0,
    };
    let read = nodes.iter().zip(&plan.needed).filter(|(node, needed)| **needed && !node.narrow).map(|(node, _)| {
        match &node.kind {
            NodeKind::Memory(access) => of_access(access),
            NodeKind::Gather { tensor, .. } => tensor.dtype.size(),
            _ => 0,
        }
    });
    let written = sinks.iter().filter(|sink| !nodes[sink.node()].narrow).map(|sink| match sink {
        Sink::Store { access, .. } => of_access(access),
        Sink::Scatter { tensor, .. } => tensor.dtype.size(),
        Sink::Columns(_) => 0,
    });
    read.chain(written).sum()
}

/// Adds the time of a fusion group over valid extents `rows` and `columns` of a tile with the extents `dims`, with so
/// many [`bytes`].
pub(super) fn add_group(
    l: &mut Lowering<'_>,
    plan: &Plan,
    rows: &[Extent],
    columns: Extent,
    dims: &[Extent],
    lanes: usize,
    bytes: usize,
) {
    let (rows, columns) = (usual_of(rows, dims), usual_of(&[columns], &dims[dims.len().min(rows.len())..]));
    let rows: f64 = rows.iter().map(|&r| count(r)).product();
    let columns: f64 = columns.iter().map(|&c| count(c)).product();
    let vectors = (columns / lanes as f64).ceil();
    let row: f64 = plan.segments.iter().map(|s| SEGMENT + f64::from(s.weight) * vectors * INSTRUCTION).sum();
    let row = (row + 1.0).max(columns * bytes as f64 * BYTE);
    l.cost += l.trips * rows * row;
}

/// Adds the time of a matrix product.
pub(super) fn add_dot(l: &mut Lowering<'_>, extents: &[Extent]) {
    let work: f64 = extents.iter().map(|&e| count(e)).product();
    l.cost += l.trips * work * MULTIPLY_ADD;
}

/// Adds the time of work on single elements.
pub(super) fn add_elements(l: &mut Lowering<'_>, extents: &[Extent], nanoseconds: f64) {
    let elements: f64 = extents.iter().map(|&e| count(e)).product();
    l.cost += l.trips * elements * nanoseconds;
}

/// The factor for code inside a loop.
pub(super) fn trips(known: Option<i64>) -> f64 {
    known.map_or(UNKNOWN_TRIPS, |n| n.max(0) as f64)
}
