//! Lowers, compiles and calls a kernel.

use super::super::{LoweredKernel, lower};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::harness;
use crate::codegen::host::lir::{print_module, verify};
use crate::codegen::host::loader::Image;
use crate::ir::Function;

/// A kernel that can be called.
pub(super) struct Runnable {
    pub lowered: LoweredKernel,
    pub image: Image,
}

pub(super) fn prepare_for(function: &Function, target: Target) -> Runnable {
    let lowered = lower(function, target).unwrap_or_else(|e| panic!("{e:?}"));
    verify(&lowered.module).unwrap_or_else(|e| panic!("{e}\n{}", print_module(&lowered.module)));
    let image = harness::load(&lowered.module);
    Runnable { lowered, image }
}

pub(super) fn prepare(function: &Function) -> Runnable {
    prepare_for(function, Target::host())
}

impl Runnable {
    /// Runs all iterations; gives the status word.
    pub fn call(&self, args: &[u64], scratch: &mut Vec<u64>) -> u32 {
        let words: Vec<i64> = args.iter().map(|&w| w as i64).collect();
        let bytes = self.lowered.scratch_bytes.eval(&words) as usize;
        scratch.resize(bytes / 8 + 8, u64::MAX / 3);
        let skip = scratch.as_ptr().align_offset(64);
        let iterations = self.lowered.iterations.eval(&words);
        harness::call(&self.image, &self.lowered.symbol, args, (0, iterations), &mut scratch[skip..])
    }
}
