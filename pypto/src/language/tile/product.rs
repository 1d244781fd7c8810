//! Products of matrices, and selection: operations whose operands differ in type from their result.

use super::{Operand, Tile, TileValue};
use crate::language::tensor::Tensor;
use crate::ops::reference::matmul::{self as reference, Initial, Transposed};
use crate::ops::reference::{Element, elementwise};

/// `a @ b` with tiles or whole tensors of rank 2, or of rank 3 batch by batch; f32 for floats, i32 for integers.
///
/// ```
/// use pypto::prelude::*;
/// let a = Tensor::from_vec(vec![1.0f32, 2.0], [1, 2]);
/// let b = Tensor::from_vec(vec![3.0f32, 4.0], [2, 1]);
/// assert_eq!(matmul(&a, &b).to_vec(), [11.0]);
/// assert_eq!(matmul(&a, a.t()).to_vec(), [5.0]);
/// ```
#[track_caller]
pub fn matmul<T, const R: usize, A, B>(a: A, b: B) -> Tile<T::Acc, R>
where
    T: Element,
    A: TileValue<T, R>,
    B: TileValue<T, R>,
{
    Tile::of(reference::matmul(&a.operand(), &b.operand(), Transposed::default(), Initial::Nothing))
}

/// `a @ b + bias` with a bias of extents `[1, N]` in the type of the result.
///
/// ```
/// use pypto::prelude::*;
/// let a = Tile::full([2, 2], 1i8);
/// let bias = Tile::iota([1, 2], 1, 10i32);
/// assert_eq!(matmul_bias(a, a, bias).to_vec(), [12, 13, 12, 13]);
/// ```
#[track_caller]
pub fn matmul_bias<T, const R: usize, A, B, C>(a: A, b: B, bias: C) -> Tile<T::Acc, R>
where
    T: Element,
    A: TileValue<T, R>,
    B: TileValue<T, R>,
    C: TileValue<T::Acc, R>,
{
    let bias = bias.operand();
    Tile::of(reference::matmul(&a.operand(), &b.operand(), Transposed::default(), Initial::Bias(&bias)))
}

/// `a` where the mask is true, else `b`; all three broadcast, and `a` and `b` may be scalars.
///
/// ```
/// use pypto::prelude::*;
/// let t = Tile::iota([1, 3], 1, 0i32);
/// assert_eq!(select(t.gt(1), t, -1).to_vec(), [-1, -1, 2]);
/// ```
#[track_caller]
pub fn select<T, const R: usize, M, A, B>(mask: M, a: A, b: B) -> Tile<T, R>
where
    T: Element,
    M: TileValue<bool, R>,
    A: Operand<T, R>,
    B: Operand<T, R>,
{
    Tile::of(elementwise::select(&mask.operand(), &a.operand(), &b.operand()))
}

impl<T: Element, const R: usize> Tile<T, R> {
    /// `a @ b` with this on the left. See [`matmul`].
    #[track_caller]
    pub fn matmul<B: TileValue<T, R>>(self, b: B) -> Tile<T::Acc, R> {
        matmul(self, b)
    }

    /// `self + a @ b`, with this as the accumulator.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let a = Tile::full([2, 2], 2.0f32);
    /// let acc = Tile::full([2, 2], 1.0f32);
    /// assert_eq!(acc.mma(a, a).to_vec(), [9.0; 4]);
    /// ```
    #[track_caller]
    pub fn mma<U, A, B>(self, a: A, b: B) -> Tile<T, R>
    where
        U: Element<Acc = T>,
        A: TileValue<U, R>,
        B: TileValue<U, R>,
    {
        let acc = self.array();
        Tile::of(reference::matmul(&a.operand(), &b.operand(), Transposed::default(), Initial::Accumulator(&acc)))
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// `a @ b` with this on the left. See [`matmul`].
    #[track_caller]
    pub fn matmul<B: TileValue<T, R>>(&self, b: B) -> Tile<T::Acc, R> {
        matmul(self, b)
    }
}

impl<const R: usize> Tile<bool, R> {
    /// `a` where this mask is true, else `b`. See [`select`].
    #[track_caller]
    pub fn select<T: Element, A: Operand<T, R>, B: Operand<T, R>>(self, a: A, b: B) -> Tile<T, R> {
        select(self, a, b)
    }
}
