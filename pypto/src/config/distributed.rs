//! The configuration of programs that run over several ranks.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Devices and helpers of a distributed program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DistributedConfig {
    /// One rank a device; distinct. Default: `[0]`.
    pub device_ids: Vec<u32>,
    /// Workers that run host callbacks beside the ranks.
    pub num_sub_workers: u32,
    /// Threads that schedule on each device: 2 or more. Default: as the artifact says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aicpu_thread_num: Option<u32>,
}

impl Default for DistributedConfig {
    fn default() -> DistributedConfig {
        DistributedConfig { device_ids: vec![0], num_sub_workers: 0, aicpu_thread_num: None }
    }
}

impl DistributedConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// No device, a device that is named twice, a number of threads below 2.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let repeated = (1..self.device_ids.len()).find(|i| self.device_ids[..*i].contains(&self.device_ids[*i]));
        if self.device_ids.is_empty() || repeated.is_some() {
            let value = format!("{:?}", self.device_ids);
            return Err(ConfigError::value(
                "distributed_config.device_ids",
                value,
                "one or more devices, each named once",
            ));
        }
        super::run_options::check_aicpu_threads("distributed_config.aicpu_thread_num", self.aicpu_thread_num)
    }
}
