//! Where code runs: the CPU at hand, or an Ascend architecture on a device or in a simulator.

use super::words::word_enum;

word_enum! {
    /// The architecture that code is generated for.
    pub enum BackendType as "arch" {
        /// Ascend 910B and 910C: tokens `a2a3`, `a2a3sim`.
        Ascend910B = "ascend910b",
        /// Ascend 950: tokens `a5`, `a5sim`.
        Ascend950 = "ascend950",
    }
}

word_enum! {
    /// Whether an Ascend program runs on a device or in a simulator.
    pub enum ExecutionMode as "execution_mode" {
        /// Simulated on the CPU.
        Simulator = "simulator",
        /// On the device.
        Onboard = "onboard",
    }
}

word_enum! {
    /// What runs the code, as one token. For Ascend it says two things, which [`Platform::backend_type`] and
    /// [`Platform::execution_mode`] tell apart: compilation looks at the first alone.
    ///
    /// ```
    /// use pypto::config::{BackendType, ExecutionMode, Platform};
    /// assert_eq!(Platform::ascend(BackendType::Ascend950, ExecutionMode::Onboard).to_string(), "a5");
    /// assert_eq!("a2a3sim".parse::<Platform>()?.backend_type(), Some(BackendType::Ascend910B));
    /// # Ok::<(), pypto::config::ConfigError>(())
    /// ```
    #[non_exhaustive]
    pub enum Platform as "platform" {
        /// The CPU at hand: machine code, or the interpreter where there is no libLLVM.
        Host = "host",
        /// The interpreter, on the CPU at hand.
        Interpreter = "interpreter",
        A2a3 = "a2a3",
        A2a3Sim = "a2a3sim",
        A5 = "a5",
        A5Sim = "a5sim",
    }
}

impl Platform {
    /// The platform of an Ascend architecture and a mode.
    pub const fn ascend(arch: BackendType, mode: ExecutionMode) -> Platform {
        match (arch, mode) {
            (BackendType::Ascend910B, ExecutionMode::Onboard) => Platform::A2a3,
            (BackendType::Ascend910B, ExecutionMode::Simulator) => Platform::A2a3Sim,
            (BackendType::Ascend950, ExecutionMode::Onboard) => Platform::A5,
            (BackendType::Ascend950, ExecutionMode::Simulator) => Platform::A5Sim,
        }
    }

    /// The Ascend architecture; `None` for the CPU at hand.
    pub const fn backend_type(self) -> Option<BackendType> {
        match self {
            Platform::Host | Platform::Interpreter => None,
            Platform::A2a3 | Platform::A2a3Sim => Some(BackendType::Ascend910B),
            Platform::A5 | Platform::A5Sim => Some(BackendType::Ascend950),
        }
    }

    /// Device or simulator; `None` for the CPU at hand.
    pub const fn execution_mode(self) -> Option<ExecutionMode> {
        match self {
            Platform::Host | Platform::Interpreter => None,
            Platform::A2a3 | Platform::A5 => Some(ExecutionMode::Onboard),
            Platform::A2a3Sim | Platform::A5Sim => Some(ExecutionMode::Simulator),
        }
    }

    /// Whether it is the CPU at hand.
    pub const fn is_host(self) -> bool {
        matches!(self, Platform::Host | Platform::Interpreter)
    }
}
