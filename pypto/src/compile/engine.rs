//! What runs kernels on the host.

use crate::codegen::ascend::target_of;
use crate::codegen::host::cpu::{Target, host_identity};
use crate::config::Platform;
use crate::target as accelerator;

/// What runs kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Engine {
    /// Machine code for this CPU.
    Native(Target),
    Interpreter,
    /// Code for an accelerator.
    Accelerator(&'static accelerator::Target),
}

/// The engine that a platform stands for.
pub fn engine(platform: Platform) -> Engine {
    match platform {
        Platform::Host => Engine::Native(Target::host()),
        _ => match platform.backend_type() {
            Some(arch) => Engine::Accelerator(target_of(arch)),
            None => Engine::Interpreter,
        },
    }
}

impl Engine {
    /// A text that differs wherever the code may differ: the CPU, and the number of threads that work is cut for.
    pub fn identity(self, threads: usize) -> String {
        match self {
            Engine::Native(target) => format!("{} x {threads} on {}", target.isa.name(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
            Engine::Accelerator(target) => target.name.to_owned(),
        }
    }

    /// The machines that the code runs on.
    pub fn machine(self) -> String {
        match self {
            Engine::Native(target) => format!("{} on {}", target.isa.name(), host_identity()),
            Engine::Interpreter => "interpreter".to_owned(),
            Engine::Accelerator(target) => target.product.to_owned(),
        }
    }
}
