//! Emits a fusion group: loops over the rows, and per row the segments of the plan.

use std::collections::HashMap;

use super::access::{Access, Cursor, Memory, Row, computing};
use super::ahead;
use super::column_reduce;
use super::columns::column_loop;
use super::elementwise::{self, Known};
use super::graph::{Node, NodeId, NodeKind, Sink};
use super::plan::{Plan, Segment};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Reduce, Type, Value};
use crate::ir::DType;

/// Rows that are combined with the accumulators of column reductions at a time.
const TOGETHER: i64 = 4;

/// A planned group with everything that its emission needs.
pub(super) struct RowGroup<'f> {
    pub nodes: Vec<Node<'f>>,
    pub sinks: Vec<Sink>,
    pub plan: Plan,
    /// Valid extents of the leading dimensions.
    pub rows: Vec<Value>,
    /// Valid extent of the last dimension.
    pub columns: Value,
    /// Row buffers of the nodes that the plan keeps, in computing form.
    pub buffers: HashMap<NodeId, Access>,
}

/// The values known while one row is emitted.
struct RowState<'a> {
    rows: &'a [Row],
    narrow: HashMap<NodeId, Value>,
    /// Addresses of gathered rows.
    gathered: HashMap<NodeId, Value>,
}

/// The values known in one body of a column loop.
struct Lanes<'a> {
    at: Cursor<'a>,
    segment: usize,
    wide: HashMap<NodeId, Value>,
}

/// The identity of a reduction in computing form.
pub(super) fn identity(reduce: Reduce, dtype: DType) -> u64 {
    let bits = computing(dtype).bits();
    let least = if dtype.is_unsigned_integer() { 0 } else { 1u64 << (bits - 1) };
    let greatest = if dtype.is_unsigned_integer() { u64::MAX } else { (1u64 << (bits - 1)) - 1 };
    match (reduce, dtype.is_float()) {
        (Reduce::Add, _) => 0,
        (Reduce::Mul, true) => 1.0f32.to_bits() as u64,
        (Reduce::Mul, false) => 1,
        (Reduce::Max | Reduce::Umax, true) => f32::NEG_INFINITY.to_bits() as u64,
        (Reduce::Min | Reduce::Umin, true) => f32::INFINITY.to_bits() as u64,
        (Reduce::Max | Reduce::Umax, false) => least,
        (Reduce::Min | Reduce::Umin, false) => greatest,
    }
}

