//! Reductions over the rows of a group: one row of accumulators in scratch memory, which every row of the loop updates in order.

use super::access::{Access, Cursor, Row, stored};
use super::columns::column_loop;
use super::elementwise::round_to;
use super::graph::{ColumnKind, ColumnReduction, Sink};
use super::row_group::{RowGroup, identity};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Reduce, Type, Value};
use crate::ir::DType;

fn reductions(sinks: &[Sink]) -> impl Iterator<Item = &ColumnReduction> {
    sinks.iter().filter_map(|sink| match sink {
        Sink::Columns(c) => Some(c),
        _ => None,
    })
}

/// The element type of the accumulators: `f16` and `bf16` accumulate in f32.
pub(super) fn accumulator_type(dtype: DType) -> DType {
    if dtype.is_float() { DType::F32 } else { dtype }
}

fn initial(c: &ColumnReduction) -> u64 {
    let reduce = match c.kind {
        ColumnKind::Combine(reduce) => reduce,
        ColumnKind::Position { maximum: true } => Reduce::Max,
        ColumnKind::Position { maximum: false } => Reduce::Min,
    };
    identity(reduce, c.dtype)
}

/// Sets the accumulators, before the loop over rows.
pub(super) fn start(b: &mut Builder<'_>, sinks: &[Sink]) {
    for c in reductions(sinks) {
        column_loop(b, c.columns, 1, &[], &mut |b, column, mask, _| {
            let at = Cursor { rows: &[], column, columns: c.columns, mask };
            let value = b.constant(Type::Vector(stored(c.accumulator.dtype)), initial(c));
            c.accumulator.store(b, value, &at);
            if let Some(index) = &c.index {
                let zero = b.vint(Elem::I32, 0);
                index.store(b, zero, &at);
            }
            Vec::new()
        });
    }
}

/// Writes the results, after the loop over rows. `outer` are the dimensions around it.
pub(super) fn finish(b: &mut Builder<'_>, sinks: &[Sink], outer: &[Row]) {
    for c in reductions(sinks) {
        column_loop(b, c.columns, 2, &[], &mut |b, column, mask, _| {
            let at = Cursor { rows: &[], column, columns: c.columns, mask };
            let source = c.index.as_ref().unwrap_or(&c.accumulator);
            let value = source.load(b, &at);
            let value = round_to(b, value, c.result.dtype);
            c.result.store(b, value, &Cursor { rows: outer, ..at });
            Vec::new()
        });
    }
}

/// Whether a group does nothing with its rows but combining them with accumulators, so that several rows can be taken at a time.
pub(super) fn takes_rows_together(group: &RowGroup<'_>) -> bool {
    let [segment] = group.plan.segments.as_slice() else { return false };
    let alone = segment.reductions.is_empty() && segment.kept.is_empty() && segment.checks.is_empty();
    let combines = |sink: &Sink| match sink {
        Sink::Columns(c) => matches!(c.kind, ColumnKind::Combine(_)) && !group.nodes[c.node].narrow,
        _ => false,
    };
    alone && group.plan.narrow_checks.is_empty() && group.sinks.iter().all(combines)
}

/// Some rows in their order, some lanes; rows are in no cursor, since values are given.
pub(super) fn combine(b: &mut Builder<'_>, c: &ColumnReduction, values: &[Value], at: &Cursor<'_>) {
    let ColumnKind::Combine(reduce) = c.kind else { return };
    let old = c.accumulator.load(b, at);
    let new = values.iter().fold(old, |sum, &value| {
        let value = b.splat(value);
        b.bin(reduce.bin(), sum, value)
    });
    c.accumulator.store(b, new, at);
}

/// One row, some lanes.
pub(super) fn visit(b: &mut Builder<'_>, c: &ColumnReduction, value: Value, at: &Cursor<'_>) {
    let here = Cursor { rows: &[], ..at.clone() };
    match (c.kind, &c.index) {
        (ColumnKind::Combine(_), _) => combine(b, c, &[value], &here),
        (ColumnKind::Position { maximum }, Some(index)) => {
            let value = b.splat(value);
            let old = c.accumulator.load(b, &here);
            let better = is_better(b, maximum, c.dtype, value, old);
            let (row, old_index) = (row_number(b, at.rows), index.load(b, &here));
            let (best, position) = (b.select(better, value, old), b.select(better, row, old_index));
            c.accumulator.store(b, best, &here);
            index.store(b, position, &here);
        }
        _ => {}
    }
}

/// One row of a tile with one column.
pub(super) fn visit_narrow(b: &mut Builder<'_>, c: &ColumnReduction, value: Value, rows: &[Row]) {
    let old = c.accumulator.load_narrow(b, &[]);
    match (c.kind, &c.index) {
        (ColumnKind::Combine(reduce), _) => {
            let new = b.bin(reduce.bin(), old, value);
            c.accumulator.store_narrow(b, new, &[]);
        }
        (ColumnKind::Position { maximum }, Some(index)) => {
            let better = is_better(b, maximum, c.dtype, value, old);
            let (row, old_index) = (row_number(b, rows), index.load_narrow(b, &[]));
            let (best, position) = (b.select(better, value, old), b.select(better, row, old_index));
            c.accumulator.store_narrow(b, best, &[]);
            index.store_narrow(b, position, &[]);
        }
        _ => {}
    }
}

fn row_number(b: &mut Builder<'_>, rows: &[Row]) -> Value {
    match rows.last() {
        Some(row) => b.resize(row.index, Elem::I32, true),
        None => b.int(Elem::I32, 0),
    }
}

/// Whether a value takes the place of the best one so far: strictly beyond it, or the first NaN.
fn is_better(b: &mut Builder<'_>, maximum: bool, dtype: DType, value: Value, best: Value) -> Value {
    let cmp = if maximum { Cmp::Gt } else { Cmp::Lt };
    if dtype.is_unsigned_integer() {
        return b.ucmp(cmp, value, best);
    }
    let beyond = b.cmp(cmp, value, best);
    if !dtype.is_float() {
        return beyond;
    }
    let (nan, known) = (b.is_nan(value), b.cmp(Cmp::Eq, best, best));
    let first_nan = b.and(nan, known);
    b.or(beyond, first_nan)
}

/// A row of accumulators of that type within an access of rank 1.
pub(super) fn as_row(mut access: Access) -> Access {
    let keep = access.strides.len().saturating_sub(1);
    access.strides.drain(..keep);
    access.limits.drain(..keep);
    access
}
