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
        // No call here has panels.
        let args = [args, &vec![0; self.lowered.panels.len()]].concat();
        harness::call(&self.image, &self.lowered.symbol, &args, (0, iterations), &mut scratch[skip..])
    }
}

/// Seconds of CPU that this thread has used: unlike the clock on the wall it does not count time in which others ran.
pub(super) fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec for the call to fill in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

impl Runnable {
    /// The least CPU time of several calls, in seconds.
    pub fn best(&self, args: &[u64], rounds: usize) -> f64 {
        let mut scratch = Vec::new();
        let times = (0..rounds).map(|_| {
            let start = cpu_seconds();
            self.call(args, &mut scratch);
            cpu_seconds() - start
        });
        times.fold(f64::INFINITY, f64::min)
    }
}
