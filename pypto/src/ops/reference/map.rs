//! The loops under every elementwise operation: a function of one, two or three elements over broadcast operands.

use super::array::Array;
use super::broadcast::{Broadcast, broadcast};
use super::element::{Element, zeros};
use super::error::Result;
use super::region::for_each_row;
use super::shape::Shape;
use super::simd::{Kernel, dispatch};

/// A function of one element. A trait, so that even large bodies are inlined into the vectorized loop.
pub trait Function<T, U>: Copy {
    fn apply(self, x: T) -> U;
}

impl<T, U, F: Fn(T) -> U + Copy> Function<T, U> for F {
    #[inline(always)]
    fn apply(self, x: T) -> U {
        self(x)
    }
}

struct Map<'a, T, U, F> {
    function: F,
    x: &'a [T],
    out: &'a mut [U],
}

impl<T: Copy, U, F: Function<T, U>> Kernel for Map<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = self.function.apply(*x);
        }
    }
}

/// A function applied to every element of a slice.
pub fn map_slice<T: Copy, U>(x: &[T], out: &mut [U], function: impl Function<T, U>) {
    dispatch(Map { function, x, out });
}

/// A function applied to every element, also those outside the valid extent: it must accept any value.
pub fn map1<T: Element, U: Element>(x: &Array, function: impl Function<T, U>) -> Result<Array> {
    let x_elements = x.elements::<T>();
    let mut out = zeros::<U>(x.dims, x_elements.len())?;
    map_slice(x_elements, &mut out, function);
    Ok(Array { dims: x.dims, valid: x.valid, data: U::wrap(out) })
}

struct Map2<'a, T, U, F> {
    function: F,
    extents: Shape,
    strides: [Shape; 3],
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [U],
}

impl<T: Copy, U, F: Fn(T, T) -> U + Copy> Kernel for Map2<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Map2 { function, extents, strides, a, b, out } = self;
        for_each_row(extents, strides, |[o, i, j], len, steps| match steps {
            [1, 1, 1] => {
                for ((out, a), b) in out[o..o + len].iter_mut().zip(&a[i..i + len]).zip(&b[j..j + len]) {
                    *out = function(*a, *b);
                }
            }
            [1, 1, 0] => {
                let b = b[j];
                for (out, a) in out[o..o + len].iter_mut().zip(&a[i..i + len]) {
                    *out = function(*a, b);
                }
            }
            [1, 0, 1] => {
                let a = a[i];
                for (out, b) in out[o..o + len].iter_mut().zip(&b[j..j + len]) {
                    *out = function(a, *b);
                }
            }
            [p, q, r] => {
                for n in 0..len {
                    out[o + n * p] = function(a[i + n * q], b[j + n * r]);
                }
            }
        });
    }
}

/// A function of two operands of one element type over the valid part of their combination.
pub fn map2<T: Element, U: Element>(
    op: &'static str,
    a: &Array,
    b: &Array,
    function: impl Fn(T, T) -> U + Copy,
) -> Result<Array> {
    let Broadcast { dims, valid, strides: [p, q] } = broadcast(op, [a, b])?;
    let mut out = zeros::<U>(dims, dims.count()?)?;
    let strides = [dims.row_major_strides(), p, q];
    dispatch(Map2 { function, extents: valid, strides, a: a.elements::<T>(), b: b.elements::<T>(), out: &mut out });
    Ok(Array { dims, valid, data: U::wrap(out) })
}

/// As [`map2`] for functions that fail; the first failure in row-major order is the result.
pub fn try_map2<T: Element>(
    op: &'static str,
    a: &Array,
    b: &Array,
    function: impl Fn(T, T) -> Result<T>,
) -> Result<Array> {
    let Broadcast { dims, valid, strides: [p, q] } = broadcast(op, [a, b])?;
    let mut out = zeros::<T>(dims, dims.count()?)?;
    let (a, b) = (a.elements::<T>(), b.elements::<T>());
    let mut failure = Ok(());
    for_each_row(valid, [dims.row_major_strides(), p, q], |[o, i, j], len, [p, q, r]| {
        for n in 0..len {
            match function(a[i + n * q], b[j + n * r]) {
                Ok(value) => out[o + n * p] = value,
                Err(error) => {
                    failure = failure.clone().and(Err(error));
                    return;
                }
            }
        }
    });
    failure.map(|()| Array { dims, valid, data: T::wrap(out) })
}

/// `a` where the mask holds, else `b`.
pub fn select<T: Element>(mask: &Array, a: &Array, b: &Array) -> Result<Array> {
    let Broadcast { dims, valid, strides: [m, p, q] } = broadcast("select", [mask, a, b])?;
    let mut out = zeros::<T>(dims, dims.count()?)?;
    let (mask, a, b) = (mask.elements::<bool>(), a.elements::<T>(), b.elements::<T>());
    for_each_row(valid, [dims.row_major_strides(), m, p, q], |[o, k, i, j], len, [o1, k1, i1, j1]| {
        for n in 0..len {
            out[o + n * o1] = if mask[k + n * k1] { a[i + n * i1] } else { b[j + n * j1] };
        }
    });
    Ok(Array { dims, valid, data: T::wrap(out) })
}
