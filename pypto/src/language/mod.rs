//! What kernel authors name: tensors, tiles, element types and loops, all with bodies that run as plain Rust.
//!
//! The verbatim body of a kernel runs on these types (*eager*); the front end gives the same names their meaning in the
//! IR. Operations are computed by [`crate::ops::reference`], the semantics that every engine shares.

pub mod argument;
pub(crate) mod arity;
pub mod at;
pub mod directives;
pub mod dynamic;
pub mod extent;
pub mod intrinsics;
pub mod loops;
pub mod operand;
pub mod tensor;
#[cfg(test)]
mod tests;
pub mod tile;
pub(crate) mod weights;

pub use crate::ir::Round;
pub use crate::ops::reference::Element;
pub use argument::{Argument, ArgumentList, CallArguments, KernelArgument, KernelArguments};
pub use at::{At, Place};
pub use dynamic::DynamicTensor;
pub use half::{bf16, f16};
pub use operand::{Operand, TileValue};
pub use tensor::{Tensor, TensorError, View, ViewMut};
pub use tile::{Tile, scope};
