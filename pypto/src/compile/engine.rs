//! What runs kernels on the host.

use crate::codegen::host::cpu::{Target, host_identity};
use crate::config::Platform;

/// What runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Machine code for this CPU.
    Native(Target),
    Interpreter,
}

/// The engine that a platform stands for; the interpreter for platforms that are not the CPU at hand.
pub fn engine(platform: Platform) -> Engine {
    match platform {
        Platform::Host => Engine::Native(Target::host()),
        _ => Engine::Interpreter,
    }
}

impl Engine {
    /// A text that differs wherever the code may differ: the CPU, and the number of threads that work is cut for.
    pub fn identity(self, threads: usize) -> String {
        match self {
            Engine::Native(_) => format!("{} x {threads} on {}", self.machine(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
        }
    }

    /// The instruction set of the code.
    pub fn machine(self) -> &'static str {
        match self {
            Engine::Native(target) => target.isa.name(),
            Engine::Interpreter => "interpreter",
        }
    }
}
