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
            Engine::Native(target) => format!("{} x {threads} on {}", target.isa.name(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
        }
    }

    /// The machines that the code runs on.
    pub fn machine(self) -> String {
        match self {
            Engine::Native(target) => format!("{} on {}", target.isa.name(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
        }
    }
}
