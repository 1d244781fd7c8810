//! What a kernel call hands to the run time: one [`Argument`] for each parameter, without allocation. A struct is as many
//! arguments as it has fields.

use std::marker::PhantomData;

use super::arity::for_each_arity;
use super::weights::Weights;
use crate::ir::DType;

pub use crate::ops::reference::MAX_RANK;

/// A tensor argument: its layout, and its memory for as long as `'a`.
///
/// Only what holds the memory makes one ([`KernelArgument`]), or `unsafe` code: a call trusts the address.
#[derive(Clone, Copy, Debug)]
pub struct TensorArgument<'a> {
    pub(crate) dtype: DType,
    pub(crate) rank: usize,
    /// Extents; entries from `rank` on are 1.
    pub(crate) dims: [i64; MAX_RANK],
    /// Strides in elements; entries from `rank` on are 0.
    pub(crate) strides: [i64; MAX_RANK],
    /// First element; dangling for tensors without elements, null for meta tensors (shape only).
    pub(crate) data: *mut u8,
    /// Whether the callee may write.
    pub(crate) mutable: bool,
    /// The worker that the memory belongs to; `None` for memory of the host program.
    pub(crate) worker: Option<std::num::NonZeroU64>,
    /// What products keep of it; `None` for tensors that are written, or of which nothing is kept.
    pub(crate) weights: Option<&'a Weights>,
    pub(crate) lifetime: PhantomData<&'a mut u8>,
}

impl<'a> TensorArgument<'a> {
    /// Memory of someone else's. At most [`MAX_RANK`] dimensions count; strides are in elements.
    ///
    /// # Safety
    /// For `'a`, `data` is the first element of memory that holds such a tensor, aligned for its element type; nobody else
    /// writes it, and where `mutable`, nobody else touches it.
    pub unsafe fn new(dtype: DType, dims: &[i64], strides: &[i64], data: *mut u8, mutable: bool) -> TensorArgument<'a> {
        let rank = dims.len().min(MAX_RANK);
        let mut argument = TensorArgument {
            dtype,
            rank,
            dims: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            data,
            mutable,
            worker: None,
            weights: None,
            lifetime: PhantomData,
        };
        argument.dims.iter_mut().zip(dims).for_each(|(to, from)| *to = *from);
        argument.strides.iter_mut().zip(strides).for_each(|(to, from)| *to = *from);
        argument
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> &[i64] {
        &self.dims[..self.rank]
    }

    /// The strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides[..self.rank]
    }

    /// Address of the first element; null for meta tensors.
    pub fn data(&self) -> *mut u8 {
        self.data
    }

    /// Whether the callee may write.
    pub fn is_mutable(&self) -> bool {
        self.mutable
    }

    /// Row-major without gaps; strides of extents below 2 do not count.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1i64;
        for (extent, stride) in self.dims().iter().zip(self.strides()).rev() {
            if *extent > 1 && *stride != expected {
                return self.dims().contains(&0);
            }
            expected = expected.wrapping_mul((*extent).max(1));
        }
        true
    }

    /// Whether two contiguous tensors share bytes.
    pub fn overlaps(&self, other: &TensorArgument<'_>) -> bool {
        let range = |t: &TensorArgument<'_>| {
            let elements: i64 = t.dims().iter().product();
            let start = t.data as usize;
            (start, start + elements as usize * t.dtype.size())
        };
        let ((a0, a1), (b0, b1)) = (range(self), range(other));
        a0 < b1 && b0 < a1 && a0 != a1 && b0 != b1
    }
}

/// Size in bytes, if the extents are not negative and the size fits into an `isize`.
pub fn byte_size(dims: &[i64], dtype: DType) -> Option<usize> {
    if dims.iter().any(|d| *d < 0) {
        return None;
    }
    // Zero extents do not excuse the others: offsets are computed from them.
    let product = dims.iter().filter(|d| **d != 0).try_fold(dtype.size() as i64, |size, d| size.checked_mul(*d))?;
    let size = isize::try_from(product).ok()? as usize;
    Some(if dims.contains(&0) { 0 } else { size })
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

/// The arguments of a call, on the stack where there are not many.
pub type ArgumentList<'a> = smallvec::SmallVec<[Argument<'a>; 24]>;

/// Types that a kernel takes as one parameter: those of [`KernelArgument`], and structs that derive `pypto::Args`, or
/// references to them.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    note = "kernels take `&Tensor<T, R>`, `&mut Tensor<T, R>`, scalars, and structs of these with `#[derive(pypto::Args)]`",
    note = "a struct that owns its tensors is passed by reference"
)]
pub trait KernelArguments<'a> {
    /// Appends the argument, or those of a struct's fields.
    fn append(self, list: &mut ArgumentList<'a>);
}

/// Types that are one argument: `&Tensor`, `&mut Tensor` and scalars.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    note = "kernels take `&Tensor<T, R>`, `&mut Tensor<T, R>` and scalars (bool, i8..i64, u8..u32, f16, bf16, f32)"
)]
pub trait KernelArgument {
    /// The argument as data; `Self` stays borrowed for as long as the result lives.
    fn argument(&mut self) -> Argument<'_>;
}

/// The arguments of a call: a tuple of tensors, scalars, and structs of them, or a list whose length is known at run time only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the argument list of a kernel",
    note = "give a tuple of up to 24 entries, each `&Tensor`, `&mut Tensor`, a scalar, or a struct that derives \
            `pypto::Args`: `compiled.call((&x, &mut y))`"
)]
pub trait CallArguments {
    /// Calls `f` with the arguments as data.
    fn with<R>(self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R;
}

impl CallArguments for Vec<Argument<'_>> {
    fn with<R>(mut self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R {
        f(&mut self)
    }
}

impl CallArguments for &[Argument<'_>] {
    fn with<R>(self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R {
        f(&mut self.to_vec())
    }
}

macro_rules! call_arguments {
    ($($name:ident),*) => {
        impl<'a, $($name: KernelArguments<'a>),*> CallArguments for ($($name,)*) {
            #[allow(non_snake_case, unused_mut)]
            fn with<R>(self, f: impl FnOnce(&mut [Argument<'_>]) -> R) -> R {
                let ($($name,)*) = self;
                let mut list = ArgumentList::new();
                $($name.append(&mut list);)*
                f(&mut list)
            }
        }
    };
}

call_arguments!();

for_each_arity!(call_arguments);
