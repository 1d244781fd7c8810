//! What a kernel call hands to the run time: one [`Argument`] for each parameter, without allocation.

use std::marker::PhantomData;

use crate::ir::DType;

pub use crate::ops::reference::MAX_RANK;

/// A tensor argument: its layout, and its memory for as long as `'a`.
#[derive(Clone, Copy, Debug)]
pub struct TensorArgument<'a> {
    pub dtype: DType,
    pub rank: usize,
    /// Extents; entries from `rank` on are 1.
    pub dims: [i64; MAX_RANK],
    /// Strides in elements; entries from `rank` on are 0.
    pub strides: [i64; MAX_RANK],
    /// First element; dangling for tensors without elements, null for meta tensors (shape only).
    pub data: *mut u8,
    /// Whether the callee may write.
    pub mutable: bool,
    pub lifetime: PhantomData<&'a mut u8>,
}

impl TensorArgument<'_> {
    /// The extents that count.
    pub fn dims(&self) -> &[i64] {
        &self.dims[..self.rank]
    }

    /// The strides that count.
    pub fn strides(&self) -> &[i64] {
        &self.strides[..self.rank]
    }
}

/// A scalar argument: its type and its bits, zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarArgument {
    pub dtype: DType,
    pub bits: u64,
}

/// One argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    Tensor(TensorArgument<'a>),
    Scalar(ScalarArgument),
}

/// Types that a kernel takes: `&Tensor`, `&mut Tensor` and scalars.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    note = "kernels take `&Tensor<T, R>`, `&mut Tensor<T, R>` and scalars (bool, i8..i64, u8..u32, f16, bf16, f32)"
)]
pub trait KernelArgument {
    /// The argument as data; `Self` stays borrowed for as long as the result lives.
    fn argument(&mut self) -> Argument<'_>;
}
