//! Products of matrices, in the one order of accumulation that every engine keeps.
//!
//! K is cut into blocks of [`K_BLOCK`]. Within a block an element's sum starts at 0 and takes `fma(a, b, sum)` with
//! ascending k; the sums of blocks are added in order, onto the initial value where there is one. Floats are widened to
//! f32 first, integers to i32, which wraps. Only the valid extents take part.
//!
//! The speed comes from packing: panels of [`COLUMNS`] columns and [`ROWS`] rows, whose products stay in registers.

use super::array::Array;
use super::cast::cast;
use super::element::{Element, zeros};
use super::elementwise::check_dtype;
use super::error::{Error, Result};
use super::shape::Shape;
use super::simd::{Kernel, dispatch};
use crate::ir::{DType, Round};
use crate::ops::OpKind;

/// Length of a block of K.
pub const K_BLOCK: usize = 256;
const ROWS: usize = 4;
const COLUMNS: usize = 16;

/// What a product adds to.
pub enum Initial<'a> {
    Nothing,
    /// An accumulator of the result's extents.
    Accumulator(&'a Array),
    /// One row for all rows.
    Bias(&'a Array),
}

/// How operands are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transposed {
    pub a: bool,
    pub b: bool,
}

/// `a @ b`, with operands of rank 2, or of rank 3 batch by batch.
pub fn matmul(a: &Array, b: &Array, transposed: Transposed, initial: Initial<'_>) -> Result<Array> {
    let dtype = a.dtype();
    check_dtype(OpKind::Matmul, dtype)?;
    if dtype != b.dtype() {
        return Err(Error::MixedDTypes { op: "matmul", a: dtype, b: b.dtype() });
    }
    match dtype.accumulator() {
        DType::F32 => product::<f32>(a, b, transposed, initial),
        _ => product::<i32>(a, b, transposed, initial),
    }
}

/// A type that products accumulate in.
trait Accumulator: Element {
    fn fused(self, a: Self, b: Self) -> Self;
    fn plus(self, other: Self) -> Self;
}

impl Accumulator for f32 {
    #[inline(always)]
    fn fused(self, a: f32, b: f32) -> f32 {
        a.mul_add(b, self)
    }

    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
}

impl Accumulator for i32 {
    #[inline(always)]
    fn fused(self, a: i32, b: i32) -> i32 {
        self.wrapping_add(a.wrapping_mul(b))
    }

    #[inline(always)]
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
}

/// Extents of the last two dimensions as read, physical and valid.
fn as_read(x: &Array, transposed: bool) -> (Shape, Shape) {
    if transposed { (x.dims.swap_last_two(), x.valid.swap_last_two()) } else { (x.dims, x.valid) }
}

fn result_shape(a: &Array, b: &Array, transposed: Transposed) -> Result<(Shape, Shape, i64)> {
    let ((a_dims, a_valid), (b_dims, b_valid)) = (as_read(a, transposed.a), as_read(b, transposed.b));
    let rank = a_dims.len();
    if rank != b_dims.len() || !(2..=3).contains(&rank) {
        return Err(Error::Rank { op: "matmul", a: a.dims, b: b.dims });
    }
    let (left, right) = (a_dims[rank - 1], b_dims[rank - 2]);
    if left != right {
        return Err(Error::Contraction { a: a_dims, b: b_dims, left, right });
    }
    if rank == 3 && a_dims[0] != b_dims[0] {
        return Err(Error::Broadcast { op: "matmul", a: a_dims, b: b_dims, axis: 0 });
    }
    let dims = a_dims.with(rank - 1, b_dims[rank - 1]);
    let mut valid = a_valid.with(rank - 1, b_valid[rank - 1]);
    if rank == 3 {
        valid[0] = valid[0].min(b_valid[0]);
    }
    Ok((dims, valid, a_valid[rank - 1].min(b_valid[rank - 2])))
}

fn product<T: Accumulator>(a: &Array, b: &Array, transposed: Transposed, initial: Initial<'_>) -> Result<Array> {
    let (dims, valid, depth) = result_shape(a, b, transposed)?;
    let (a, b) = (cast(a, T::DTYPE, Round::None)?, cast(b, T::DTYPE, Round::None)?);
    let (mut out, valid) = start_value::<T>(dims, valid, &initial)?;
    let rank = dims.len();
    let batches = if rank == 3 { valid[0] as usize } else { 1 };
    let (rows, columns) = (valid[rank - 2] as usize, valid[rank - 1] as usize);
    for batch in 0..batches {
        let size = |x: &Array| (x.dims[rank - 2] * x.dims[rank - 1]) as usize;
        let width = dims[rank - 1] as usize;
        let out_size = dims[rank - 2] as usize * width;
        dispatch(Product {
            a: Matrix::of(&a.elements::<T>()[batch * size(&a)..], a.dims[rank - 1], transposed.a),
            b: Matrix::of(&b.elements::<T>()[batch * size(&b)..], b.dims[rank - 1], transposed.b),
            rows,
            columns,
            depth: depth as usize,
            width,
            fresh: matches!(initial, Initial::Nothing),
            out: &mut out[batch * out_size..(batch + 1) * out_size],
        });
    }
    Ok(Array { dims, valid, data: T::wrap(out) })
}