impl RowGroup<'_> {
    /// Emits the whole group.
    pub fn emit(&self, b: &mut Builder<'_>) {
        for node in &self.nodes {
            // Splats of loop-invariant scalars stay outside the loops: value numbering finds them again.
            if let NodeKind::Uniform(value) = node.kind {
                b.splat(value);
            }
        }
        self.emit_rows(b, &mut Vec::new());
    }

    fn emit_rows(&self, b: &mut Builder<'_>, rows: &mut Vec<Row>) {
        let depth = rows.len();
        if depth == self.rows.len() {
            return self.emit_row(b, rows);
        }
        let innermost = depth + 1 == self.rows.len();
        if innermost {
            column_reduce::start(b, &self.sinks);
        }
        let (mut start, end) = (b.index(0), self.rows[depth]);
        if innermost && column_reduce::takes_rows_together(self) {
            let together = b.index(TOGETHER);
            let rest = b.urem(end, together);
            let whole = b.sub(end, rest);
            b.for_each(start, whole, TOGETHER, |b, first| self.emit_rows_together(b, rows, first));
            start = whole;
        }
        let one = b.index(1);
        b.for_loop(start, end, one, &[], |b, index, _| {
            rows.push(Row { index, end });
            self.emit_rows(b, rows);
            rows.pop();
            Vec::new()
        });
        if innermost {
            column_reduce::finish(b, &self.sinks, rows);
        }
    }

    /// Some rows that are only combined with the accumulators of column reductions, which are read and written once for all of them.
    fn emit_rows_together(&self, b: &mut Builder<'_>, outer: &[Row], first: Value) {
        let end = self.rows[outer.len()];
        let rows: Vec<Vec<Row>> = (0..TOGETHER)
            .map(|i| {
                let i = b.index(i);
                let index = b.add(first, i);
                outer.iter().copied().chain([Row { index, end }]).collect()
            })
            .collect();
        let mut states: Vec<RowState<'_>> =
            rows.iter().map(|rows| RowState { rows, narrow: HashMap::new(), gathered: HashMap::new() }).collect();
        for state in &mut states {
            self.sinks.iter().for_each(|sink| self.prepare(b, state, 0, sink.node()));
        }
        let weight = self.plan.segments[0].weight * TOGETHER as u32;
        column_loop(b, self.columns, weight, &[], &mut |b, column, mask, _| {
            let at = Cursor { rows: &[], column, columns: self.columns, mask };
            let mut lanes: Vec<Lanes<'_>> = rows
                .iter()
                .map(|rows| Lanes { at: Cursor { rows, ..at.clone() }, segment: 0, wide: HashMap::new() })
                .collect();
            for sink in &self.sinks {
                let Sink::Columns(c) = sink else { continue };
                let values: Vec<Value> =
                    states.iter().zip(&mut lanes).map(|(state, lanes)| self.wide(b, state, lanes, c.node)).collect();
                column_reduce::combine(b, c, &values, &at);
            }
            Vec::new()
        });
    }

    fn emit_row(&self, b: &mut Builder<'_>, rows: &[Row]) {
        let mut state = RowState { rows, narrow: HashMap::new(), gathered: HashMap::new() };
        for (level, segment) in self.plan.segments.iter().enumerate() {
            if !segment.is_empty() {
                self.emit_segment(b, &mut state, level, segment);
            }
        }
        for &n in &self.plan.narrow_checks {
            self.narrow(b, &mut state, n);
        }
        let narrow: Vec<_> = self.sinks.iter().filter(|s| self.nodes[s.node()].narrow).collect();
        // All values are known before the first is written: a sink may overwrite what another reads.
        let values: Vec<Value> = narrow.iter().map(|s| self.narrow(b, &mut state, s.node())).collect();
        for (sink, value) in narrow.into_iter().zip(values) {
            self.narrow_sink(b, &mut state, sink, value);
        }
    }

    fn narrow_sink(&self, b: &mut Builder<'_>, state: &mut RowState<'_>, sink: &Sink, value: Value) {
        match sink {
            Sink::Store { access, .. } => access.store_narrow(b, value, state.rows),
            Sink::Scatter { tensor, index, site, .. } => {
                let index = self.narrow(b, state, *index);
                let (access, inside) = scatter_row(b, tensor, index, *site);
                b.if_then(inside, |b| access.store_narrow(b, value, &[]));
            }
            Sink::Columns(c) => column_reduce::visit_narrow(b, c, value, state.rows),
        }
    }

    fn emit_segment(&self, b: &mut Builder<'_>, state: &mut RowState<'_>, level: usize, segment: &Segment) {
        for n in self.segment_roots(segment) {
            self.prepare(b, state, level, n);
        }
        for &i in &segment.sinks {
            if let Sink::Store { access, .. } = &self.sinks[i] {
                access.row_address(b, state.rows);
            }
        }
        let scatters: HashMap<usize, (Access, Value)> = segment
            .sinks
            .iter()
            .filter_map(|&i| match &self.sinks[i] {
                Sink::Scatter { tensor, index, site, .. } => {
                    let index = self.narrow(b, state, *index);
                    Some((i, scatter_row(b, tensor, index, *site)))
                }
                _ => None,
            })
            .collect();
        let partials: Vec<Vec<Value>> = segment.reductions.iter().map(|&r| self.initial_partials(b, r)).collect();
        let ahead = ahead::streams(b, self, state.rows, level);
        let rows = state.rows;
        let shared: &RowState<'_> = state;
        let partials = column_loop(b, self.columns, segment.weight, &partials, &mut |b, column, mask, partials| {
            let at = Cursor { rows, column, columns: self.columns, mask };
            let mut lanes = Lanes { at, segment: level, wide: HashMap::new() };
            ahead.iter().for_each(|stream| stream.fetch(b, column));
            let next = self.reduce_step(b, shared, &mut lanes, segment, partials);
            self.write_step(b, shared, &mut lanes, segment, &scatters);
            next
        });
        for (&r, partials) in segment.reductions.iter().zip(&partials) {
            let NodeKind::Reduce { reduce, .. } = self.nodes[r].kind else { continue };
            let value = b.reduce_partials(reduce, partials);
            let value = elementwise::round_to(b, value, self.nodes[r].dtype);
            state.narrow.insert(r, value);
        }
    }

    /// The wide nodes that a segment computes for their own sake.
    fn segment_roots(&self, segment: &Segment) -> Vec<NodeId> {
        let reduced = segment.reductions.iter().filter_map(|&r| match self.nodes[r].kind {
            NodeKind::Reduce { arg, .. } => Some(arg),
            _ => None,
        });
        let sunk = segment.sinks.iter().map(|&i| self.sinks[i].node());
        reduced.chain(segment.kept.iter().copied()).chain(segment.checks.iter().copied()).chain(sunk).collect()
    }

    fn initial_partials(&self, b: &mut Builder<'_>, reduction: NodeId) -> Vec<Value> {
        let node = &self.nodes[reduction];
        let NodeKind::Reduce { reduce, .. } = node.kind else { return Vec::new() };
        let start = b.constant(Type::Vector(computing(node.dtype)), identity(reduce, node.dtype));
        vec![start; b.partials()]
    }

    fn reduce_step(
        &self,
        b: &mut Builder<'_>,
        state: &RowState<'_>,
        lanes: &mut Lanes<'_>,
        segment: &Segment,
        partials: &[Value],
    ) -> Vec<Value> {
        let mut next = Vec::with_capacity(partials.len());
        for (&r, &partial) in segment.reductions.iter().zip(partials) {
            let NodeKind::Reduce { reduce, arg, .. } = self.nodes[r].kind else { continue };
            let value = self.wide(b, state, lanes, arg);
            let value = b.splat(value);
            let combined = b.bin(reduce.bin(), partial, value);
            next.push(match lanes.at.mask {
                Some(mask) => b.select(mask, combined, partial),
                None => combined,
            });
        }
        next
    }

    /// Kept values and sinks: everything is computed before anything is written.
    fn write_step(
        &self,
        b: &mut Builder<'_>,
        state: &RowState<'_>,
        lanes: &mut Lanes<'_>,
        segment: &Segment,
        scatters: &HashMap<usize, (Access, Value)>,
    ) {
        let kept: Vec<_> = segment.kept.iter().map(|&n| (n, self.wide(b, state, lanes, n))).collect();
        let sunk: Vec<_> =
            segment.sinks.iter().map(|&i| (i, self.wide(b, state, lanes, self.sinks[i].node()))).collect();
        for &n in &segment.checks {
            self.wide(b, state, lanes, n);
        }
        for (n, value) in kept {
            self.buffers[&n].store(b, value, &Cursor { rows: &[], ..lanes.at.clone() });
        }
        for (i, value) in sunk {
            match (&self.sinks[i], scatters.get(&i)) {
                (Sink::Store { access, .. }, _) => access.store(b, value, &lanes.at),
                (Sink::Scatter { .. }, Some((access, inside))) => {
                    let inside = b.splat(*inside);
                    let mask = Some(lanes.at.mask.map_or(inside, |m| b.and(m, inside)));
                    access.store(b, value, &Cursor { rows: &[], mask, ..lanes.at.clone() });
                }
                (Sink::Columns(c), _) => column_reduce::visit(b, c, value, &lanes.at),
                _ => {}
            }
        }
    }

    /// Emits before the column loop what does not depend on the column: narrow values, their splats, row addresses.
    fn prepare(&self, b: &mut Builder<'_>, state: &mut RowState<'_>, level: usize, n: NodeId) {
        let node = &self.nodes[n];
        if node.narrow {
            let value = self.narrow(b, state, n);
            b.splat(value);
            return;
        }
        if self.plan.home[n].is_some_and(|home| home != level) {
            return;
        }
        match &node.kind {
            NodeKind::Memory(access) => {
                access.row_address(b, state.rows);
                if let Some(guard) = access.row_guard(b, state.rows) {
                    b.splat(guard);
                }
            }
            NodeKind::Gather { tensor, index, site } if !state.gathered.contains_key(&n) => {
                let index = self.narrow(b, state, *index);
                let address = gather_row(b, tensor, index, *site);
                state.gathered.insert(n, address);
            }
            _ => {
                for arg in node.kind.args() {
                    self.prepare(b, state, level, arg);
                }
            }
        }
    }

    /// The value of a narrow node in the current row.
    fn narrow(&self, b: &mut Builder<'_>, state: &mut RowState<'_>, n: NodeId) -> Value {
        if let Some(&value) = state.narrow.get(&n) {
            return value;
        }
        let node = &self.nodes[n];
        let value = match &node.kind {
            NodeKind::Uniform(value) => *value,
            NodeKind::Memory(access) => access.load_narrow(b, state.rows),
            NodeKind::Iota { axis, start } => match state.rows.get(*axis) {
                Some(row) => iota_at(b, row.index, *start),
                None => *start,
            },
            NodeKind::Apply { op, dtype, args, site, at_most_zero } => {
                let args: Vec<Value> = args.iter().map(|&a| self.narrow(b, state, a)).collect();
                let known = Known { site: site.unwrap_or(0), active: None, at_most_zero: *at_most_zero };
                elementwise::apply(b, op, *dtype, &args, known).unwrap_or_else(|| zero(b, node, false))
            }
            NodeKind::Fillpad { arg, value, inside } => {
                let (arg, value) = (self.narrow(b, state, *arg), self.narrow(b, state, *value));
                let first = b.index(0);
                let mut holds = inside.last().map(|&end| b.cmp(Cmp::Lt, first, end));
                if let Some(rows) = inside_rows(b, state.rows, inside) {
                    holds = Some(holds.map_or(rows, |h| b.and(h, rows)));
                }
                holds.map_or(arg, |h| b.select(h, arg, value))
            }
            NodeKind::Reduce { reduce, arg, columns } => {
                let x = self.narrow(b, state, *arg);
                reduce_narrow(b, *reduce, node.dtype, x, *columns)
            }
            NodeKind::FirstIndex { .. } => b.int(Elem::I32, 0),
            NodeKind::EmptyIsZero { arg } => {
                let arg = self.narrow(b, state, *arg);
                let (none, zero) = (b.int(Elem::I32, i64::from(i32::MAX)), b.int(Elem::I32, 0));
                let empty = b.cmp(Cmp::Eq, arg, none);
                b.select(empty, zero, arg)
            }
            NodeKind::Gather { tensor, index, site } => {
                let index = self.narrow(b, state, *index);
                let address = gather_row(b, tensor, index, *site);
                let mut region = row_access(b, tensor, address);
                let one = b.index(1);
                region.limits = vec![readable_columns(b, tensor, one)];
                region.load_narrow(b, &[])
            }
        };
        state.narrow.insert(n, value);
        value
    }

    /// The value of a node in the current lanes; narrow nodes as scalars.
    fn wide(&self, b: &mut Builder<'_>, state: &RowState<'_>, lanes: &mut Lanes<'_>, n: NodeId) -> Value {
        let node = &self.nodes[n];
        if node.narrow {
            return state.narrow.get(&n).copied().unwrap_or_else(|| zero(b, node, false));
        }
        if let Some(&value) = lanes.wide.get(&n) {
            return value;
        }
        let value = match self.plan.home[n] {
            Some(home) if home != lanes.segment => self.buffers[&n].load(b, &Cursor { rows: &[], ..lanes.at.clone() }),
            _ => self.compute(b, state, lanes, n),
        };
        lanes.wide.insert(n, value);
        value
    }

    fn compute(&self, b: &mut Builder<'_>, state: &RowState<'_>, lanes: &mut Lanes<'_>, n: NodeId) -> Value {
        let node = &self.nodes[n];
        match &node.kind {
            NodeKind::Uniform(value) => *value,
            NodeKind::Memory(access) => access.load(b, &lanes.at),
            NodeKind::Iota { axis, start } => match lanes.at.rows.get(*axis) {
                Some(row) => iota_at(b, row.index, *start),
                None => column_numbers(b, lanes.at.column, *start),
            },
            NodeKind::Apply { op, dtype, args, site, at_most_zero } => {
                let args: Vec<Value> = args.iter().map(|&a| self.wide(b, state, lanes, a)).collect();
                let known = Known { site: site.unwrap_or(0), active: lanes.at.mask, at_most_zero: *at_most_zero };
                elementwise::apply(b, op, *dtype, &args, known).unwrap_or_else(|| zero(b, node, true))
            }
            NodeKind::Fillpad { arg, value, inside } => {
                let (arg, value) = (self.wide(b, state, lanes, *arg), self.wide(b, state, lanes, *value));
                fill_outside(b, arg, value, inside, &lanes.at)
            }
            NodeKind::FirstIndex { arg, extremum } => {
                let (x, extremum) = (self.wide(b, state, lanes, *arg), self.wide(b, state, lanes, *extremum));
                let x = b.splat(x);
                let mut hit = b.cmp(Cmp::Eq, x, extremum);
                if b.elem(x).is_float() {
                    let nan = b.is_nan(x);
                    hit = b.or(hit, nan);
                }
                let start = b.int(Elem::I32, 0);
                let (number, none) = (column_numbers(b, lanes.at.column, start), b.int(Elem::I32, i64::from(i32::MAX)));
                b.select(hit, number, none)
            }
            NodeKind::Gather { tensor, .. } => {
                let Some(&base) = state.gathered.get(&n) else { return zero(b, node, true) };
                let mut region = row_access(b, tensor, base);
                region.limits = vec![readable_columns(b, tensor, lanes.at.columns)];
                region.load(b, &Cursor { rows: &[], ..lanes.at.clone() })
            }
            NodeKind::Reduce { .. } | NodeKind::EmptyIsZero { .. } => zero(b, node, true),
        }
    }
}

