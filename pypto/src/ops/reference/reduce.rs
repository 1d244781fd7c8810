//! Reductions along the last dimension (rows) and the last but one (columns), over the valid region only.
//!
//! The order is part of the language, so that every engine gives the same bits: a row is spread over [`LANES`]
//! accumulators by index modulo [`LANES`], which are then combined as a tree; a column is taken in order of its rows.

use super::array::Array;
use super::element::{Element, zeros};
use super::elementwise::check_dtype;
use super::error::{Error, Result};
use super::half_float::{is_half, narrow, widen};
use super::number::{Integer, max_f32, min_f32, with_integer};
use super::shape::Shape;
use super::simd::{Kernel, dispatch};
use crate::ir::DType;
use crate::ops::{Class, OpKind};

/// Number of accumulators of a row.
pub const LANES: usize = 32;

/// A row or column reduction, by kind; rank at least 1 for rows, 2 for columns.
pub fn reduce(kind: OpKind, x: &Array) -> Result<Array> {
    let dtype = x.dtype();
    check_dtype(kind, dtype)?;
    match dtype {
        DType::F32 => reduce_f32(kind, x),
        // Positions stay integers.
        _ if is_half(dtype) && matches!(kind.class(), Class::RowArg | Class::ColArg) => reduce_f32(kind, &widen(x)?),
        _ if is_half(dtype) => narrow(reduce_f32(kind, &widen(x)?)?, dtype),
        _ => with_integer!(dtype, T => reduce_integer::<T>(kind, x), else unsupported(kind, dtype)),
    }
}

fn unsupported(kind: OpKind, dtype: DType) -> Result<Array> {
    Err(Error::DType { op: kind.name(), dtype })
}

fn reduce_f32(kind: OpKind, x: &Array) -> Result<Array> {
    match kind {
        OpKind::RowSum => rows_f32(x, 0.0, |a, b| a + b),
        OpKind::RowProd => rows_f32(x, 1.0, |a, b| a * b),
        OpKind::RowMax => rows_f32(x, f32::NEG_INFINITY, max_f32),
        OpKind::RowMin => rows_f32(x, f32::INFINITY, min_f32),
        OpKind::ColSum => columns_f32(x, 0.0, |a, b| a + b),
        OpKind::ColProd => columns_f32(x, 1.0, |a, b| a * b),
        OpKind::ColMax => columns_f32(x, f32::NEG_INFINITY, max_f32),
        OpKind::ColMin => columns_f32(x, f32::INFINITY, min_f32),
        OpKind::RowArgmax => first(x, Along::Rows, |best: f32, e| e > best || (e.is_nan() && !best.is_nan())),
        OpKind::RowArgmin => first(x, Along::Rows, |best: f32, e| e < best || (e.is_nan() && !best.is_nan())),
        OpKind::ColArgmax => first(x, Along::Columns, |best: f32, e| e > best || (e.is_nan() && !best.is_nan())),
        OpKind::ColArgmin => first(x, Along::Columns, |best: f32, e| e < best || (e.is_nan() && !best.is_nan())),
        _ => unsupported(kind, x.dtype()),
    }
}

fn reduce_integer<T: Integer>(kind: OpKind, x: &Array) -> Result<Array> {
    match kind {
        OpKind::RowSum => rows(x, T::default(), |a: T, b| a.wrapping_add(b)),
        OpKind::RowProd => rows(x, T::ONE, |a: T, b| a.wrapping_mul(b)),
        OpKind::RowMax => rows(x, T::MIN, |a: T, b| a.max(b)),
        OpKind::RowMin => rows(x, T::MAX, |a: T, b| a.min(b)),
        OpKind::ColSum => columns(x, T::default(), |a: T, b| a.wrapping_add(b)),
        OpKind::ColProd => columns(x, T::ONE, |a: T, b| a.wrapping_mul(b)),
        OpKind::ColMax => columns(x, T::MIN, |a: T, b| a.max(b)),
        OpKind::ColMin => columns(x, T::MAX, |a: T, b| a.min(b)),
        OpKind::RowArgmax => first(x, Along::Rows, |best: T, e| e > best),
        OpKind::RowArgmin => first(x, Along::Rows, |best: T, e| e < best),
        OpKind::ColArgmax => first(x, Along::Columns, |best: T, e| e > best),
        OpKind::ColArgmin => first(x, Along::Columns, |best: T, e| e < best),
        _ => unsupported(kind, x.dtype()),
    }
}

/// The array as a stack of matrices: how many, their physical and valid extents.
struct Matrices {
    batches: usize,
    rows: usize,
    columns: usize,
    valid_rows: usize,
    valid_columns: usize,
}

/// Splits the dimensions; a rank-1 array is one row.
fn matrices(x: &Array, smallest_rank: usize) -> Result<Matrices> {
    let rank = x.dims.len();
    if rank < smallest_rank.max(1) {
        return Err(Error::Axis { axis: smallest_rank.max(1) - 1, shape: x.dims });
    }
    let (rows, valid_rows) = if rank >= 2 { (x.dims[rank - 2], x.valid[rank - 2]) } else { (1, 1) };
    Ok(Matrices {
        batches: Shape::new(&x.dims[..rank.saturating_sub(2)]).count()?,
        rows: rows as usize,
        columns: x.dims[rank - 1] as usize,
        valid_rows: valid_rows as usize,
        valid_columns: x.valid[rank - 1] as usize,
    })
}

