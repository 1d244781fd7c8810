//! Kernels that the interpreter runs: where there is no LLVM, and as the reference.

use std::sync::Arc;

use super::kernel::{Failure, Interpreted};
use crate::artifact::Site;
use crate::config::environment::Environment;
use crate::ir::Program;
use crate::ir::interpreter::{Options, run_reporting};
use crate::ir::report::Report;

/// As `PYPTO_CHECK` says.
fn options() -> Options {
    Options { nan: Environment::process_or_default().check_nan, ..Options::default() }
}

/// A kernel of a program, for the interpreter.
struct InterpretedKernel {
    program: Arc<Program>,
    function: usize,
}

/// The function of that name as a kernel; `None` where the program has no such function.
pub fn interpreted(program: &Arc<Program>, name: &str) -> Option<Box<dyn Interpreted>> {
    let function = program.functions.iter().position(|f| f.name == name)?;
    Some(Box::new(InterpretedKernel { program: program.clone(), function }))
}

impl Interpreted for InterpretedKernel {
    unsafe fn run(&self, words: &[u64], reports: &mut Vec<Report>) -> Result<(), Failure> {
        // SAFETY: the caller's promise about the words.
        unsafe { run_reporting(&self.program, self.function, words, options(), reports) }.map_err(|error| {
            Failure::Stopped(Site { loc: error.loc, message: error.kind.to_string(), values: Vec::new() })
        })
    }
}
