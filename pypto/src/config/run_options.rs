//! What a dispatch may choose.

use serde::{Deserialize, Serialize};

use super::{ConfigError, DfxOptions, ExecutionMode, Platform, RingSizes, RunConfig, ring};

/// Options of calls of a compiled program. What is not set is as the artifact says, or as the environment does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Where it runs; an artifact runs on its own platform alone. Default: the artifact's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Which device. Default: 0, the only one of a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<u32>,
    /// Threads that schedule on an Ascend device: 2 or more. Default: as the artifact says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aicpu_thread_num: Option<u32>,
    /// Task slots of the device's rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_task_window: Option<RingSizes>,
    /// Heap bytes of the device's rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_heap: Option<RingSizes>,
    /// Dependency entries of the device's rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_dep_pool: Option<RingSizes>,
    /// Most threads of one call, the caller included; 0 and 1 run on the calling thread alone, as a simulator always does.
    /// Default: `PYPTO_THREADS`, then what the machine offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Milliseconds that a call may take: pieces of work that would begin later are not begun, and the call fails. A piece
    /// that runs is not interrupted. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// What the dispatch records.
    pub dfx: DfxOptions,
}

impl RunOptions {
    /// Checks what no type can: the values of single options.
    ///
    /// # Errors
    /// The first option with a value that it cannot have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_aicpu_threads("aicpu_thread_num", self.aicpu_thread_num)?;
        check_threads(self.threads)?;
        ring::check_task_window(self.ring_task_window)?;
        ring::check_heap(self.ring_heap)?;
        ring::check_dep_pool(self.ring_dep_pool)
    }

    /// Checks that an artifact for `artifact` can be run so: an option that its platform has no use for is an error, not
    /// ignored.
    ///
    /// # Errors
    /// The first option that means nothing there, or another platform.
    pub fn check_for(&self, artifact: Platform) -> Result<(), ConfigError> {
        self.checked_for(artifact).map(drop)
    }

    /// These options for dispatches of artifacts for `artifact`, checked as by [`RunOptions::check_for`].
    ///
    /// # Errors
    /// As [`RunOptions::check_for`].
    pub fn checked_for(&self, artifact: Platform) -> Result<CheckedRunOptions, ConfigError> {
        self.validate()?;
        if let Some(asked) = self.platform.filter(|asked| *asked != artifact) {
            let fix = format!("compile the program for `{asked}`, or leave `platform` unset");
            return Err(ConfigError::Conflict {
                field: "platform".to_owned(),
                value: format!("`{asked}`"),
                other: "the artifact's platform".to_owned(),
                other_value: format!("`{artifact}`"),
                fix,
            });
        }
        match artifact.execution_mode() {
            None => self.refuse_device_options(artifact, HOST)?,
            Some(ExecutionMode::Simulator) => self.refuse_device_options(artifact, SIMULATOR)?,
            Some(ExecutionMode::Onboard) => {}
        }
        Ok(CheckedRunOptions { options: *self, platform: artifact })
    }

    /// Refuses what only a device has.
    fn refuse_device_options(&self, artifact: Platform, advice: Advice) -> Result<(), ConfigError> {
        if let Some(device) = self.device_id.filter(|device| *device != 0) {
            return Err(ConfigError::not_on("device_id", device, artifact, advice.device));
        }
        if let Some(threads) = self.aicpu_thread_num {
            return Err(ConfigError::not_on("aicpu_thread_num", threads, artifact, advice.schedulers));
        }
        let rings = [
            ("ring_task_window", self.ring_task_window),
            ("ring_heap", self.ring_heap),
            ("ring_dep_pool", self.ring_dep_pool),
        ];
        match rings.into_iter().find_map(|(field, sizes)| Some((field, sizes?))) {
            Some((field, sizes)) => Err(ConfigError::not_on(field, sizes, artifact, advice.rings)),
            None => Ok(()),
        }
    }
}

/// What to do instead where there is no device.
#[derive(Clone, Copy)]
struct Advice {
    device: &'static str,
    schedulers: &'static str,
    rings: &'static str,
}

const HOST: Advice = Advice {
    device: "the host is device 0",
    schedulers: "set `threads`",
    rings: "the host has no rings; leave it unset",
};

const SIMULATOR: Advice = Advice {
    device: "the simulator is device 0",
    schedulers: "the simulator dispatches at the cost that its target has; leave it unset",
    rings: "the simulator keeps every task of a call, without rings; leave it unset",
};

/// Options of a dispatch on one platform, which honours every one of them. Made by [`RunOptions::checked_for`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedRunOptions {
    options: RunOptions,
    platform: Platform,
}

impl CheckedRunOptions {
    /// The options.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// The platform that they were checked for.
    pub fn platform(&self) -> Platform {
        self.platform
    }
}

impl From<&RunConfig> for RunOptions {
    fn from(config: &RunConfig) -> RunOptions {
        config.run_options()
    }
}

pub(super) fn check_aicpu_threads(field: &str, threads: Option<u32>) -> Result<(), ConfigError> {
    match threads {
        Some(threads) if threads < 2 => {
            Err(ConfigError::value(field, threads, "2 or more; leave it unset for the default"))
        }
        _ => Ok(()),
    }
}

/// More threads than this are never used.
pub(super) const MAX_THREADS: usize = 256;

pub(super) fn check_threads(threads: Option<usize>) -> Result<(), ConfigError> {
    match threads {
        Some(threads) if threads > MAX_THREADS => {
            Err(ConfigError::value("threads", threads, format!("at most {MAX_THREADS}")))
        }
        _ => Ok(()),
    }
}
