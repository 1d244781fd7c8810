//! Virtual time within a block.
//!
//! A core's pipes work side by side, each in order of the program. An instruction starts when its pipe is free, its
//! operands are written, and nothing still reads or writes the bytes of its result: what the assembler's synchronization
//! gives. Durations follow from bytes and the target's costs.

use std::fmt;

use super::chip::Handle;
use crate::codegen::ascend::dialect::{Form, TileOp};
use crate::ir::DType;
use crate::ops::OpKind;
use crate::target::{Costs, Space, Target};

/// A unit of a core that works on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// Global memory to the core.
    Load,
    /// Between spaces of the core.
    Move,
    Cube,
    Vector,
    /// The core to global memory.
    Store,
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pipe::Load => "load",
            Pipe::Move => "move",
            Pipe::Cube => "cube",
            Pipe::Vector => "vector",
            Pipe::Store => "store",
        })
    }
}

/// Bytes with the times when the last write and the last read of them end.
#[derive(Debug)]
struct Range {
    space: Space,
    begin: i64,
    end: i64,
    written: f64,
    read: f64,
}

/// The time of a block, in cycles from its start.
#[derive(Debug)]
pub(super) struct Clock {
    costs: &'static Costs,
    free: [f64; 5],
    ranges: Vec<Range>,
}

impl Clock {
    pub fn new(target: &'static Target) -> Clock {
        Clock { costs: &target.costs, free: [0.0; 5], ranges: Vec::new() }
    }

    /// When everything so far ends.
    pub fn now(&self) -> f64 {
        self.free.iter().copied().fold(0.0, f64::max)
    }

    /// An operation on tiles; `work` is the bytes of its largest operand or result.
    pub fn tile_op(&mut self, op: TileOp, operands: &[Handle], result: &Handle, work: i64) {
        let (pipe, duration) = compute(self.costs, op, operands, result, work);
        self.run(pipe, duration, operands, Some(result));
    }

    /// A tile to global memory.
    pub fn store(&mut self, tile: &Handle, bytes: i64) {
        self.run(Pipe::Store, drain(self.costs, tile, bytes), &[*tile], None);
    }

    /// The scalar unit waits for a tile.
    pub fn scalar(&mut self, tile: &Handle) {
        let (begin, end) = tile.range();
        let ready = self.overlapping(tile.space, begin, end).map(|r| r.written).fold(0.0, f64::max);
        for free in &mut self.free {
            *free = free.max(ready + self.costs.issue);
        }
    }

    fn overlapping(&self, space: Space, begin: i64, end: i64) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(move |r| r.space == space && r.begin < end && begin < r.end)
    }

    fn run(&mut self, pipe: Pipe, duration: f64, reads: &[Handle], writes: Option<&Handle>) {
        let mut start = self.free[pipe as usize];
        for handle in reads {
            let (begin, end) = handle.range();
            start = self.overlapping(handle.space, begin, end).map(|r| r.written).fold(start, f64::max);
        }
        if let Some(handle) = writes {
            let (begin, end) = handle.range();
            let busy = self.overlapping(handle.space, begin, end).map(|r| r.written.max(r.read));
            start = busy.fold(start, f64::max);
        }
        let done = start + duration;
        self.free[pipe as usize] = done;
        for handle in reads {
            self.note(handle, 0.0, done);
        }
        if let Some(handle) = writes {
            self.note(handle, done, 0.0);
        }
    }

    fn note(&mut self, handle: &Handle, written: f64, read: f64) {
        let ((begin, end), space) = (handle.range(), handle.space);
        let known = self.ranges.iter_mut().find(|r| (r.space, r.begin, r.end) == (space, begin, end));
        match known {
            Some(range) => {
                range.written = range.written.max(written);
                range.read = range.read.max(read);
            }
            None => self.ranges.push(Range { space, begin, end, written, read }),
        }
    }
}

/// The pipe of an operation on tiles, and the cycles that it takes there.
pub(super) fn compute(c: &Costs, op: TileOp, operands: &[Handle], result: &Handle, work: i64) -> (Pipe, f64) {
    let bytes = work as f64;
    let (pipe, duration) = match op.form() {
        Form::Load => (Pipe::Load, c.global_latency + bytes / c.global_bandwidth),
        Form::Product | Form::ProductAcc => {
            let depth = operands.iter().rev().nth(1).map_or(0, |left| left.valid[1]);
            let [rows, cols] = result.valid;
            let passes = match operands.last().map(|o| o.dtype) {
                Some(DType::F32) => c.f32_passes,
                Some(DType::I8) => 0.5,
                _ => 1.0,
            };
            (Pipe::Cube, c.product_head + passes * (rows * cols * depth) as f64 / c.product_rate)
        }
        Form::Move | Form::Extract if result.space == Space::Left => (Pipe::Move, bytes / c.left_bandwidth),
        Form::Move | Form::Extract if result.space == Space::Right => (Pipe::Move, bytes / c.right_bandwidth),
        form => (Pipe::Vector, passes(c, form, op.kind()) * bytes / c.vector_bandwidth),
    };
    (pipe, duration + c.issue)
}

/// How often the vector unit goes over its operands.
fn passes(c: &Costs, form: Form, kind: Option<OpKind>) -> f64 {
    use OpKind::{Div, Exp, Log, Recip, Rem, Rsqrt, Sqrt};
    match (form, kind) {
        (Form::RowReduce | Form::ColReduce, _) => c.vector_reduce_passes,
        (_, Some(Div | Exp | Log | Sqrt | Rsqrt | Recip | Rem)) => c.vector_function_passes,
        _ => 1.0,
    }
}

/// The cycles of a store.
pub(super) fn drain(c: &Costs, tile: &Handle, bytes: i64) -> f64 {
    let bytes = bytes as f64;
    let drain = match tile.space {
        Space::Acc => c.drain_fixed + c.drain_row * tile.valid[0] as f64 + bytes / c.drain_bandwidth,
        _ => 0.0,
    };
    c.issue + drain.max(bytes / c.global_bandwidth)
}
