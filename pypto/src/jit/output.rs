//! Tensors that a kernel returns: allocated by the launch, handed to the kernel as its last arguments.

use crate::language::argument::{Argument, MAX_RANK};
use crate::language::{Element, Tensor};

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

impl<T: Element, const R: usize> Output for Tensor<T, R> {
    const COUNT: usize = 1;

    fn allocate(extents: &[[i64; MAX_RANK]]) -> Option<Tensor<T, R>> {
        let extents = extents.first()?;
        Tensor::try_zeros(std::array::from_fn::<i64, R, _>(|axis| extents[axis])).ok()
    }

    fn arguments<'a>(&'a mut self, each: &mut dyn FnMut(Argument<'a>)) {
        each(Argument::Tensor(self.to_argument(true)));
    }
}

macro_rules! tuple_outputs {
    ($($name:ident),+) => {
        impl<$($name: Output),+> Output for ($($name,)+) {
            const COUNT: usize = 0 $(+ $name::COUNT)+;

            fn allocate(extents: &[[i64; MAX_RANK]]) -> Option<Self> {
                let mut rest = extents;
                let mut take = |count| {
                    let (own, others) = rest.split_at_checked(count)?;
                    rest = others;
                    Some(own)
                };
                Some(($($name::allocate(take($name::COUNT)?)?,)+))
            }

            #[allow(non_snake_case)]
            fn arguments<'a>(&'a mut self, each: &mut dyn FnMut(Argument<'a>)) {
                let ($($name,)+) = self;
                $($name.arguments(each);)+
            }
        }
    };
}

crate::language::arity::for_each_arity!(tuple_outputs);
