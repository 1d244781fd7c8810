//! The loops under every elementwise operation: a function of one, two or three elements over broadcast operands.
//!
//! Arithmetic of f32 gets loops of its own for each function, vectorized ([`map_f32`], [`map2_f32`]). Everything else
//! shares one loop for each element type and calls its function by pointer: with eleven element types, a loop for each
//! pair of type and function would be most of the compiled crate.

use super::array::Array;
use super::broadcast::{Broadcast, broadcast};
use super::element::{Element, zeros};
use super::error::Result;
use super::region::{Row, Rows};
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

/// A function applied to every element of a slice, vectorized.
pub fn map_slice<T: Copy, U>(x: &[T], out: &mut [U], function: impl Function<T, U>) {
    dispatch(Map { function, x, out });
}

/// A function applied to every element, vectorized; also to those outside the valid extent.
pub fn map_f32(x: &Array, function: impl Function<f32, f32>) -> Result<Array> {
    let elements = x.elements::<f32>();
    let mut out = zeros::<f32>(x.dims, elements.len())?;
    map_slice(elements, &mut out, function);
    Ok(Array::from_vec(out, x.dims).with_valid(x.valid))
}

/// A function applied to every element, also to those outside the valid extent: it must accept any value.
pub fn map1<T: Element, U: Element>(x: &Array, function: fn(T) -> U) -> Result<Array> {
    let elements = x.elements::<T>();
    let mut out = zeros::<U>(x.dims, elements.len())?;
    for (out, x) in out.iter_mut().zip(elements) {
        *out = function(*x);
    }
    Ok(Array::from_vec(out, x.dims).with_valid(x.valid))
}

struct Map2<'a, F> {
    function: F,
    rows: Rows<3>,
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
}

impl<F: Fn(f32, f32) -> f32 + Copy> Kernel for Map2<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Map2 { function, rows, a, b, out } = self;
        for Row { starts: [o, i, j], len, steps } in rows {
            match steps {
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
            }
        }
    }
}

/// A function of two f32 operands over the valid part of their combination, vectorized.
pub fn map2_f32(op: &'static str, a: &Array, b: &Array, function: impl Fn(f32, f32) -> f32 + Copy) -> Result<Array> {
    let Broadcast { dims, valid, strides: [p, q] } = broadcast(op, [a, b])?;
    let mut out = zeros::<f32>(dims, dims.count()?)?;
    let rows = Rows::new(valid, [dims.row_major_strides(), p, q]);
    dispatch(Map2 { function, rows, a: a.elements::<f32>(), b: b.elements::<f32>(), out: &mut out });
    Ok(Array::from_vec(out, dims).with_valid(valid))
}

/// A function of two operands of one element type over the valid part of their combination.
pub fn map2<T: Element, U: Element>(op: &'static str, a: &Array, b: &Array, function: fn(T, T) -> U) -> Result<Array> {
    let Broadcast { dims, valid, strides: [p, q] } = broadcast(op, [a, b])?;
    let mut out = zeros::<U>(dims, dims.count()?)?;
    let (a, b) = (a.elements::<T>(), b.elements::<T>());
    for Row { starts: [o, i, j], len, steps: [p, q, r] } in Rows::new(valid, [dims.row_major_strides(), p, q]) {
        for n in 0..len {
            out[o + n * p] = function(a[i + n * q], b[j + n * r]);
        }
    }
    Ok(Array::from_vec(out, dims).with_valid(valid))
}

/// As [`map2`] for functions that fail; the first failure in row-major order is the result.
pub fn try_map2<T: Element>(op: &'static str, a: &Array, b: &Array, function: fn(T, T) -> Result<T>) -> Result<Array> {
    let Broadcast { dims, valid, strides: [p, q] } = broadcast(op, [a, b])?;
    let mut out = zeros::<T>(dims, dims.count()?)?;
    let (a, b) = (a.elements::<T>(), b.elements::<T>());
    for Row { starts: [o, i, j], len, steps: [p, q, r] } in Rows::new(valid, [dims.row_major_strides(), p, q]) {
        for n in 0..len {
            out[o + n * p] = function(a[i + n * q], b[j + n * r])?;
        }
    }
    Ok(Array::from_vec(out, dims).with_valid(valid))
}

/// `a` where the mask holds, else `b`.
pub fn select<T: Element>(mask: &Array, a: &Array, b: &Array) -> Result<Array> {
    let Broadcast { dims, valid, strides: [m, p, q] } = broadcast("select", [mask, a, b])?;
    let mut out = zeros::<T>(dims, dims.count()?)?;
    let (mask, a, b) = (mask.elements::<bool>(), a.elements::<T>(), b.elements::<T>());
    let rows = Rows::new(valid, [dims.row_major_strides(), m, p, q]);
    for Row { starts: [o, k, i, j], len, steps: [o1, k1, i1, j1] } in rows {
        for n in 0..len {
            out[o + n * o1] = if mask[k + n * k1] { a[i + n * i1] } else { b[j + n * j1] };
        }
    }
    Ok(Array::from_vec(out, dims).with_valid(valid))
}
