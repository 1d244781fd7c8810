//! From the IR to code: `host` for the CPU at hand.

pub mod ascend;
pub mod host;
