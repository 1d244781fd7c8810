//! Tiles out of scalars.

use super::array::{Array, Scalar};
use super::element::{Element, with_element, zeros};
use super::error::{Error, Result};
use super::number::with_integer;
use super::region::{Row, Rows};
use super::shape::Shape;

/// Every element equal to the scalar.
pub fn full(value: Scalar, dims: Shape) -> Result<Array> {
    with_element!(value.dtype, T => {
        let mut elements = zeros::<T>(dims, dims.count()?)?;
        elements.fill(value.get::<T>());
        Ok(Array::from_vec(elements, dims))
    })
}

/// `start + index` along the axis, wrapping; constant along the others.
pub fn iota(start: Scalar, dims: Shape, axis: usize) -> Result<Array> {
    if axis >= dims.len() {
        return Err(Error::Axis { axis, shape: dims });
    }
    with_integer!(start.dtype, T => {
        let mut elements = zeros::<T>(dims, dims.count()?)?;
        // The index along the axis is another array of the region, one that only moves along it.
        let along = Shape::splat(0, dims.len()).with(axis, 1);
        for Row { starts: [o, i], len, steps: [o1, i1] } in Rows::new(dims, [dims.row_major_strides(), along]) {
            for n in 0..len {
                elements[o + n * o1] = start.get::<T>().wrapping_add(T::from_bits64((i + n * i1) as u64));
            }
        }
        Ok(Array::from_vec(elements, dims))
    }, else Err(Error::DType { op: "iota", dtype: start.dtype }))
}
