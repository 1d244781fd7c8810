//! Kernels as a user of Rust writes them first: every construct and idiom that code of models uses often. Each runs eagerly, interpreted
//! and compiled, with equal bits.

#![allow(
    clippy::all,
    unused_variables,
    unused_must_use,
    dead_code,
    reason = "kernels are written in every form that Rust has"
)]

#[path = "../kernels/every_way.rs"]
mod every_way;

mod constants;
mod control;
mod directives;
mod functions;
mod models;
mod scalars;
mod tensors;
mod values;

use pypto::prelude::*;

/// Runs a kernel each way, and by a call; notes what goes wrong.
macro_rules! check {
    ($failures:ident, $kernel:expr, [$($input:expr),* $(,)?], $($out:ident = $init:expr),+) => {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            $kernel.lower(&($($input,)* $(&$init,)+)).unwrap_or_else(|e| panic!("{e}"));
            crate::every_way::outputs!($kernel, [$($input),*], $($out = $init),+);
            $(let mut $out = $init;)+
            ($kernel)($($input,)* $(&mut $out,)+).unwrap_or_else(|e| panic!("{e}"));
        }));
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
            $failures.push(format!("{}: {text}", stringify!($kernel)));
        }
    };
}
pub(crate) use check;

fn finish(failures: Vec<String>) {
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Numbers in [-1, 1).
fn f<const R: usize>(salt: u32, shape: [i64; R]) -> Tensor<f32, R> {
    let mut state = salt.wrapping_mul(747_796_405).wrapping_add(1);
    Tensor::from_fn(shape, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

fn z<const R: usize>(shape: [i64; R]) -> Tensor<f32, R> {
    Tensor::zeros(shape)
}