/// The result of a reduction along `axis`, whose extent becomes 1, valid also where nothing was reduced.
fn result<T: Element>(x: &Array, axis: usize, elements: Vec<T>) -> Array {
    Array { dims: x.dims.with(axis, 1), valid: x.valid.with(axis, 1), data: T::wrap(elements) }
}

struct Rows<'a, T, F> {
    x: &'a [T],
    matrices: Matrices,
    identity: T,
    combine: F,
    out: &'a mut [T],
}

impl<T: Copy, F: Fn(T, T) -> T + Copy> Kernel for Rows<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Matrices { batches, rows, columns, valid_rows, valid_columns } = self.matrices;
        for batch in 0..batches {
            for row in 0..valid_rows {
                let start = (batch * rows + row) * columns;
                let row_elements = &self.x[start..start + valid_columns];
                self.out[batch * rows + row] = reduce_row(row_elements, self.identity, self.combine);
            }
        }
    }
}

/// One row: interleaved accumulators, then the tree.
#[inline(always)]
fn reduce_row<T: Copy>(row: &[T], identity: T, combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = [identity; LANES];
    let mut chunks = row.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, element) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, *element);
        }
    }
    for (lane, element) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = combine(*lane, *element);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = combine(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Vectorized.
fn rows_f32(x: &Array, identity: f32, combine: impl Fn(f32, f32) -> f32 + Copy) -> Result<Array> {
    let matrices = matrices(x, 1)?;
    let axis = x.dims.len() - 1;
    let dims = x.dims.with(axis, 1);
    let mut out = zeros::<f32>(dims, dims.count()?)?;
    dispatch(Rows { x: x.elements::<f32>(), matrices, identity, combine, out: &mut out });
    Ok(result(x, axis, out))
}

fn rows<T: Element>(x: &Array, identity: T, combine: fn(T, T) -> T) -> Result<Array> {
    let matrices = matrices(x, 1)?;
    let axis = x.dims.len() - 1;
    let dims = x.dims.with(axis, 1);
    let mut out = zeros::<T>(dims, dims.count()?)?;
    Rows { x: x.elements::<T>(), matrices, identity, combine, out: &mut out }.run();
    Ok(result(x, axis, out))
}

struct Columns<'a, T, F> {
    x: &'a [T],
    matrices: Matrices,
    combine: F,
    out: &'a mut [T],
}

impl<T: Copy, F: Fn(T, T) -> T + Copy> Kernel for Columns<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Matrices { batches, rows, columns, valid_rows, valid_columns } = self.matrices;
        for batch in 0..batches {
            let out = &mut self.out[batch * columns..batch * columns + valid_columns];
            for row in 0..valid_rows {
                let start = (batch * rows + row) * columns;
                for (out, element) in out.iter_mut().zip(&self.x[start..start + valid_columns]) {
                    *out = (self.combine)(*out, *element);
                }
            }
        }
    }
}

/// Vectorized.
fn columns_f32(x: &Array, identity: f32, combine: impl Fn(f32, f32) -> f32 + Copy) -> Result<Array> {
    let matrices = matrices(x, 2)?;
    let axis = x.dims.len() - 2;
    let dims = x.dims.with(axis, 1);
    let mut out = zeros::<f32>(dims, dims.count()?)?;
    out.fill(identity);
    dispatch(Columns { x: x.elements::<f32>(), matrices, combine, out: &mut out });
    Ok(result(x, axis, out))
}

fn columns<T: Element>(x: &Array, identity: T, combine: fn(T, T) -> T) -> Result<Array> {
    let matrices = matrices(x, 2)?;
    let axis = x.dims.len() - 2;
    let dims = x.dims.with(axis, 1);
    let mut out = zeros::<T>(dims, dims.count()?)?;
    out.fill(identity);
    Columns { x: x.elements::<T>(), matrices, combine, out: &mut out }.run();
    Ok(result(x, axis, out))
}

#[derive(Clone, Copy, PartialEq)]
enum Along {
    Rows,
    Columns,
}

/// Index of the first element that no later one is better than; 0 where there are none.
fn first<T: Element>(x: &Array, along: Along, better: fn(T, T) -> bool) -> Result<Array> {
    let m = matrices(x, if along == Along::Rows { 1 } else { 2 })?;
    let axis = x.dims.len() - if along == Along::Rows { 1 } else { 2 };
    let dims = x.dims.with(axis, 1);
    let mut out = zeros::<i32>(dims, dims.count()?)?;
    let elements = x.elements::<T>();
    let (lines, kept, length, stride) = match along {
        Along::Rows => (m.valid_rows, m.rows, m.valid_columns, 1),
        Along::Columns => (m.valid_columns, m.columns, m.valid_rows, m.columns),
    };
    for batch in 0..m.batches {
        for line in 0..lines {
            let start = batch * m.rows * m.columns + line * if along == Along::Rows { m.columns } else { 1 };
            let mut best = 0;
            for i in 1..length {
                if better(elements[start + best * stride], elements[start + i * stride]) {
                    best = i;
                }
            }
            out[batch * kept + line] = best as i32;
        }
    }
    Ok(result(x, axis, out))
}
