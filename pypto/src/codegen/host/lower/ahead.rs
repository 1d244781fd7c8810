//! What a group of row-local work fetches before it is needed.
//!
//! The passes over a row differ: one waits for memory (a maximum, a last scaling), another computes (exponentials) and leaves memory idle.
//! So the heaviest pass fetches for the others: the row after the next one of what the group reads, since all passes over a row of a few KiB
//! take no longer than the way from memory, and this row of what later passes write. A group of one heavy pass fetches its own memory some
//! distance ahead, because the hardware stops at the end of every page; a light one fetches what no cache holds, and else is as fast as the
//! outer caches: further instructions would only slow it. A fetch beyond a tensor's end does nothing.

use super::access::{Access, Memory, Row, stored};
use super::columns::HEAVY;
use super::graph::{NodeKind, Sink};
use super::plan::Segment;
use super::row_group::RowGroup;
use crate::codegen::host::lir::{Builder, CacheLevel, Value};

/// How far ahead along its row a single pass fetches, in bytes: a page.
const DISTANCE: i64 = 4096;
/// Bytes of a row that the nearest cache holds with others until its turn comes.
const SHORT_ROW: i64 = 4096;

/// A row of a tensor whose elements lie side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream {
    address: Value,
    /// Bytes of an element.
    size: i64,
    cache: CacheLevel,
}

impl Stream {
    /// Fetches the line with the element of that column.
    pub fn fetch(&self, b: &mut Builder<'_>, column: Value) {
        let size = b.index(self.size);
        let offset = b.mul(column, size);
        b.prefetch_to(self.cache, self.address, offset);
    }
}

/// What the pass of that level fetches.
pub(super) fn streams(b: &mut Builder<'_>, group: &RowGroup<'_>, rows: &[Row], level: usize) -> Vec<Stream> {
    let segments = &group.plan.segments;
    let heaviest = (0..segments.len()).max_by_key(|&s| segments[s].weight);
    let passes = segments.iter().filter(|s| !s.is_empty()).count();
    match passes {
        _ if heaviest != Some(level) => Vec::new(),
        0 => Vec::new(),
        1 if segments[level].weight < HEAVY => far_streams(b, group, rows),
        1 => {
            let both: Vec<_> = read(group).chain(written(group, segments)).collect();
            distinct(both.into_iter().filter_map(|access| stream(b, access, rows, DISTANCE)))
        }
        _ => {
            let following = row_after_next(b, rows);
            let read: Vec<_> = read(group).filter_map(|access| stream(b, access, &following, 0)).collect();
            let written = written(group, &segments[level + 1..]).filter_map(|access| stream(b, access, rows, 0));
            let all = distinct(read.into_iter().chain(written));
            let cache = cache_of_rows(b, group, &all);
            all.into_iter().map(|stream| Stream { cache, ..stream }).collect()
        }
    }
}

/// The cache where a row waits for a pass over the rows before it: the nearest one has room for short rows.
fn cache_of_rows(b: &Builder<'_>, group: &RowGroup<'_>, streams: &[Stream]) -> CacheLevel {
    let widest = streams.iter().map(|stream| stream.size).max().unwrap_or(0);
    let is_short = b.as_const(group.columns).is_some_and(|columns| columns.saturating_mul(widest) <= SHORT_ROW);
    if is_short { CacheLevel::First } else { CacheLevel::Second }
}

/// What a light pass that only reads fetches of what comes from memory, into the second-level cache: with that, more lines are on their way
/// than the nearest cache waits for.
fn far_streams(b: &mut Builder<'_>, group: &RowGroup<'_>, rows: &[Row]) -> Vec<Stream> {
    if written(group, &group.plan.segments).next().is_some() {
        return Vec::new();
    }
    let far = read(group).filter(|access| access.memory.is_far());
    let streams = far.filter_map(|access| stream(b, access, rows, DISTANCE));
    distinct(streams.map(|stream| Stream { cache: CacheLevel::Second, ..stream }))
}

/// The memory that the group's passes read.
fn read<'g>(group: &'g RowGroup<'_>) -> impl Iterator<Item = &'g Access> {
    group.nodes.iter().enumerate().filter_map(|(n, node)| match &node.kind {
        NodeKind::Memory(access) if group.plan.needed[n] && !node.narrow => Some(access),
        _ => None,
    })
}

/// The memory that some of its passes write.
fn written<'g>(group: &'g RowGroup<'_>, segments: &'g [Segment]) -> impl Iterator<Item = &'g Access> {
    segments.iter().flat_map(|segment| &segment.sinks).filter_map(|&sink| match &group.sinks[sink] {
        Sink::Store { access, .. } => Some(access),
        _ => None,
    })
}

fn row_after_next(b: &mut Builder<'_>, rows: &[Row]) -> Vec<Row> {
    let mut following = rows.to_vec();
    if let Some(last) = following.last_mut() {
        let two = b.index(2);
        last.index = b.add(last.index, two);
    }
    following
}

/// The row as a stream, so many bytes further; nothing where its elements lie apart, where it is the same for every row, and for slots of
/// scratch memory, which are near already.
fn stream(b: &mut Builder<'_>, access: &Access, rows: &[Row], further: i64) -> Option<Stream> {
    let (last, outer) = access.strides.split_last()?;
    let side_by_side = b.as_const(*last) == Some(1);
    let moves = outer.last().is_none_or(|&stride| b.as_const(stride) != Some(0));
    if !side_by_side || !moves || !matches!(access.memory, Memory::Tensor { .. }) {
        return None;
    }
    let (size, row) = (i64::from(access.dtype.bits() / 8), access.row_address(b, rows));
    let distance = b.index(further / size);
    Some(Stream { address: b.addr(row, stored(access.dtype), distance), size, cache: CacheLevel::First })
}

fn distinct(streams: impl Iterator<Item = Stream>) -> Vec<Stream> {
    streams.fold(Vec::new(), |mut all, stream| {
        if !all.contains(&stream) {
            all.push(stream);
        }
        all
    })
}