/// What the sums are added to, as elements of the result, with the result's valid extent.
fn start_value<T: Accumulator>(dims: Shape, valid: Shape, initial: &Initial<'_>) -> Result<(Vec<T>, Shape)> {
    let (op, value) = match initial {
        Initial::Nothing => return Ok((zeros::<T>(dims, dims.count()?)?, valid)),
        Initial::Accumulator(value) => ("matmul_acc", *value),
        Initial::Bias(value) => ("matmul_bias", *value),
    };
    if value.dtype() != T::DTYPE {
        return Err(Error::MixedDTypes { op, a: T::DTYPE, b: value.dtype() });
    }
    let repeated = if value.dims == dims { (*value).clone() } else { super::layout::broadcast_to(value, dims)? };
    let valid = valid.zip(&repeated.valid, i64::min);
    Ok((repeated.elements::<T>().to_vec(), valid))
}

/// A matrix in memory: distance between rows and between columns.
#[derive(Clone, Copy)]
struct Matrix<'a, T> {
    elements: &'a [T],
    row: usize,
    column: usize,
}

impl<'a, T: Copy> Matrix<'a, T> {
    fn of(elements: &'a [T], width: i64, transposed: bool) -> Self {
        let width = width as usize;
        if transposed { Matrix { elements, row: 1, column: width } } else { Matrix { elements, row: width, column: 1 } }
    }

    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> T {
        self.elements[row * self.row + column * self.column]
    }
}

struct Product<'a, T> {
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    rows: usize,
    columns: usize,
    depth: usize,
    /// Distance between rows of `out`.
    width: usize,
    /// Whether the first block replaces what is in `out`.
    fresh: bool,
    out: &'a mut [T],
}

impl<T: Accumulator> Kernel for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut panel = vec![[T::default(); COLUMNS]; K_BLOCK.min(self.depth)];
        let mut strips = vec![[T::default(); ROWS]; K_BLOCK.min(self.depth) * self.rows.div_ceil(ROWS)];
        for k in (0..self.depth).step_by(K_BLOCK) {
            let depth = K_BLOCK.min(self.depth - k);
            pack_rows(&self.a, self.rows, k, depth, &mut strips);
            for column in (0..self.columns).step_by(COLUMNS) {
                let columns = COLUMNS.min(self.columns - column);
                pack_columns(&self.b, k, depth, column, columns, &mut panel);
                for (strip, row) in strips.chunks_exact(depth).zip((0..self.rows).step_by(ROWS)) {
                    let sums = block(&strip[..depth], &panel[..depth]);
                    let rows = ROWS.min(self.rows - row);
                    for (r, sums) in sums.iter().enumerate().take(rows) {
                        let start = (row + r) * self.width + column;
                        for (out, sum) in self.out[start..start + columns].iter_mut().zip(sums) {
                            *out = if self.fresh && k == 0 { *sum } else { out.plus(*sum) };
                        }
                    }
                }
            }
        }
    }
}

/// All rows of a block of K, [`ROWS`] at a time, k by k; missing rows are zeros.
#[inline(always)]
fn pack_rows<T: Accumulator>(a: &Matrix<'_, T>, rows: usize, k: usize, depth: usize, strips: &mut [[T; ROWS]]) {
    for (strip, row) in strips.chunks_exact_mut(depth).zip((0..rows).step_by(ROWS)) {
        for (i, entry) in strip.iter_mut().enumerate() {
            *entry = std::array::from_fn(|r| if row + r < rows { a.at(row + r, k + i) } else { T::default() });
        }
    }
}

/// Up to [`COLUMNS`] columns of a block of K; missing columns are zeros.
#[inline(always)]
fn pack_columns<T: Accumulator>(
    b: &Matrix<'_, T>,
    k: usize,
    depth: usize,
    column: usize,
    columns: usize,
    panel: &mut [[T; COLUMNS]],
) {
    for (i, entry) in panel[..depth].iter_mut().enumerate() {
        if columns == COLUMNS && b.column == 1 {
            let start = (k + i) * b.row + column;
            entry.copy_from_slice(&b.elements[start..start + COLUMNS]);
        } else {
            *entry = std::array::from_fn(|c| if c < columns { b.at(k + i, column + c) } else { T::default() });
        }
    }
}

/// The sums of one register block.
#[inline(always)]
fn block<T: Accumulator>(strip: &[[T; ROWS]], panel: &[[T; COLUMNS]]) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    for (a, b) in strip.iter().zip(panel) {
        for r in 0..ROWS {
            for c in 0..COLUMNS {
                sums[r][c] = sums[r][c].fused(a[r], b[c]);
            }
        }
    }
    sums
}
