//! What may stand beside a tile in an operation: tiles, whole tensors, and scalars, all of one element type.

use std::rc::Rc;

use super::tensor::{Tensor, View, ViewMut};
use super::tile::Tile;
use crate::ops::reference::{Array, Element, Scalar};

/// A tile, a tensor (as a whole), or a scalar of element type `T`.
#[diagnostic::on_unimplemented(
    message = "cannot combine a tile of `{T}` and rank {R} with a value of type `{Self}`",
    label = "operands differ in element type or rank",
    note = "PyPTO never converts implicitly: use `.cast::<{T}>()` on the other operand; a number is converted by `as`, as in `n as f32`",
    note = "with a type parameter, compute in `f32`: `(x.cast::<f32>() * 2.0).cast::<T>()`"
)]
pub trait Operand<T: Element, const R: usize> {
    #[doc(hidden)]
    fn operand(self) -> Rc<Array>;
}

/// A tile, or a tensor as a whole, of element type `T`.
#[diagnostic::on_unimplemented(
    message = "expected a tile of `{T}` and rank {R}, found a value of type `{Self}`",
    label = "not a `Tile<{T}, {R}>` or `&Tensor<{T}, {R}>`",
    note = "PyPTO never converts implicitly: `.cast::<{T}>()` changes the element type, `Tile::full` makes a tile of a scalar"
)]
pub trait TileValue<T: Element, const R: usize>: Operand<T, R> {}

impl<T: Element, const R: usize> Operand<T, R> for T {
    fn operand(self) -> Rc<Array> {
        Rc::new(Array::scalar(Scalar::new(self)))
    }
}

impl<T: Element, const R: usize> Operand<T, R> for Tile<T, R> {
    #[track_caller]
    fn operand(self) -> Rc<Array> {
        self.array()
    }
}

impl<T: Element, const R: usize> TileValue<T, R> for Tile<T, R> {}

macro_rules! tensor_operands {
    ($($t:ty),*) => { $(
        impl<T: Element, const R: usize> Operand<T, R> for $t {
            #[track_caller]
            fn operand(self) -> Rc<Array> {
                self.load_all().array()
            }
        }

        impl<T: Element, const R: usize> TileValue<T, R> for $t {}
    )* };
}

tensor_operands!(&Tensor<T, R>, View<'_, T, R>, &View<'_, T, R>, &ViewMut<'_, T, R>);
