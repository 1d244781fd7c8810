//! Room on the stack for code generation. It follows operands from results, so its depth is that of the longest chain of
//! operations; a kernel with thousands of them is compiled on a thread of its own, whatever the caller's stack is.

use std::panic::resume_unwind;

use crate::ir::{Block, Function};

/// Kernels with fewer operations fit on any thread.
const FEW: usize = 256;
/// What an operation may take in a build without optimization. Only what is used becomes memory.
const BYTES_OF_OPERATION: usize = 16 << 10;

/// Runs `f`, which compiles a kernel, with room for it.
pub(super) fn with_room<R: Send>(kernel: &Function, f: impl FnOnce() -> R + Send) -> R {
    let operations = count(&kernel.body);
    if operations < FEW {
        return f();
    }
    let (mut once, mut outcome) = (Some(f), None);
    let mut work = || outcome = once.take().map(|f| f());
    let stack = (4 << 20) + operations.saturating_mul(BYTES_OF_OPERATION);
    let work_here = &mut work;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("pypto-compile".to_owned()).stack_size(stack);
        if let Ok(thread) = thread.spawn_scoped(scope, work_here)
            && let Err(panic) = thread.join()
        {
            resume_unwind(panic);
        }
    });
    if let Some(result) = outcome {
        return result;
    }
    // The system gave no thread.
    match once {
        Some(f) => f(),
        None => unreachable!("the thread has run what it took"),
    }
}

/// Operations of a block, those of regions within them included.
fn count(block: &Block) -> usize {
    block.ops.iter().map(|op| 1 + op.regions.iter().map(count).sum::<usize>()).sum()
}
