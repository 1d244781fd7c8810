//! Turns values of the size of whole tensors into loops over blocks.
//!
//! `out.set((a + b).exp())` makes tiles whose extents are those of the tensors. The pass reads each function's top
//! level, and the regions of its control flow, as runs of operations on tiles; a run with a large value is planned
//! ([`plan`]) and written out as parallel loops ([`emit`]). Values that cannot stay within one loop are stored to
//! tensors that the pass allocates. Tiles of modest constant extents are left alone.
//!
//! Requires: calls of inline functions are expanded. Establishes: no tile has a run-time extent, except along a
//! dimension that an operation needs whole.

pub mod blocks;
pub mod emit;
pub mod placement;
pub mod plan;
mod product_blocks;
pub(in crate::passes) mod runs;
mod through_memory;

use crate::ir::{Block, FunctionKind, Program};
use crate::ops::OpKind;
use crate::target::{Space, Target};

/// What the pass knows of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads that share the work.
    pub threads: usize,
    /// Bytes that the temporaries of a block may take: about half of the second-level cache.
    pub block_bytes: i64,
    /// Values of up to this size together, at the top level of a function, are left as they are.
    pub small_bytes: i64,
    /// The largest tile that is left as it is inside of loops.
    pub nested_bytes: i64,
    /// Whether the factors of every block of a matrix product are copied before they are multiplied.
    pub copies_factors: bool,
    /// Whether cheap values from outside of a loop may be made again inside, where tiles that use them are cut.
    pub remakes: bool,
    /// Whether what is reduced along a dimension is cut along another one alone: each block of a row would reduce the whole
    /// row again, and move short pieces of it.
    pub whole_rows: bool,
}

impl Limits {
    /// Limits for a number of threads.
    pub fn for_threads(threads: usize) -> Limits {
        Limits {
            threads: threads.max(1),
            block_bytes: 256 << 10,
            small_bytes: 64 << 10,
            nested_bytes: 1 << 20,
            copies_factors: true,
            remakes: false,
            whole_rows: false,
        }
    }

    /// Limits for an accelerator: the temporaries of a block take part of a vector core's buffer, and there is a block for
    /// every core.
    pub fn for_target(target: &Target) -> Limits {
        let buffer = target.space(Space::Vec).capacity;
        Limits {
            threads: (target.vector_cores / 2).max(1),
            block_bytes: buffer / 5,
            small_bytes: buffer / 5,
            nested_bytes: buffer / 2,
            copies_factors: false,
            remakes: false,
            whole_rows: true,
        }
    }

    /// The same for blocks of a part of the size, also of tiles that a program chose and that use values from outside.
    pub fn shrunk(self, divisor: i64) -> Limits {
        let bytes = (self.block_bytes / divisor).max(1024);
        Limits { block_bytes: bytes, small_bytes: bytes, nested_bytes: bytes, remakes: true, ..self }
    }

    /// Into how many blocks a value is cut at least, where it is large enough: inside of a kernel, blocks only have to fit.
    fn chunks(&self) -> i64 {
        if self.remakes { 1 } else { 2 * self.threads as i64 }
    }
}

/// Tiles every function. A kernel cannot allocate tensors between its loops: one that would have to stays as it is.
pub fn tensor_tiling(program: &mut Program, limits: &Limits) {
    for (index, function) in program.functions.iter_mut().enumerate() {
        if function.kind == FunctionKind::InCore && index != program.entry {
            let mut tiled = function.clone();
            runs::rewrite_function(&mut tiled, limits);
            if !allocates(&tiled.body) {
                *function = tiled;
            }
        } else {
            runs::rewrite_function(function, limits);
        }
    }
}

fn allocates(block: &Block) -> bool {
    block.ops.iter().any(|op| op.kind == OpKind::Alloc || op.regions.iter().any(allocates))
}
