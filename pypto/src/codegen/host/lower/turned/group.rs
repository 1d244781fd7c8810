//! Emits a fusion group whose tiles lie column by column: rows across the lanes.
//!
//! Where products give their result in columns (see [`super::families`]), the neighbours in memory belong to different rows. Then a vector
//! holds one column of W rows, the loop over columns runs inside, and what belongs to a row, its maximum or its sum, is a vector too: no
//! lanes are ever combined. What is computed for a row, and in which order its columns are combined, stays the same.
//!
//! Memory that lies row by row may take part: squares of W x W elements are transposed in registers on their way ([`super::square`]).

use std::collections::HashMap;

use super::super::access::{Access, Cursor, Row, computing};
use super::super::elementwise::{self, Known};
use super::super::graph::{Node, NodeId, NodeKind, Sink};
use super::super::plan::{Plan, Segment};
use super::super::row_group::{column_numbers, iota_at};
use super::fit::{CHEAP, cost, is_in_rows, is_repeated, written_to};
use crate::codegen::host::lir::{Builder, CacheLevel, Type, Value};

/// Bodies at least this heavy are not unrolled.
const HEAVY: u32 = 8;
/// Columns that are visited for all rows before the next ones, where rows and columns of memory meet: one cache line of each row.
const LINE: i64 = 16;
/// Columns from what is read to what is fetched of what comes from memory.
const AHEAD: i64 = 32;

/// A planned group with everything that its emission needs.
pub(in super::super) struct TurnedGroup<'f> {
    pub nodes: Vec<Node<'f>>,
    pub sinks: Vec<Sink>,
    pub plan: Plan,
    /// Valid rows and columns.
    pub rows: Value,
    pub columns: Value,
    /// See [`super::Needs::whole_vectors`].
    pub whole_vectors: bool,
    /// W elements for each column, for the values of [`Needs::strips`], in computing form.
    pub strips: HashMap<NodeId, Access>,
    /// Partial results, W elements each, of the reductions of [`Needs::partials`].
    pub partials: HashMap<NodeId, Access>,
}

/// The values of some rows.
pub(super) struct Lanes<'a> {
    /// Index of the first row.
    pub first: Value,
    /// The lanes that are inside, `None` for all.
    pub mask: Option<Value>,
    /// The first column that is visited, and one past the last.
    pub columns: [Value; 2],
    pub narrow: &'a mut HashMap<NodeId, Value>,
}

/// What a column loop computes: the values that it keeps, and those that it writes.
pub(super) struct Work<'a> {
    pub level: usize,
    pub weight: u32,
    pub kept: Vec<NodeId>,
    pub sunk: Vec<(NodeId, &'a Access)>,
}

