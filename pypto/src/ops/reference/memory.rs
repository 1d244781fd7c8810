//! Tensor memory by address: what loads, stores and views mean.
//!
//! A [`Memory`] is made in one unsafe step, from then on every access is checked against the extents, and every view
//! against the memory it was taken from, so that no index in a program can reach outside.

use super::array::{Array, Scalar};
use super::element::{Element, with_element};
use super::error::{Error, Result};
use super::region::{Row, Rows};
use super::shape::Shape;
use crate::ir::DType;

/// A tensor: its layout, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    dtype: DType,
    dims: Shape,
    strides: Shape,
    first: *mut u8,
    /// Elements from the first to the end of what may be touched.
    span: i64,
}

/// Rows of bytes that an access touches, as address ranges.
pub type ByteRange = (usize, usize);

impl Memory {
    /// A tensor of the given layout; an error where extents or strides are negative or beyond any memory.
    ///
    /// # Safety
    /// From `first` on there are elements of the type at every position that the layout reaches. They live, and nothing
    /// else writes them (nor reads them, if this memory or a view of it is written), as long as it is used. Bytes of
    /// `bool` elements may hold anything. Nothing is touched where the extents hold no elements.
    pub unsafe fn new(dtype: DType, dims: Shape, strides: Shape, first: *mut u8) -> Result<Memory> {
        let span = span_of(dims, strides)?;
        Ok(Memory { dtype, dims, strides, first, span })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> Shape {
        self.dims
    }

    /// Distances in elements between neighbours.
    pub fn strides(&self) -> Shape {
        self.strides
    }

    /// Elements from the first to behind the last that may be touched.
    pub fn span(&self) -> i64 {
        self.span
    }

    /// Address of the first element.
    pub fn address(&self) -> *mut u8 {
        self.first
    }

    /// The part at `offset` under a layout whose leading dimensions of extent 1 may be missing.
    pub fn view(&self, offset: Shape, dims: Shape, strides: Shape) -> Result<Memory> {
        const OP: &str = "view";
        let whole = self.dims;
        let Some(dropped) = whole.len().checked_sub(dims.len()).filter(|_| offset.len() == whole.len()) else {
            return Err(Error::Rank { op: OP, a: whole, b: dims });
        };
        let mut start = 0;
        for axis in 0..whole.len() {
            let extent = if axis < dropped { 1 } else { dims[axis - dropped] };
            check_axis(OP, dims, offset, whole, axis, extent)?;
            start += offset[axis] * self.strides[axis];
        }
        let span = span_of(dims, strides)?;
        if span > 0 && start + span > self.span {
            return Err(Error::OutOfBounds { op: OP, shape: dims, offset, whole, axis: 0 });
        }
        let first = self.first.wrapping_add(start as usize * self.dtype.size());
        Ok(Memory { dtype: self.dtype, dims, strides, first, span })
    }

    /// Position of a region's first element; the region of the given extents must lie inside. One without elements is
    /// anywhere: blocks behind the valid part of a tile are empty, wherever they start.
    fn region(&self, op: &'static str, offset: Shape, shape: Shape) -> Result<i64> {
        if offset.len() != self.dims.len() || shape.len() != self.dims.len() {
            return Err(Error::Rank { op, a: self.dims, b: shape });
        }
        if shape.contains(&0) && shape.iter().all(|extent| *extent >= 0) {
            return Ok(0);
        }
        let mut start = 0;
        for axis in 0..shape.len() {
            check_axis(op, shape, offset, self.dims, axis, shape[axis])?;
            start += offset[axis] * self.strides[axis];
        }
        Ok(start)
    }

    /// A tile of extents `dims` whose valid part is read at `offset`, where it must lie inside.
    pub fn load(&self, offset: Shape, dims: Shape, valid: Shape) -> Result<Array> {
        let start = self.region("load", offset, valid)?;
        if valid.iter().zip(dims.iter()).any(|(valid, dim)| valid > dim) {
            return Err(Error::PartlyValid { op: "load", shape: dims, valid });
        }
        let mut array = Array::zeros(self.dtype, dims)?;
        array.valid = valid;
        let strides = [dims.row_major_strides(), self.strides];
        with_element!(self.dtype, T => {
            let out = array.elements_mut::<T>();
            for Row { starts: [o, i], len, steps: [p, q] } in Rows::new(valid, strides) {
                let i = start as usize + i;
                if T::DTYPE != DType::Bool && p == 1 && q == 1 {
                    // SAFETY: the region lies inside the memory (`region`), and the tile is memory of its own.
                    unsafe {
                        let from = self.first.add(i * size_of::<T>());
                        std::ptr::copy_nonoverlapping(from, out[o..o + len].as_mut_ptr().cast(), len * size_of::<T>());
                    }
                } else {
                    (0..len).for_each(|n| out[o + n * p] = self.element(i + n * q));
                }
            }
        });
        Ok(array)
    }

    /// Writes the valid part of a tile at `offset`, where it must lie inside.
    pub fn store(&self, array: &Array, offset: Shape) -> Result<()> {
        self.store_part(array, offset, array.valid)
    }

    /// Writes the leading part of extents `part` of a tile at `offset`, where it must lie inside.
    pub fn store_part(&self, array: &Array, offset: Shape, part: Shape) -> Result<()> {
        if array.dtype() != self.dtype {
            return Err(Error::MixedDTypes { op: "store", a: self.dtype, b: array.dtype() });
        }
        let start = self.region("store", offset, part)?;
        if part.iter().zip(array.dims.iter()).any(|(part, dim)| part > dim) {
            return Err(Error::PartlyValid { op: "store", shape: part, valid: array.dims });
        }
        let strides = [self.strides, array.dims.row_major_strides()];
        with_element!(self.dtype, T => {
            let source = array.elements::<T>();
            for Row { starts: [o, i], len, steps: [p, q] } in Rows::new(part, strides) {
                let o = start as usize + o;
                if p == 1 && q == 1 {
                    // SAFETY: the region lies inside the memory (`region`), and the tile is memory of its own.
                    unsafe {
                        let to = self.first.add(o * size_of::<T>());
                        std::ptr::copy_nonoverlapping(source[i..i + len].as_ptr().cast(), to, len * size_of::<T>());
                    }
                } else {
                    (0..len).for_each(|n| self.set_element(o + n * p, source[i + n * q]));
                }
            }
        });
        Ok(())
    }

    /// One element.
    pub fn read(&self, index: Shape) -> Result<Scalar> {
        let position = self.region("read", index, Shape::splat(1, index.len()))?;
        Ok(with_element!(self.dtype, T => Scalar::new(self.element::<T>(position as usize))))
    }

    /// Writes one element.
    pub fn write(&self, value: Scalar, index: Shape) -> Result<()> {
        if value.dtype != self.dtype {
            return Err(Error::MixedDTypes { op: "write", a: self.dtype, b: value.dtype });
        }
        let position = self.region("write", index, Shape::splat(1, index.len()))?;
        with_element!(self.dtype, T => self.set_element::<T>(position as usize, value.get()));
        Ok(())
    }

    /// The rows of a rank-2 tensor that an index tile `[n, 1]` names.
    pub fn gather_rows(&self, index: &Array) -> Result<Array> {
        let (rows, columns) = self.rows("gather_rows", index)?;
        let mut array = Array::zeros(self.dtype, Shape::from([index.dims[0], columns]))?;
        array.valid[0] = index.valid[0];
        with_element!(self.dtype, T => {
            let out = array.elements_mut::<T>();
            for (n, row) in rows.iter().enumerate() {
                for column in 0..columns {
                    let position = row * self.strides[0] + column * self.strides[1];
                    out[n * columns as usize + column as usize] = self.element(position as usize);
                }
            }
        });
        Ok(array)
    }

    /// Writes the valid part of a tile's rows to the rows that an index tile `[n, 1]` names; later rows win.
    pub fn scatter_rows(&self, tile: &Array, index: &Array) -> Result<()> {
        const OP: &str = "scatter_rows";
        if tile.dtype() != self.dtype {
            return Err(Error::MixedDTypes { op: OP, a: self.dtype, b: tile.dtype() });
        }
        let (rows, columns) = self.rows(OP, index)?;
        if tile.dims.len() != 2 || tile.dims[1] != columns {
            return Err(Error::Rank { op: OP, a: self.dims, b: tile.dims });
        }
        with_element!(self.dtype, T => {
            let source = tile.elements::<T>();
            for (n, row) in rows.iter().enumerate().take(tile.valid[0] as usize) {
                for column in 0..tile.valid[1] {
                    let position = row * self.strides[0] + column * self.strides[1];
                    self.set_element::<T>(position as usize, source[n * columns as usize + column as usize]);
                }
            }
        });
        Ok(())
    }

    /// The valid indices, each checked, and the number of columns.
    fn rows(&self, op: &'static str, index: &Array) -> Result<(Vec<i64>, i64)> {
        if self.dims.len() != 2 || index.dims.len() != 2 || index.dims[1] != 1 {
            return Err(Error::Rank { op, a: self.dims, b: index.dims });
        }
        let extent = self.dims[0];
        let row = |n| match index.get(&[n, 0])?.index() {
            Some(row) if (0..extent).contains(&row) => Ok(row),
            Some(index) => Err(Error::Index { index, extent }),
            None => Err(Error::DType { op, dtype: index.dtype() }),
        };
        let valid = if index.valid[1] == 0 { 0 } else { index.valid[0] };
        Ok(((0..valid).map(row).collect::<Result<Vec<i64>>>()?, self.dims[1]))
    }

    #[inline]
    fn element<T: Element>(&self, position: usize) -> T {
        debug_assert!((position as i64) < self.span);
        let address = self.first.wrapping_add(position * size_of::<T>());
        // SAFETY: callers have checked the position against the extents, so it is inside the memory. A `bool` is read as
        // the byte it is, whatever its value. Kernels may hand on addresses that are not aligned.
        unsafe {
            if T::DTYPE == DType::Bool {
                T::from_bits64(u64::from(address.read()))
            } else {
                address.cast::<T>().read_unaligned()
            }
        }
    }

    #[inline]
    fn set_element<T: Element>(&self, position: usize, value: T) {
        debug_assert!((position as i64) < self.span);
        let address = self.first.wrapping_add(position * size_of::<T>());
        // SAFETY: callers have checked the position against the extents, so it is inside the memory.
        unsafe { address.cast::<T>().write_unaligned(value) }
    }

    /// Calls `range` for the bytes of each row of a region that lies inside.
    pub fn byte_ranges(&self, offset: Shape, shape: Shape, mut range: impl FnMut(ByteRange)) {
        let Ok(start) = self.region("region", offset, shape) else { return };
        let size = self.dtype.size();
        for Row { starts: [o], len, steps: [step] } in Rows::new(shape, [self.strides]) {
            let first = self.first as usize + (start as usize + o) * size;
            if step == 1 {
                range((first, first + len * size));
            } else {
                (0..len).for_each(|n| range((first + n * step * size, first + (n * step + 1) * size)));
            }
        }
    }
}

fn check_axis(op: &'static str, shape: Shape, offset: Shape, whole: Shape, axis: usize, extent: i64) -> Result<()> {
    let inside =
        offset[axis] >= 0 && extent >= 0 && offset[axis].checked_add(extent).is_some_and(|end| end <= whole[axis]);
    if inside { Ok(()) } else { Err(Error::OutOfBounds { op, shape, offset, whole, axis }) }
}

/// Elements from the first to behind the last that a layout reaches.
fn span_of(dims: Shape, strides: Shape) -> Result<i64> {
    const LIMIT: i64 = i64::MAX / 16;
    if dims.count()? == 0 {
        return Ok(0);
    }
    if strides.len() != dims.len() {
        return Err(Error::Rank { op: "view", a: dims, b: strides });
    }
    let mut span: i64 = 1;
    for (extent, stride) in dims.iter().zip(strides.iter()) {
        let reach = (extent - 1).checked_mul(*stride).filter(|reach| (0..=LIMIT).contains(reach));
        span = reach.and_then(|reach| span.checked_add(reach)).filter(|n| *n <= LIMIT).ok_or(Error::TooLarge(dims))?;
    }
    Ok(span)
}
