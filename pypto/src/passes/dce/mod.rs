//! Dead code: removes operations whose results nothing uses and that do nothing else, carried variables that only feed
//! themselves, and results of branches that nothing uses. Uses in the types of live values count.
//!
//! Marks what is live, starting from writes, calls, checks and the function's results, then sweeps the rest. Afterwards
//! the function's values are in canonical order.

mod live;
#[cfg(test)]
mod tests;

use live::{Live, liveness};

use crate::diagnostics::Diagnostics;
use crate::ir::text::canonicalize_function;
use crate::ir::{Block, Op, Program, ValueId};
use crate::ops::OpKind;

/// Runs on every function.
pub fn run(program: &mut Program) -> Result<(), Diagnostics> {
    for function in &mut program.functions {
        let live = liveness(function);
        let mut next = 0;
        sweep(&mut function.body, &live, &mut next);
        canonicalize_function(function);
    }
    Ok(())
}

/// Removes what is not live; `next` counts operations as the marking did.
fn sweep(block: &mut Block, live: &Live, next: &mut usize) {
    block.ops.retain_mut(|op| {
        let stays = live.ops[*next];
        *next += 1;
        for region in &mut op.regions {
            sweep(region, live, next);
        }
        if stays {
            trim(op, live);
        }
        stays
    });
}

/// Removes dead carried variables and results.
fn trim(op: &mut Op, live: &Live) {
    match op.kind {
        OpKind::For => {
            let keep = flags(&op.regions[0].args[1..], live);
            keep_tail(&mut op.operands, 3, &keep);
            keep_tail(&mut op.regions[0].args, 1, &keep);
            keep_tail(&mut op.regions[0].yields, 0, &keep);
            keep_tail(&mut op.results, 0, &keep);
        }
        OpKind::If => {
            let keep = flags(&op.results, live);
            keep_tail(&mut op.results, 0, &keep);
            op.regions.iter_mut().for_each(|region| keep_tail(&mut region.yields, 0, &keep));
        }
        OpKind::While => {
            let entering = flags(&op.regions[0].args, live);
            let passed = flags(&op.regions[1].args, live);
            keep_tail(&mut op.operands, 0, &entering);
            keep_tail(&mut op.regions[0].args, 0, &entering);
            keep_tail(&mut op.regions[1].yields, 0, &entering);
            keep_tail(&mut op.regions[0].yields, 1, &passed);
            keep_tail(&mut op.regions[1].args, 0, &passed);
            keep_tail(&mut op.results, 0, &passed);
        }
        _ => {}
    }
}

fn flags(values: &[ValueId], live: &Live) -> Vec<bool> {
    values.iter().map(|v| live.values[v.0 as usize]).collect()
}

/// Keeps the first `head` values, and of the others those with a flag.
fn keep_tail(values: &mut Vec<ValueId>, head: usize, keep: &[bool]) {
    let mut index = 0;
    values.retain(|_| {
        let kept = index < head || keep.get(index - head).copied().unwrap_or(true);
        index += 1;
        kept
    });
}