/// A reduction of the only column: the identity combined with it, as the loop over columns would.
fn reduce_narrow(b: &mut Builder<'_>, reduce: Reduce, dtype: DType, x: Value, columns: Value) -> Value {
    let start = b.constant(Type::Scalar(computing(dtype)), identity(reduce, dtype));
    let combined = b.bin(reduce.bin(), start, x);
    let combined = elementwise::round_to(b, combined, dtype);
    let zero = b.index(0);
    let some = b.cmp(Cmp::Lt, zero, columns);
    b.select(some, combined, start)
}

fn zero(b: &mut Builder<'_>, node: &Node<'_>, wide: bool) -> Value {
    let elem = computing(node.dtype);
    b.constant(if wide { Type::Vector(elem) } else { Type::Scalar(elem) }, 0)
}

/// `start + index` in the type of `start`.
pub(super) fn iota_at(b: &mut Builder<'_>, index: Value, start: Value) -> Value {
    let index = b.resize(index, b.elem(start), true);
    b.add(start, index)
}

/// `start` + column number, per lane.
pub(super) fn column_numbers(b: &mut Builder<'_>, column: Value, start: Value) -> Value {
    let first = iota_at(b, column, start);
    let lane = b.iota(b.elem(start));
    b.add(lane, first)
}

