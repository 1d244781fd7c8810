//! Kernels that models are made of, written in the language itself: there is nothing here that a user of the crate could
//! not write. Most work on tensors of any float type, compute in f32 and round once at the end; batch and sequence
//! extents are dynamic, so one artifact serves all of them.
//!
//! Functions on tiles, to be called in kernels of one's own, are in [`inline`]; the kernels here are made of them.
//!
//! ```
//! use pypto::prelude::*;
//!
//! let x = Tensor::from_vec(vec![0.0f32, 0.0, 1.0, 1.0], [2, 2]);
//! let mut y = Tensor::zeros([2, 2]);
//! pypto::kernels::softmax(&x, &mut y)?;
//! assert_eq!(y.to_vec(), [0.5; 4]);
//! # Ok::<(), pypto::Error>(())
//! ```

// A kernel and the companion type of its name are exported together.
mod activation;
mod decode;
pub mod inline;
mod loss;
mod normalization;
mod probabilities;
mod quantized_linear;
mod rotation;
mod routing;
mod streamed_attention;

pub use activation::{gelu, gelu_tanh, silu, swiglu};
pub use decode::attention_decode;
pub use loss::cross_entropy;
pub use normalization::{layer_norm, rms_norm};
pub use probabilities::{log_softmax, softmax};
pub use quantized_linear::{mx_linear, mx_quantize, quantize_rows, w8a8_linear};
pub use rotation::rope;
pub use routing::moe_gate;
pub use streamed_attention::{attention, paged_attention};
