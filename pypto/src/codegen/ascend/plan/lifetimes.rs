//! When each tile is needed.

use std::collections::BTreeMap;

use super::Buffer;
use crate::codegen::ascend::dialect::{Form, Function, Inst, Kind, TileOp, Value};

/// First and last half step of a loop.
type Span = (usize, usize);

struct Walk<'a> {
    function: &'a Function,
    buffers: Vec<Buffer>,
    /// Buffer of a handle, and the loops around its allocation.
    index: BTreeMap<Value, usize>,
    depth: Vec<usize>,
    step: usize,
    /// Loops around the instruction at hand; the end is known once they were gone through.
    loops: Vec<usize>,
    spans: Vec<Span>,
    /// Accesses: buffer, half step, loops around it.
    accesses: Vec<(usize, usize, Vec<usize>)>,
    /// Operands and results of instructions that work in place, with their step.
    in_place: Vec<(usize, usize, usize)>,
}

/// The tiles of a function with their lifetimes.
pub(super) fn buffers(function: &Function) -> Vec<Buffer> {
    let mut walk = Walk {
        function,
        buffers: Vec::new(),
        index: BTreeMap::new(),
        depth: Vec::new(),
        step: 0,
        loops: Vec::new(),
        spans: Vec::new(),
        accesses: Vec::new(),
        in_place: Vec::new(),
    };
    walk.body(&function.body);
    walk.finish()
}

impl Walk<'_> {
    fn body(&mut self, body: &[Inst]) {
        for inst in body {
            self.step += 1;
            match &inst.kind {
                Kind::Alloc { result, .. } => self.alloc(*result),
                Kind::Alias { result, source, .. } => {
                    if let Some(buffer) = self.index.get(source).copied() {
                        self.index.insert(*result, buffer);
                    }
                }
                Kind::Tile { op, ins, out, .. } => self.tile_op(*op, ins, *out),
                Kind::GetElement { tile, .. } => self.access(*tile, 2 * self.step),
                Kind::Report { values, .. } => values.iter().for_each(|v| self.access(*v, 2 * self.step)),
                Kind::For { body, .. } => {
                    let number = self.spans.len();
                    self.spans.push((2 * self.step, 0));
                    self.loops.push(number);
                    self.body(body);
                    self.loops.pop();
                    self.step += 1;
                    self.spans[number].1 = 2 * self.step + 1;
                }
                Kind::If { then, otherwise, .. } => {
                    self.body(&then.body);
                    self.body(&otherwise.body);
                    self.step += 1;
                }
                _ => {}
            }
        }
    }

    fn alloc(&mut self, handle: Value) {
        let Some(tile) = self.function.tile(handle) else { return };
        let (space, bytes) = (tile.space, tile.bytes());
        self.index.insert(handle, self.buffers.len());
        self.depth.push(self.loops.len());
        self.buffers.push(Buffer { handle, space, bytes, begin: usize::MAX, end: 0, same_start: Vec::new() });
    }

    fn access(&mut self, handle: Value, at: usize) {
        if let Some(buffer) = self.index.get(&handle) {
            self.accesses.push((*buffer, at, self.loops.clone()));
        }
    }

    fn tile_op(&mut self, op: TileOp, ins: &[Value], out: Value) {
        let now = 2 * self.step;
        let scratch = matches!(op.form(), Form::RowReduce | Form::Select | Form::Transpose);
        for (position, operand) in ins.iter().enumerate() {
            self.access(*operand, now);
            if scratch && position + 1 == ins.len() {
                self.access(*operand, now + 1);
            }
        }
        self.access(out, now + 1);
        if !op.works_in_place() {
            // The result lives while operands are read.
            self.access(out, now);
            return;
        }
        if let Some(result) = self.index.get(&out).copied() {
            for operand in ins {
                if let Some(operand) = self.index.get(operand).copied().filter(|o| *o != result) {
                    self.in_place.push((operand, result, self.step));
                }
            }
        }
    }

    fn finish(mut self) -> Vec<Buffer> {
        for (buffer, at, loops) in &self.accesses {
            // A tile from outside of a loop is needed from the loop's beginning to its end.
            let (begin, end) = match loops.get(self.depth[*buffer]) {
                Some(around) => self.spans[*around],
                None => (*at, *at),
            };
            let buffer = &mut self.buffers[*buffer];
            buffer.begin = buffer.begin.min(begin);
            buffer.end = buffer.end.max(end);
        }
        for buffer in &mut self.buffers {
            // Never used: it still has a place.
            buffer.begin = buffer.begin.min(buffer.end);
        }
        for (operand, result, step) in self.in_place {
            if self.buffers[operand].end == 2 * step && self.buffers[result].begin == 2 * step + 1 {
                self.buffers[operand].same_start.push(result);
                self.buffers[result].same_start.push(operand);
            }
        }
        self.buffers
    }
}
