//! [`Tile`]: the values that kernels compute with.

mod arena;
mod methods;
mod operators;
mod product;

pub use arena::scope;
pub use product::{matmul, matmul_bias, select};

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use super::operand::{Operand, TileValue};
use crate::ops::OpKind;
use crate::ops::reference::{Array, Element, Error, Result, Scalar, Shape, create, elementwise, layout, permute};

/// A value of extents known when the kernel is specialized, with a valid extent in each dimension.
///
/// A tile is a handle, copied freely. In compiled code it lives in registers and caches; in eager code in a list of the
/// thread, until the scope around it (see [`scope`]) ends.
///
/// ```
/// use pypto::prelude::*;
/// let t = Tile::full([2, 3], 2.0f32);
/// let u = t * t + 1.0;
/// assert_eq!(u.row_sum().to_vec(), [15.0, 15.0]);
/// ```
#[must_use = "an operation gives a new tile and leaves its operands as they are: bind the result"]
pub struct Tile<T: Element, const R: usize = 2> {
    handle: arena::Handle,
    /// Tiles stay on their thread.
    element: PhantomData<*const T>,
}

impl<T: Element, const R: usize> Clone for Tile<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, const R: usize> Copy for Tile<T, R> {}

/// The value of an operation, or a panic at the kernel's line.
#[track_caller]
pub(super) fn expect<V>(result: Result<V>) -> V {
    // No closure: it would be the panic's place, instead of the kernel's line.
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

impl<T: Element, const R: usize> Tile<T, R> {
    pub(crate) fn new(array: Array) -> Self {
        debug_assert_eq!((array.dtype(), array.dims.len()), (T::DTYPE, R));
        Tile { handle: arena::insert(Rc::new(array)), element: PhantomData }
    }

    #[track_caller]
    pub(crate) fn of(result: Result<Array>) -> Self {
        Tile::new(expect(result))
    }

    #[track_caller]
    pub(crate) fn array(self) -> Rc<Array> {
        match arena::get(self.handle) {
            Some(array) => array,
            None => panic!("this tile was freed when the eager run that made it ended"),
        }
    }

    /// A tile of zeros.
    #[track_caller]
    pub fn zeros(shape: [i64; R]) -> Self {
        Tile::of(Array::zeros(T::DTYPE, Shape::from(shape)))
    }

    /// A tile with every element equal to `value`.
    #[track_caller]
    pub fn full(shape: [i64; R], value: T) -> Self {
        Tile::of(create::full(Scalar::new(value), Shape::from(shape)))
    }

    /// `start + index` along `axis`, constant along the other dimensions. Integers only.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// assert_eq!(Tile::iota([2, 2], 1, 5i32).to_vec(), [5, 6, 5, 6]);
    /// ```
    #[track_caller]
    pub fn iota(shape: [i64; R], axis: usize, start: T) -> Self {
        Tile::of(create::iota(Scalar::new(start), Shape::from(shape), axis))
    }

    /// The physical extent of a dimension.
    #[track_caller]
    pub fn dim(self, axis: usize) -> i64 {
        self.array().dims[axis]
    }

    /// The physical extents.
    pub fn dims(self) -> [i64; R] {
        let array = self.array();
        std::array::from_fn(|axis| array.dims[axis])
    }

    /// How many leading elements of a dimension count.
    #[track_caller]
    pub fn valid(self, axis: usize) -> i64 {
        self.array().valid[axis]
    }

    /// One element.
    #[track_caller]
    pub fn get(self, index: [i64; R]) -> T {
        expect(self.array().get(&index)).get()
    }

    /// The valid elements in row-major order. Not for kernels: a look at a tile in tests and debuggers.
    #[track_caller]
    pub fn to_vec(self) -> Vec<T> {
        self.array().valid_elements()
    }

    /// This tile with the valid part of another written into it at `offset`.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let t = Tile::zeros([1, 3]).assemble([0, 1], Tile::full([1, 2], 4i32));
    /// assert_eq!(t.to_vec(), [0, 4, 4]);
    /// ```
    #[track_caller]
    pub fn assemble<V: TileValue<T, R>>(self, offset: [i64; R], source: V) -> Self {
        Tile::of(layout::assemble((*self.array()).clone(), &source.operand(), Shape::from(offset)))
    }

    /// This tile with elements of each row replaced: `source[.., i, k]` at `[.., i, index[.., i, k]]`, later ones win. Leading
    /// extents of 1 of index and source repeat. An index outside of the row stops the kernel.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let t = Tile::zeros([1, 4]).scatter(Tile::iota([1, 2], 1, 2), Tile::full([1, 2], 9i16));
    /// assert_eq!(t.to_vec(), [0, 0, 9, 9]);
    /// ```
    #[track_caller]
    pub fn scatter<I: TileValue<i32, R>, V: TileValue<T, R>>(self, index: I, source: V) -> Self {
        Tile::of(permute::scatter((*self.array()).clone(), &index.operand(), &source.operand()))
    }

    /// The same elements with another valid extent.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let t = Tile::full([1, 4], 1.0f32).set_valid([1, 3]);
    /// assert_eq!(t.row_sum().get([0, 0]), 3.0);
    /// ```
    #[track_caller]
    pub fn set_valid(self, valid: [i64; R]) -> Self {
        Tile::of(layout::set_valid((*self.array()).clone(), Shape::from(valid)))
    }

    /// `value` in every element outside the valid extent; everything is valid then.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let t = Tile::full([1, 3], 1i32).set_valid([1, 2]).fillpad(9);
    /// assert_eq!(t.to_vec(), [1, 1, 9]);
    /// ```
    #[track_caller]
    pub fn fillpad(self, value: T) -> Self {
        Tile::of(layout::fillpad(&self.array(), Scalar::new(value)))
    }
}

/// Element type, extents, and the first valid elements.
impl<T: Element, const R: usize> fmt::Debug for Tile<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(array) = arena::get(self.handle) else {
            return write!(f, "Tile<{}> freed", T::DTYPE);
        };
        write!(f, "Tile<{}>{:?} ", T::DTYPE, array.dims)?;
        if !array.is_full() {
            write!(f, "valid {:?} ", array.valid)?;
        }
        crate::ir::report::elements(f, &array.valid_elements::<T>())
    }
}

/// The extents of a shape changed in rank; an error of the reference semantics names both.
#[track_caller]
fn reshaped<T: Element, const S: usize>(array: Rc<Array>, shape: [i64; S]) -> Tile<T, S> {
    Tile::of(layout::reshape(Rc::unwrap_or_clone(array), Shape::from(shape)))
}

/// Extents cut, with the error that names both.
#[track_caller]
fn sliced<T: Element, const R: usize>(array: &Array, offset: [i64; R], shape: [i64; R]) -> Tile<T, R> {
    Tile::of(layout::slice(array, Shape::from(offset), Shape::from(shape)))
}

/// Raised to the least, then lowered to the most.
#[track_caller]
fn clamped<T: Element, const R: usize>(x: &Array, least: &Array, most: &Array) -> Tile<T, R> {
    let raised = elementwise::binary(OpKind::Max, x, least);
    Tile::of(raised.and_then(|raised| elementwise::binary(OpKind::Min, &raised, most)))
}

/// Both valid in full along the axis.
#[track_caller]
fn concatenated<T: Element, const R: usize>(a: &Array, b: &Array, axis: usize) -> Tile<T, R> {
    if axis >= R {
        return Tile::of(Err(Error::Axis { axis, shape: a.dims }));
    }
    Tile::of(layout::concat(a, b, axis))
}
