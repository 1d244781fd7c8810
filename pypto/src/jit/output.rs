//! Tensors that a kernel returns: allocated by the launch, handed to the kernel as its last arguments.

use crate::language::argument::{Argument, MAX_RANK};

/// What a kernel may return: nothing, a tensor, or a tuple of tensors.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot return `{Self}`",
    note = "kernels return nothing, a `Tensor<T, R>`, or a tuple of tensors"
)]
pub trait Output: Sized {
    /// The number of tensors.
    const COUNT: usize;

    /// Allocates the tensors; `extents` has one entry a tensor, padded with ones. `None` where the size overflows or
    /// the memory is not there.
    fn allocate(extents: &[[i64; MAX_RANK]]) -> Option<Self>;

    /// Calls `each` with every tensor as a mutable argument, in order.
    fn arguments<'a>(&'a mut self, each: &mut dyn FnMut(Argument<'a>));
}

impl Output for () {
    const COUNT: usize = 0;

    fn allocate(_: &[[i64; MAX_RANK]]) -> Option<()> {
        Some(())
    }

    fn arguments<'a>(&'a mut self, _: &mut dyn FnMut(Argument<'a>)) {}
}
