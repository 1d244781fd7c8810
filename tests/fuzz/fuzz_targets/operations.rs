//! Programs of random operations: compiled code writes what the interpreter writes. The stable driver is in the included file.

#![no_main]
#![allow(dead_code, unused_imports, reason = "the modules serve tests that are not here")]

use libfuzzer_sys::fuzz_target;
use pypto::ops::{Class, OpKind};

#[path = "../../tests/ops_differential/compare.rs"]
mod compare;
#[path = "../../tests/ops_differential/data.rs"]
mod data;
#[path = "../../tests/ops_differential/random.rs"]
mod random;
#[path = "../../tests/ops_differential/session.rs"]
mod session;

/// Extents of the tensors, as in the tests.
const EXTENTS: [[i64; 2]; 8] = [[0, 5], [6, 0], [1, 1], [1, 33], [7, 1], [3, 31], [5, 32], [13, 67]];

fuzz_target!(|bytes: &[u8]| {
    let failures = random::failures_of(bytes);
    assert!(failures.is_empty(), "{failures:#?}");
});
