//! How tests go through seeds: `PYPTO_RANDOM_KERNELS` sets how many a run tries, `PYPTO_RANDOM_SEED` the first.

use super::memory::{Buffer, Dice};
use crate::ir::DType;

/// Contents for the parameters of a random kernel: element type, extents, and whether they are written.
pub fn fill(buffers: &[(DType, Vec<i64>, bool)], seed: u64) -> Vec<Buffer> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    buffers
        .iter()
        .map(|(dtype, dims, _)| Buffer::random(*dtype, dims.iter().product::<i64>() as usize, &mut dice))
        .collect()
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Checks one seed after the other, each to the end; gives how many there were, and the sum of what the checks count.
///
/// # Panics
/// After the last seed, where a check failed or panicked.
pub fn each_seed(default: u64, check: impl Fn(u64) -> Result<u64, String> + std::panic::RefUnwindSafe) -> (u64, u64) {
    let (first, count) = (from_env("PYPTO_RANDOM_SEED", 1), from_env("PYPTO_RANDOM_KERNELS", default));
    let (mut done, mut failures) = (0, Vec::new());
    for seed in first..first + count {
        match std::panic::catch_unwind(|| check(seed)) {
            Ok(Ok(ran)) => done += ran,
            Ok(Err(text)) => failures.push(text),
            Err(_) => failures.push(format!("seed {seed}: panic")),
        }
    }
    let summary: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(failures.is_empty(), "{} of {count} fail: {summary:#?}\n{}", failures.len(), failures[0]);
    (count, done)
}
