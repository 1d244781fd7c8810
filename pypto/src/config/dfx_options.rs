//! Diagnostics of a dispatch: what is recorded while it runs.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How much the trace of task execution records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
#[repr(u8)]
pub enum SwimlaneLevel {
    #[default]
    Off = 0,
    /// When each task ran, and where.
    Tasks = 1,
    /// Also when it became ready and when it was picked up.
    Dispatch = 2,
    /// Also what the scheduler did.
    Scheduler = 3,
    /// Also what the orchestration did.
    Full = 4,
}

impl TryFrom<i64> for SwimlaneLevel {
    type Error = ConfigError;

    fn try_from(level: i64) -> Result<SwimlaneLevel, ConfigError> {
        use SwimlaneLevel::{Dispatch, Full, Off, Scheduler, Tasks};
        let levels = [Off, Tasks, Dispatch, Scheduler, Full];
        let known = usize::try_from(level).ok().and_then(|level| levels.get(level).copied());
        known.ok_or_else(|| ConfigError::value("enable_chip_swimlane", level, "a level from 0 (off) to 4 (everything)"))
    }
}

impl From<SwimlaneLevel> for i64 {
    fn from(level: SwimlaneLevel) -> i64 {
        level as i64
    }
}

impl From<bool> for SwimlaneLevel {
    /// Everything, or nothing.
    fn from(on: bool) -> SwimlaneLevel {
        if on { SwimlaneLevel::Full } else { SwimlaneLevel::Off }
    }
}

/// Which arguments of tasks are written to files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
#[repr(u8)]
pub enum ArgumentDump {
    #[default]
    Off = 0,
    /// Those of the call; on Ascend, those that the kernel marks.
    Marked = 1,
    /// All.
    All = 2,
}

impl TryFrom<i64> for ArgumentDump {
    type Error = ConfigError;

    fn try_from(level: i64) -> Result<ArgumentDump, ConfigError> {
        match level {
            0 => Ok(ArgumentDump::Off),
            1 => Ok(ArgumentDump::Marked),
            2 => Ok(ArgumentDump::All),
            _ => Err(ConfigError::value("enable_dump_args", level, "0 (off), 1 (marked arguments) or 2 (all)")),
        }
    }
}

impl From<ArgumentDump> for i64 {
    fn from(level: ArgumentDump) -> i64 {
        level as i64
    }
}

/// Which hardware counters are read while tasks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
#[repr(u8)]
pub enum PmuEvent {
    #[default]
    Off = 0,
    /// Cycles and instructions.
    PipeUtilization = 1,
    /// Instructions by kind.
    ArithmeticUtilization = 2,
    /// Memory traffic.
    Memory = 4,
    /// Cache references and misses.
    Cache = 5,
}

impl PmuEvent {
    /// Every value, in ascending order.
    pub const ALL: [PmuEvent; 5] =
        [PmuEvent::Off, PmuEvent::PipeUtilization, PmuEvent::ArithmeticUtilization, PmuEvent::Memory, PmuEvent::Cache];
}

impl TryFrom<i64> for PmuEvent {
    type Error = ConfigError;

    fn try_from(event: i64) -> Result<PmuEvent, ConfigError> {
        let known = PmuEvent::ALL.into_iter().find(|known| i64::from(*known) == event);
        known.ok_or_else(|| {
            let allowed = "0 (off), 1 (pipe utilization), 2 (arithmetic utilization), 4 (memory) or 5 (cache)";
            ConfigError::value("enable_pmu", event, allowed)
        })
    }
}

impl From<PmuEvent> for i64 {
    fn from(event: PmuEvent) -> i64 {
        event as i64
    }
}

/// What a dispatch records. Everything is off by default, and a field that is not set asks for nothing.
///
/// ```
/// use pypto::config::{DfxOptions, SwimlaneLevel};
/// let dfx = DfxOptions { enable_chip_swimlane: Some(SwimlaneLevel::Full), ..DfxOptions::default() };
/// assert!(dfx.any());
/// assert!(!DfxOptions::default().any());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DfxOptions {
    /// A trace of tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_chip_swimlane: Option<SwimlaneLevel>,
    /// Arguments of tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_dump_args: Option<ArgumentDump>,
    /// Hardware counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_pmu: Option<PmuEvent>,
    /// The graph of dependencies between tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_dep_gen: Option<bool>,
    /// Memory and tasks of scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_scope_stats: Option<bool>,
}

impl DfxOptions {
    /// Whether anything is to be recorded.
    pub fn any(&self) -> bool {
        self.enable_chip_swimlane.unwrap_or_default() != SwimlaneLevel::Off
            || self.enable_dump_args.unwrap_or_default() != ArgumentDump::Off
            || self.enable_pmu.unwrap_or_default() != PmuEvent::Off
            || self.enable_dep_gen == Some(true)
            || self.enable_scope_stats == Some(true)
    }
}
