//! Sizes of the rings of an Ascend device's run time.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// One size for all rings, or one for each of the four; 0 in a list keeps that ring's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RingSizes {
    All(u64),
    Each([u64; 4]),
}

impl RingSizes {
    /// The size of each ring; 0 keeps the default.
    pub fn sizes(self) -> [u64; 4] {
        match self {
            RingSizes::All(size) => [size; 4],
            RingSizes::Each(sizes) => sizes,
        }
    }
}

impl From<u64> for RingSizes {
    fn from(size: u64) -> RingSizes {
        RingSizes::All(size)
    }
}

impl From<[u64; 4]> for RingSizes {
    fn from(sizes: [u64; 4]) -> RingSizes {
        RingSizes::Each(sizes)
    }
}

impl std::fmt::Display for RingSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RingSizes::All(size) => write!(f, "{size}"),
            RingSizes::Each(sizes) => write!(f, "{sizes:?}"),
        }
    }
}

/// Task slots: a power of two, 4 or more.
pub(super) fn check_task_window(sizes: Option<RingSizes>) -> Result<(), ConfigError> {
    let allowed = "a power of two, 4 or more";
    check("ring_task_window", sizes, allowed, |n| n >= 4 && n.is_power_of_two())
}

/// Heap bytes: a power of two, 1024 or more.
pub(super) fn check_heap(sizes: Option<RingSizes>) -> Result<(), ConfigError> {
    let allowed = "a power of two, 1024 or more";
    check("ring_heap", sizes, allowed, |n| n >= 1024 && n.is_power_of_two())
}

/// Entries of the dependency pool: from 4 to 2147483647.
pub(super) fn check_dep_pool(sizes: Option<RingSizes>) -> Result<(), ConfigError> {
    check("ring_dep_pool", sizes, "a number from 4 to 2147483647", |n| (4..=i32::MAX as u64).contains(&n))
}

fn check(field: &str, sizes: Option<RingSizes>, allowed: &str, fits: impl Fn(u64) -> bool) -> Result<(), ConfigError> {
    let legal = match sizes {
        None => true,
        Some(RingSizes::All(size)) => fits(size),
        Some(RingSizes::Each(sizes)) => sizes.iter().all(|size| *size == 0 || fits(*size)),
    };
    match sizes {
        Some(sizes) if !legal => {
            let allowed = format!("{allowed}; in a list of four, 0 keeps a ring's default");
            Err(ConfigError::value(field, sizes, allowed))
        }
        _ => Ok(()),
    }
}