fn inside_rows(b: &mut Builder<'_>, rows: &[Row], inside: &[Value]) -> Option<Value> {
    let mut holds = None;
    for (row, &end) in rows.iter().zip(inside) {
        if row.end != end {
            let here = b.cmp(Cmp::Lt, row.index, end);
            holds = Some(holds.map_or(here, |h| b.and(h, here)));
        }
    }
    holds
}

fn fill_outside(b: &mut Builder<'_>, arg: Value, value: Value, inside: &[Value], at: &Cursor<'_>) -> Value {
    let (arg, value) = (b.splat(arg), b.splat(value));
    let mut holds = inside_rows(b, at.rows, inside).map(|h| b.splat(h));
    if let Some(&end) = inside.last().filter(|&&end| end != at.columns) {
        let remaining = b.sub(end, at.column);
        let lanes = b.tail_mask(remaining);
        holds = Some(holds.map_or(lanes, |h| b.and(h, lanes)));
    }
    holds.map_or(arg, |h| b.select(h, arg, value))
}

/// The rows of a tensor from an address on, as a region of one row.
fn row_access(b: &mut Builder<'_>, tensor: &super::context::Tensor, base: Value) -> Access {
    let stride = tensor.strides.last().copied().unwrap_or_else(|| b.index(1));
    Access {
        dtype: tensor.dtype,
        base,
        strides: vec![stride],
        limits: vec![None],
        memory: Memory::Tensor { root: crate::ir::ValueId(u32::MAX), region: Vec::new(), far: false },
    }
}

