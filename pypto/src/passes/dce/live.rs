//! Marks live operations and values.

use super::super::effects::must_stay;
use crate::ir::{Block, Function, Op, ValueId};
use crate::ops::OpKind;

/// What is live. Operations are counted in the order of the text, an operation before what is nested in it.
pub(super) struct Live {
    pub ops: Vec<bool>,
    pub values: Vec<bool>,
}

/// Where a value comes from: operation, and position among its results or its region's arguments.
#[derive(Clone, Copy)]
enum Origin {
    Outside,
    Result { op: usize, index: usize },
    Argument { op: usize, region: usize, index: usize },
}

struct Marker<'a> {
    function: &'a Function,
    ops: Vec<&'a Op>,
    /// The operation that a nested operation is in.
    parents: Vec<Option<usize>>,
    origins: Vec<Origin>,
    live: Live,
    work: Vec<ValueId>,
}

pub(super) fn liveness(function: &Function) -> Live {
    let count = function.values.len();
    let mut marker = Marker {
        function,
        ops: Vec::new(),
        parents: Vec::new(),
        origins: vec![Origin::Outside; count],
        live: Live { ops: Vec::new(), values: vec![false; count] },
        work: Vec::new(),
    };
    marker.index(&function.body, None);
    marker.live.ops = vec![false; marker.ops.len()];
    function.body.yields.iter().for_each(|v| marker.value(*v));
    function.params.iter().for_each(|p| marker.value(p.value));
    for op in 0..marker.ops.len() {
        if must_stay(marker.ops[op], function) {
            marker.op(op);
        }
    }
    while let Some(value) = marker.work.pop() {
        marker.trace(value);
    }
    marker.live
}

impl<'a> Marker<'a> {
    fn index(&mut self, block: &'a Block, parent: Option<usize>) {
        for op in &block.ops {
            let id = self.ops.len();
            self.ops.push(op);
            self.parents.push(parent);
            for (index, result) in op.results.iter().enumerate() {
                self.origins[result.0 as usize] = Origin::Result { op: id, index };
            }
            for (region, nested) in op.regions.iter().enumerate() {
                for (index, argument) in nested.args.iter().enumerate() {
                    self.origins[argument.0 as usize] = Origin::Argument { op: id, region, index };
                }
                self.index(nested, Some(id));
            }
        }
    }

    fn value(&mut self, value: ValueId) {
        if !std::mem::replace(&mut self.live.values[value.0 as usize], true) {
            self.work.push(value);
        }
    }

    /// The operation runs: so do those around it, and what it always needs is live.
    fn op(&mut self, id: usize) {
        if std::mem::replace(&mut self.live.ops[id], true) {
            return;
        }
        if let Some(parent) = self.parents[id] {
            self.op(parent);
        }
        let op = self.ops[id];
        let needed = match op.kind {
            OpKind::For => &op.operands[..3],
            // Carried variables are live one by one; the condition is always needed.
            OpKind::While => &op.regions[0].yields[..1],
            _ => &op.operands[..],
        };
        needed.iter().for_each(|v| self.value(*v));
        if op.kind == OpKind::For {
            self.value(op.regions[0].args[0]);
        }
        if op.kind == OpKind::Call {
            op.results.iter().for_each(|v| self.value(*v));
        }
    }

    /// What a live value needs.
    fn trace(&mut self, value: ValueId) {
        for extent in self.function.ty(value).extents() {
            if let Some(mentioned) = extent.value() {
                self.value(mentioned);
            }
        }
        match self.origins[value.0 as usize] {
            Origin::Outside => {}
            Origin::Result { op, index } => {
                self.op(op);
                self.carried(op, index, Side::Result);
            }
            Origin::Argument { op, region, index } => {
                self.op(op);
                match (self.ops[op].kind, region) {
                    (OpKind::For, _) if index == 0 => {}
                    (OpKind::For, _) => self.carried(op, index - 1, Side::Argument),
                    (OpKind::While, 0) => self.carried(op, index, Side::Argument),
                    (OpKind::While, _) => self.carried(op, index, Side::Result),
                    _ => {}
                }
            }
        }
    }

    /// The values that are tied to carried variable number `index`.
    fn carried(&mut self, id: usize, index: usize, side: Side) {
        let op = self.ops[id];
        let tied: &[(&[ValueId], usize)] = match op.kind {
            OpKind::For => {
                let body = &op.regions[0];
                &[(&op.operands, index + 3), (&body.args, index + 1), (&body.yields, index), (&op.results, index)]
            }
            OpKind::If => &[(&op.regions[0].yields, index), (&op.regions[1].yields, index)],
            OpKind::While if side == Side::Argument => {
                &[(&op.operands, index), (&op.regions[0].args, index), (&op.regions[1].yields, index)]
            }
            OpKind::While => &[(&op.regions[0].yields, index + 1), (&op.regions[1].args, index), (&op.results, index)],
            _ => &[],
        };
        for (values, index) in tied {
            self.value(values[*index]);
        }
    }
}

/// For `while`, whether the variable enters the condition or leaves it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Argument,
    Result,
}
