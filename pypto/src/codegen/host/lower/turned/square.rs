//! Squares of W x W elements, transposed in registers between memory that lies row by row and lanes that belong to different rows.

use std::collections::HashMap;

use super::super::access::{Access, Cursor, Row};
use super::super::graph::{NodeId, NodeKind};
use super::fit::is_in_rows;
use super::group::{Lanes, TurnedGroup, Work, turn};
use crate::codegen::host::lir::{Builder, Value};

impl TurnedGroup<'_> {
    /// The nodes below `n` that a column loop reads from memory that lies row by row.
    pub(super) fn read_in_rows(&self, b: &Builder<'_>, level: usize, n: NodeId, found: &mut Vec<NodeId>) {
        let node = &self.nodes[n];
        if node.narrow || self.plan.home[n].is_some_and(|home| home != level) || found.contains(&n) {
            return;
        }
        if self.is_read_in_rows(b, node) {
            found.push(n);
        }
        node.kind.args().into_iter().for_each(|arg| self.read_in_rows(b, level, arg, found));
    }

    /// W columns of W rows: what lies row by row is transposed after it is read and before it is written.
    pub(super) fn square(
        &self,
        b: &mut Builder<'_>,
        lanes: &Lanes<'_>,
        work: &Work<'_>,
        in_rows: &[NodeId],
        first: Value,
    ) {
        let side = b.lanes() as i64;
        let mut read: HashMap<NodeId, Vec<Value>> = HashMap::new();
        for &n in in_rows {
            let NodeKind::Memory(access) = &self.nodes[n].kind else { continue };
            let lines: Vec<Value> = (0..side).map(|i| self.line(b, lanes, access, first, i)).collect();
            read.insert(n, b.transpose(&lines));
        }
        let mut written: Vec<Vec<Value>> = vec![Vec::new(); work.sunk.len()];
        for k in 0..side {
            let offset = b.index(k);
            let column = b.add(first, offset);
            let known = read.iter().map(|(&n, columns)| (n, columns[k as usize])).collect();
            for (i, (access, value)) in self.column(b, lanes, work, column, known).into_iter().enumerate() {
                if is_in_rows(b, access) {
                    let value = b.splat(value);
                    written[i].push(value);
                } else {
                    let row = self.row(column);
                    turn(access).store(b, value, &self.cursor(lanes, std::slice::from_ref(&row)));
                }
            }
        }
        for ((_, access), columns) in work.sunk.iter().zip(written) {
            if columns.is_empty() {
                continue;
            }
            for (i, line) in b.transpose(&columns).into_iter().enumerate() {
                let row = self.row_at(b, lanes, i as i64);
                let at = self.along(std::slice::from_ref(&row), first);
                access.store(b, line, &at);
            }
        }
    }

    /// W columns of row number i of these lanes.
    fn line(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, access: &Access, first: Value, i: i64) -> Value {
        let row = self.row_at(b, lanes, i);
        access.load(b, &self.along(std::slice::from_ref(&row), first))
    }

    fn row_at(&self, b: &mut Builder<'_>, lanes: &Lanes<'_>, i: i64) -> Row {
        let offset = b.index(i);
        Row { index: b.add(lanes.first, offset), end: self.rows }
    }

    /// The position of W columns of one row in memory that lies row by row.
    fn along<'c>(&self, rows: &'c [Row], first: Value) -> Cursor<'c> {
        Cursor { rows, column: first, columns: self.columns, mask: None }
    }
}
