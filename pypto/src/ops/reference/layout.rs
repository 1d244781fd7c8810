//! Tiles rearranged, cut, joined, or with another extent.

use super::array::{Array, Scalar};
use super::broadcast::repeating_strides;
use super::element::{Element, with_element, zeros};
use super::error::{Error, Result};
use super::region::{Row, Rows};
use super::shape::Shape;

/// Copies a strided region; `to` and `from` start at given elements.
fn copy_region<T: Element>(extents: Shape, to: (&mut [T], usize, Shape), from: (&[T], usize, Shape)) {
    let (target, target_start, target_strides) = to;
    let (source, source_start, source_strides) = from;
    for Row { starts: [o, i], len, steps } in Rows::new(extents, [target_strides, source_strides]) {
        let (o, i) = (o + target_start, i + source_start);
        match steps {
            [1, 1] => target[o..o + len].copy_from_slice(&source[i..i + len]),
            [p, q] => (0..len).for_each(|n| target[o + n * p] = source[i + n * q]),
        }
    }
}

fn start(offset: Shape, strides: Shape) -> usize {
    offset.iter().zip(strides.iter()).map(|(o, s)| o * s).sum::<i64>() as usize
}

fn check_inside(op: &'static str, offset: Shape, shape: Shape, whole: Shape) -> Result<()> {
    if offset.len() != whole.len() || shape.len() != whole.len() {
        return Err(Error::Rank { op, a: whole, b: if shape.len() == whole.len() { offset } else { shape } });
    }
    for axis in 0..whole.len() {
        let end = offset[axis].checked_add(shape[axis]);
        if offset[axis] < 0 || shape[axis] < 0 || end.is_none_or(|end| end > whole[axis]) {
            return Err(Error::OutOfBounds { op, shape, offset, whole, axis });
        }
    }
    Ok(())
}

/// The part of extents `dims` at `offset`, which must lie inside the physical extents. What of it was valid stays so.
pub fn slice(x: &Array, offset: Shape, dims: Shape) -> Result<Array> {
    check_inside("slice", offset, dims, x.dims)?;
    let strides = x.dims.row_major_strides();
    let mut valid = dims;
    for axis in 0..dims.len() {
        valid[axis] = (x.valid[axis] - offset[axis]).clamp(0, dims[axis]);
    }
    with_element!(x.dtype(), T => {
        let mut out = zeros::<T>(dims, dims.count()?)?;
        let from = (x.elements::<T>(), start(offset, strides), strides);
        copy_region(dims, (&mut out, 0, dims.row_major_strides()), from);
        Ok(Array { dims, valid, data: T::wrap(out) })
    })
}

/// `target` with the valid part of `source` written at `offset`. The result is as valid as the target.
pub fn assemble(target: Array, source: &Array, offset: Shape) -> Result<Array> {
    if target.dtype() != source.dtype() {
        return Err(Error::MixedDTypes { op: "assemble", a: target.dtype(), b: source.dtype() });
    }
    check_inside("assemble", offset, source.valid, target.dims)?;
    let mut target = target;
    let strides = target.dims.row_major_strides();
    with_element!(target.dtype(), T => {
        let to = (target.elements_mut::<T>(), start(offset, strides), strides);
        copy_region(source.valid, to, (source.elements::<T>(), 0, source.dims.row_major_strides()));
    });
    Ok(target)
}

/// The same elements in row-major order under other extents. Every element must be valid.
pub fn reshape(x: Array, dims: Shape) -> Result<Array> {
    if !x.is_full() {
        return Err(Error::PartlyValid { op: "reshape", shape: x.dims, valid: x.valid });
    }
    if dims.count()? != x.data.len() {
        return Err(Error::Extents { op: "reshape", from: x.dims, to: dims });
    }
    Ok(Array { dims, valid: dims, data: x.data })
}