/// How many columns a gathered row may touch: none where the tensor has no rows at all.
fn readable_columns(b: &mut Builder<'_>, tensor: &super::context::Tensor, columns: Value) -> Option<Value> {
    let (zero, count) = (b.index(0), tensor.dims[0]);
    let some = b.cmp(Cmp::Lt, zero, count);
    match b.as_const(some) {
        Some(0) | None => Some(b.select(some, columns, zero)),
        Some(_) => None,
    }
}

/// Whether the index names a row of the tensor, and the index or 0.
fn checked_row(b: &mut Builder<'_>, tensor: &super::context::Tensor, index: Value) -> (Value, Value) {
    let index = b.resize(index, Elem::I64, true);
    let (zero, count) = (b.index(0), tensor.dims[0]);
    // One unsigned comparison: negative indices are huge.
    let inside = b.ucmp(Cmp::Lt, index, count);
    let row = b.select(inside, index, zero);
    (inside, row)
}

fn gather_row(b: &mut Builder<'_>, tensor: &super::context::Tensor, index: Value, site: u32) -> Value {
    let (inside, row) = checked_row(b, tensor, index);
    let outside = b.not(inside);
    b.fail_if(outside, site);
    let offset = b.mul(row, tensor.strides[0]);
    b.addr(tensor.base, super::access::stored(tensor.dtype), offset)
}

fn scatter_row(b: &mut Builder<'_>, tensor: &super::context::Tensor, index: Value, site: u32) -> (Access, Value) {
    let (inside, row) = checked_row(b, tensor, index);
    let outside = b.not(inside);
    b.fail_if(outside, site);
    let offset = b.mul(row, tensor.strides[0]);
    let base = b.addr(tensor.base, super::access::stored(tensor.dtype), offset);
    (row_access(b, tensor, base), inside)
}