impl TurnedGroup<'_> {
    /// Emits the whole group.
    pub fn emit(&self, b: &mut Builder<'_>) {
        for node in &self.nodes {
            // Splats of loop-invariant scalars stay outside the loops: value numbering finds them again.
            if let NodeKind::Uniform(value) = node.kind {
                b.splat(value);
            }
        }
        let mixed = self.nodes.iter().zip(&self.plan.needed).any(|(node, needed)| *needed && self.is_read_in_rows(b, node))
            || self.sinks.iter().any(|sink| matches!(sink, Sink::Store { node, access } if !self.nodes[*node].narrow && is_in_rows(b, access)));
        // What belongs to a row is written once, so it must not be visited for each range of columns.
        let wide = self.sinks.iter().all(|sink| !self.nodes[sink.node()].narrow);
        let alone = wide && self.plan.segments.len() == 1 && self.plan.segments[0].reductions.is_empty();
        if !(mixed && alone) {
            return self.emit_columns(b, [None; 2]);
        }
        let zero = b.index(0);
        let whole_lines = self.has_whole_lines(b);
        b.for_each(zero, self.columns, LINE, |b, first| {
            let line = b.index(LINE);
            let mut end = b.add(first, line);
            if !whole_lines {
                end = b.min(end, self.columns);
            }
            self.emit_columns(b, [Some(first), Some(end)]);
        });
    }

    /// Whether all ranges of columns are known to be of [`LINE`].
    fn has_whole_lines(&self, b: &Builder<'_>) -> bool {
        b.as_const(self.columns).is_some_and(|columns| columns % LINE == 0)
    }

    pub(super) fn is_read_in_rows(&self, b: &Builder<'_>, node: &Node<'_>) -> bool {
        matches!(&node.kind, NodeKind::Memory(access) if !node.narrow && is_in_rows(b, access))
    }

    /// All rows of a range of columns (`None`: from the first, to the last).
    fn emit_columns(&self, b: &mut Builder<'_>, columns: [Option<Value>; 2]) {
        let zero = b.index(0);
        let columns = [columns[0].unwrap_or(zero), columns[1].unwrap_or(self.columns)];
        if self.whole_vectors {
            // What a mask would keep out takes no more time, and code without one is half as long.
            return b.for_each(zero, self.rows, b.lanes() as i64, |b, first| self.rows_from(b, first, None, columns));
        }
        b.lanes_loop(zero, self.rows, 1, &[vec![]], |b, first, tail, _| {
            self.rows_from(b, first, tail.mask(), columns);
            Vec::new()
        });
    }

    /// A vector of rows.
    fn rows_from(&self, b: &mut Builder<'_>, first: Value, mask: Option<Value>, columns: [Value; 2]) {
        let mut lanes = Lanes { first, mask, columns, narrow: &mut HashMap::new() };
        for (level, segment) in self.plan.segments.iter().enumerate() {
            self.segment(b, &mut lanes, level, segment);
        }
        self.narrow_sinks(b, &mut lanes);
    }

    /// One column loop, with its reductions. Those over values that are read or computed anew come first: the loop may overwrite what they
    /// read. Those over values that the loop keeps or writes come last.
    fn segment(&self, b: &mut Builder<'_>, lanes: &mut Lanes<'_>, level: usize, segment: &Segment) {
        let is_later = |&&r: &&NodeId| matches!(self.nodes[r].kind, NodeKind::Reduce { arg, .. } if self.source(arg).is_some() && self.plan.home[arg].is_none_or(|home| home == level));
        let (later, sooner): (Vec<&NodeId>, Vec<&NodeId>) = segment.reductions.iter().partition(is_later);
        for &&r in &sooner {
            self.reduce(b, lanes, level, r);
        }
        let sunk = segment.sinks.iter().filter_map(|&i| match &self.sinks[i] {
            Sink::Store { node, access } => Some((*node, access)),
            _ => None,
        });
        let work = Work { level, weight: segment.weight, kept: self.kept_in(segment, &later), sunk: sunk.collect() };
        let roots: Vec<NodeId> = work.kept.iter().copied().chain(work.sunk.iter().map(|(n, _)| *n)).collect();
        if !roots.is_empty() {
            for &n in &roots {
                self.prepare(b, lanes, level, n);
            }
            self.column_loop(b, lanes, &work, &roots);
        }
        for &&r in &later {
            self.reduce(b, lanes, level, r);
        }
    }

    /// The values that a segment keeps: for later segments, and for the reductions after its loop.
    fn kept_in(&self, segment: &Segment, later: &[&NodeId]) -> Vec<NodeId> {
        let mut kept = segment.kept.clone();
        for &&r in later {
            if let NodeKind::Reduce { arg, .. } = self.nodes[r].kind
                && self.strips.contains_key(&arg)
                && !kept.contains(&arg)
            {
                kept.push(arg);
            }
        }
        kept
    }

    /// The memory that holds a wide value after the column loop that computes it; `None` for values that are computed anew.
    pub(super) fn source(&self, n: NodeId) -> Option<&Access> {
        self.strips.get(&n).or_else(|| written_to(&self.nodes, &self.sinks, n).filter(|_| cost(&self.nodes, n) > CHEAP))
    }

    fn column_loop(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, work: &Work<'_>, roots: &[NodeId]) {
        let [start, end] = lanes.columns;
        let mut in_rows = Vec::new();
        roots.iter().for_each(|&n| self.read_in_rows(b, work.level, n, &mut in_rows));
        let writes_rows = work.sunk.iter().any(|(_, access)| is_in_rows(b, access));
        if lanes.mask.is_none() && (writes_rows || !in_rows.is_empty()) {
            let side = b.index(b.lanes() as i64);
            let whole = if self.has_whole_lines(b) {
                end
            } else {
                let length = b.sub(end, start);
                let rest = b.urem(length, side);
                b.sub(end, rest)
            };
            b.for_loop(start, whole, side, &[], |b, first, _| {
                self.square(b, lanes, work, &in_rows, first);
                Vec::new()
            });
            if whole != end {
                self.columns_from(b, lanes, work, whole, 1);
            }
            return;
        }
        let divides = |by: i64| {
            let known = [start, end].map(|value| b.as_const(value));
            matches!(known, [Some(start), Some(end)] if (end - start) % by == 0)
        };
        let unroll = if work.weight < HEAVY && divides(4) { 4 } else { 1 };
        self.columns_from(b, lanes, work, start, unroll);
    }

    /// One column after the other.
    fn columns_from(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, work: &Work<'_>, start: Value, unroll: i64) {
        b.for_each(start, lanes.columns[1], unroll, |b, first| {
            for k in 0..unroll {
                let offset = b.index(k);
                let column = b.add(first, offset);
                for (access, value) in self.column(b, lanes, work, column, HashMap::new()) {
                    let row = self.row(column);
                    turn(access).store(b, value, &self.cursor(lanes, std::slice::from_ref(&row)));
                }
            }
        });
    }

    /// Computes one column and keeps what is kept; gives what is to be written.
    pub(super) fn column<'a>(
        &self,
        b: &mut Builder<'_>,
        lanes: &Lanes<'_>,
        work: &Work<'a>,
        column: Value,
        mut known: HashMap<NodeId, Value>,
    ) -> Vec<(&'a Access, Value)> {
        // Everything is computed before anything is written.
        let kept: Vec<_> =
            work.kept.iter().map(|&n| (n, self.wide(b, lanes, &mut known, work.level, column, n))).collect();
        let sunk = work
            .sunk
            .iter()
            .map(|&(n, access)| (access, self.wide(b, lanes, &mut known, work.level, column, n)))
            .collect();
        for (n, value) in kept {
            self.store_strip(b, lanes, n, column, value);
        }
        sunk
    }

    pub(super) fn row(&self, column: Value) -> Row {
        Row { index: column, end: self.columns }
    }

    /// The position of these lanes in an access whose dimensions were exchanged.
    pub(super) fn cursor<'c>(&self, lanes: &Lanes<'_>, rows: &'c [Row]) -> Cursor<'c> {
        Cursor { rows, column: lanes.first, columns: self.rows, mask: lanes.mask }
    }

    fn store_strip(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, n: NodeId, column: Value, value: Value) {
        let (row, zero, width) = (self.row(column), b.index(0), b.index(b.lanes() as i64));
        let at = Cursor { rows: std::slice::from_ref(&row), column: zero, columns: width, mask: lanes.mask };
        self.strips[&n].store(b, value, &at);
    }

    pub(super) fn load_strip(&self, b: &mut Builder<'_>, strip: &Access, column: Value) -> Value {
        let (row, zero, width) = (self.row(column), b.index(0), b.index(b.lanes() as i64));
        strip.load(b, &Cursor { rows: std::slice::from_ref(&row), column: zero, columns: width, mask: None })
    }

    /// Emits before a column loop the narrow values that it needs.
    pub(super) fn prepare(&self, b: &mut Builder<'_>, lanes: &mut Lanes<'_>, level: usize, n: NodeId) {
        let node = &self.nodes[n];
        if node.narrow {
            let value = self.narrow(b, lanes, n);
            b.splat(value);
        } else if self.plan.home[n].is_none_or(|home| home == level) {
            for arg in node.kind.args() {
                self.prepare(b, lanes, level, arg);
            }
        }
    }

    /// The value of a narrow node: one lane for each row, or the same scalar for all.
    fn narrow(&self, b: &mut Builder<'_>, lanes: &mut Lanes<'_>, n: NodeId) -> Value {
        if let Some(&value) = lanes.narrow.get(&n) {
            return value;
        }
        let node = &self.nodes[n];
        let value = match &node.kind {
            NodeKind::Uniform(value) => *value,
            NodeKind::Memory(access) => column_of(access).load(b, &self.cursor(lanes, &[])),
            NodeKind::Iota { axis: 0, start } => column_numbers(b, lanes.first, *start),
            NodeKind::Iota { start, .. } => *start,
            NodeKind::Apply { op, dtype, args, site, at_most_zero } => {
                let args: Vec<Value> = args.iter().map(|&a| self.narrow(b, lanes, a)).collect();
                let known = Known { site: site.unwrap_or(0), active: lanes.mask, at_most_zero: *at_most_zero };
                elementwise::apply(b, op, *dtype, &args, known).unwrap_or_else(|| nothing(b, node))
            }
            NodeKind::Fillpad { arg, .. } => self.narrow(b, lanes, *arg),
            _ => nothing(b, node),
        };
        lanes.narrow.insert(n, value);
        value
    }

    /// The value of a node in one column.
    pub(super) fn wide(
        &self,
        b: &mut Builder<'_>,
        lanes: &Lanes<'_>,
        known: &mut HashMap<NodeId, Value>,
        level: usize,
        column: Value,
        n: NodeId,
    ) -> Value {
        let node = &self.nodes[n];
        if node.narrow {
            return lanes.narrow.get(&n).copied().unwrap_or_else(|| nothing(b, node));
        }
        if let Some(&value) = known.get(&n) {
            return value;
        }
        let value = match (self.plan.home[n], &node.kind) {
            (Some(home), _) if home != level => self.load_strip(b, &self.strips[&n], column),
            (_, NodeKind::Memory(access)) => self.element(b, lanes, access, column),
            (_, NodeKind::Iota { axis: 0, start }) => column_numbers(b, lanes.first, *start),
            (_, NodeKind::Iota { start, .. }) => iota_at(b, column, *start),
            (_, NodeKind::Apply { op, dtype, args, site, at_most_zero }) => {
                let args: Vec<Value> = args.iter().map(|&a| self.wide(b, lanes, known, level, column, a)).collect();
                let known = Known { site: site.unwrap_or(0), active: lanes.mask, at_most_zero: *at_most_zero };
                elementwise::apply(b, op, *dtype, &args, known).unwrap_or_else(|| nothing(b, node))
            }
            (_, NodeKind::Fillpad { arg, .. }) => self.wide(b, lanes, known, level, column, *arg),
            _ => nothing(b, node),
        };
        known.insert(n, value);
        value
    }

    /// Some rows of one column in memory.
    pub(super) fn element(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, access: &Access, column: Value) -> Value {
        let row = self.row(column);
        let turned = turn(access);
        if is_repeated(b, access) {
            return turned.load_narrow(b, std::slice::from_ref(&row));
        }
        if access.memory.is_far() {
            self.fetch_ahead(b, lanes, &turned, column);
        }
        turned.load(b, &self.cursor(lanes, std::slice::from_ref(&row)))
    }

    /// Fetches the same rows of a column to come: neighbouring columns are far apart in memory, where the processor does not see them coming.
    fn fetch_ahead(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, turned: &Access, column: Value) {
        let (ahead, size) = (b.index(AHEAD), b.index(i64::from(turned.dtype.bits() / 8)));
        let row = self.row(b.add(column, ahead));
        let address = turned.row_address(b, std::slice::from_ref(&row));
        let offset = b.mul(lanes.first, size);
        b.prefetch_to(CacheLevel::Second, address, offset);
    }

    fn narrow_sinks(&self, b: &mut Builder<'_>, lanes: &mut Lanes<'_>) {
        let mut stores = Vec::new();
        for sink in &self.sinks {
            if let Sink::Store { node, access } = sink
                && self.nodes[*node].narrow
            {
                stores.push((self.narrow(b, lanes, *node), column_of(access)));
            }
        }
        for (value, access) in stores {
            access.store(b, value, &self.cursor(lanes, &[]));
        }
    }
}

/// The access with rows and columns exchanged.
pub(super) fn turn(access: &Access) -> Access {
    let mut turned = access.clone();
    turned.strides.reverse();
    turned.limits.reverse();
    turned
}

/// The only column of a narrow tile as one row.
fn column_of(access: &Access) -> Access {
    Access { strides: vec![access.strides[0]], limits: vec![access.limits[0]], ..access.clone() }
}

pub(super) fn nothing(b: &mut Builder<'_>, node: &Node<'_>) -> Value {
    b.constant(Type::Scalar(computing(node.dtype)), 0)
}