/// The last two dimensions exchanged; rank at least 2.
pub fn transpose(x: &Array) -> Result<Array> {
    if x.dims.len() < 2 {
        return Err(Error::Axis { axis: 1, shape: x.dims });
    }
    let (dims, valid) = (x.dims.swap_last_two(), x.valid.swap_last_two());
    with_element!(x.dtype(), T => {
        let mut out = zeros::<T>(dims, dims.count()?)?;
        let from = (x.elements::<T>(), 0, x.dims.row_major_strides().swap_last_two());
        copy_region(dims, (&mut out, 0, dims.row_major_strides()), from);
        Ok(Array { dims, valid, data: T::wrap(out) })
    })
}

/// `a` then `b` along the axis; the other extents agree, and `a` is valid in full along it.
pub fn concat(a: &Array, b: &Array, axis: usize) -> Result<Array> {
    const OP: &str = "concat";
    if a.dtype() != b.dtype() {
        return Err(Error::MixedDTypes { op: OP, a: a.dtype(), b: b.dtype() });
    }
    if a.dims.len() != b.dims.len() {
        return Err(Error::Rank { op: OP, a: a.dims, b: b.dims });
    }
    if axis >= a.dims.len() {
        return Err(Error::Axis { axis, shape: a.dims });
    }
    if let Some(other) = (0..a.dims.len()).find(|other| *other != axis && a.dims[*other] != b.dims[*other]) {
        return Err(Error::Broadcast { op: OP, a: a.dims, b: b.dims, axis: other });
    }
    for x in [a, b] {
        if x.valid[axis] != x.dims[axis] {
            return Err(Error::PartlyValid { op: OP, shape: x.dims, valid: x.valid });
        }
    }
    let extent = a.dims[axis].checked_add(b.dims[axis]).ok_or(Error::TooLarge(a.dims))?;
    let dims = a.dims.with(axis, extent);
    let valid = a.valid.zip(&b.valid, i64::min).with(axis, extent);
    let strides = dims.row_major_strides();
    with_element!(a.dtype(), T => {
        let mut out = zeros::<T>(dims, dims.count()?)?;
        copy_region(a.dims, (&mut out, 0, strides), (a.elements::<T>(), 0, a.dims.row_major_strides()));
        let second = (a.dims[axis] * strides[axis]) as usize;
        copy_region(b.dims, (&mut out, second, strides), (b.elements::<T>(), 0, b.dims.row_major_strides()));
        Ok(Array { dims, valid, data: T::wrap(out) })
    })
}

/// Extents of 1 repeated to those of `dims`.
pub fn broadcast_to(x: &Array, dims: Shape) -> Result<Array> {
    const OP: &str = "broadcast";
    if x.dims.len() != dims.len() {
        return Err(Error::Rank { op: OP, a: x.dims, b: dims });
    }
    let mut valid = dims;
    for axis in 0..dims.len() {
        match (x.dims[axis], dims[axis]) {
            (a, b) if a == b => valid[axis] = x.valid[axis],
            (1, n) => valid[axis] = x.valid[axis] * n,
            _ => return Err(Error::Broadcast { op: OP, a: x.dims, b: dims, axis }),
        }
    }
    with_element!(x.dtype(), T => {
        let mut out = zeros::<T>(dims, dims.count()?)?;
        let from = (x.elements::<T>(), 0, repeating_strides(x.dims, dims));
        copy_region(dims, (&mut out, 0, dims.row_major_strides()), from);
        Ok(Array { dims, valid, data: T::wrap(out) })
    })
}

/// The value in every element outside the valid extent; everything is valid then.
pub fn fillpad(x: &Array, value: Scalar) -> Result<Array> {
    if x.dtype() != value.dtype {
        return Err(Error::MixedDTypes { op: "fillpad", a: x.dtype(), b: value.dtype });
    }
    let mut result = super::create::full(value, x.dims)?;
    let strides = x.dims.row_major_strides();
    with_element!(x.dtype(), T => {
        copy_region(x.valid, (result.elements_mut::<T>(), 0, strides), (x.elements::<T>(), 0, strides));
    });
    Ok(result)
}

/// The same elements with another valid extent, `0 <= valid <= dims`.
pub fn set_valid(x: Array, valid: Shape) -> Result<Array> {
    check_inside("set_valid", Shape::splat(0, x.dims.len()), valid, x.dims)?;
    Ok(Array { valid, ..x })
}
