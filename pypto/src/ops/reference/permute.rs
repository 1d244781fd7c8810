//! Elements of rows by index, and the order of rows. A row is the last dimension.

use super::array::Array;
use super::broadcast::repeating_strides;
use super::element::{Element, with_element, zeros};
use super::error::{Error, Result};
use super::region::{Row, Rows};
use super::shape::Shape;
use crate::ir::DType;

/// Where an array's rows start along the leading extents of `dims`, 0 along the last dimension.
fn row_starts(x: &Array, dims: Shape) -> Shape {
    let last = dims.len() - 1;
    repeating_strides(x.dims, dims.with(last, x.dims[last])).with(last, 0)
}

/// An index operand of the rank of the array.
fn check_index(op: &'static str, x: &Array, index: &Array) -> Result<usize> {
    if index.dtype() != DType::I32 {
        return Err(Error::DType { op, dtype: index.dtype() });
    }
    if x.dims.len() != index.dims.len() {
        return Err(Error::Rank { op, a: x.dims, b: index.dims });
    }
    x.dims.len().checked_sub(1).ok_or(Error::Axis { axis: 0, shape: x.dims })
}

/// The position that an index names below `extent`.
fn position(index: i32, extent: i64) -> Result<usize> {
    let index = i64::from(index);
    if (0..extent).contains(&index) { Ok(index as usize) } else { Err(Error::Index { index, extent }) }
}

/// How many leading elements of `axis` count after repetition to `to`.
fn repeated_valid(x: &Array, axis: usize, to: i64) -> i64 {
    if x.dims[axis] == 1 && to != 1 { x.valid[axis] * to } else { x.valid[axis] }
}

/// `x[.., i, index[.., i, k]]`; leading extents of 1 repeat. An index outside of the valid part of a row is an error.
pub fn gather(x: &Array, index: &Array) -> Result<Array> {
    const OP: &str = "gather";
    let last = check_index(OP, x, index)?;
    let (mut dims, mut valid) = (index.dims, index.valid);
    for axis in 0..last {
        dims[axis] = match (x.dims[axis], index.dims[axis]) {
            (a, b) if a == b || b == 1 => a,
            (1, b) => b,
            _ => return Err(Error::Broadcast { op: OP, a: x.dims, b: index.dims, axis }),
        };
        valid[axis] = repeated_valid(x, axis, dims[axis]).min(repeated_valid(index, axis, dims[axis]));
    }
    let strides = [dims.row_major_strides(), repeating_strides(index.dims, dims), row_starts(x, dims)];
    with_element!(x.dtype(), T => {
        let (from, indices) = (x.elements::<T>(), index.elements::<i32>());
        let mut out = zeros::<T>(dims, dims.count()?)?;
        for Row { starts: [o, i, row], len, steps: [p, q, step] } in Rows::new(valid, strides) {
            for n in 0..len {
                out[o + n * p] = from[row + n * step + position(indices[i + n * q], x.valid[last])?];
            }
        }
        Ok(Array { dims, valid, data: T::wrap(out) })
    })
}

/// `target` with `source[.., i, k]` at `[.., i, index[.., i, k]]`, in order of k; leading extents of 1 of index and source
/// repeat. An index outside of the row is an error. The result is as valid as the target.
pub fn scatter(target: Array, index: &Array, source: &Array) -> Result<Array> {
    const OP: &str = "scatter";
    let last = check_index(OP, &target, index)?;
    if target.dtype() != source.dtype() {
        return Err(Error::MixedDTypes { op: OP, a: target.dtype(), b: source.dtype() });
    }
    if source.dims.len() != target.dims.len() {
        return Err(Error::Rank { op: OP, a: target.dims, b: source.dims });
    }
    let dims = target.dims.with(last, index.dims[last]);
    let mut valid = dims;
    for operand in [index, source] {
        for axis in 0..dims.len() {
            let fits = operand.dims[axis] == dims[axis] || (axis != last && operand.dims[axis] == 1);
            if !fits {
                return Err(Error::Broadcast { op: OP, a: dims, b: operand.dims, axis });
            }
            valid[axis] = valid[axis].min(repeated_valid(operand, axis, dims[axis]));
        }
    }
    let mut target = target;
    let extent = target.dims[last];
    let strides =
        [row_starts(&target, dims), repeating_strides(index.dims, dims), repeating_strides(source.dims, dims)];
    with_element!(target.dtype(), T => {
        let (indices, from) = (index.elements::<i32>(), source.elements::<T>());
        let to = target.elements_mut::<T>();
        for Row { starts: [row, i, s], len, steps: [step, q, r] } in Rows::new(valid, strides) {
            for n in 0..len {
                to[row + n * step + position(indices[i + n * q], extent)?] = from[s + n * r];
            }
        }
    });
    Ok(target)
}

/// For each row the indices that put it in falling order: equal elements keep their order, a NaN counts as the largest.
pub fn row_argsort(x: &Array) -> Result<Array> {
    let Some(last) = x.dims.len().checked_sub(1) else { return Err(Error::Axis { axis: 0, shape: x.dims }) };
    let rows = x.valid.with(last, i64::from(x.valid[last] > 0));
    let strides = x.dims.row_major_strides();
    let length = x.valid[last] as usize;
    let mut out = zeros::<i32>(x.dims, x.dims.count()?)?;
    with_element!(x.dtype(), T => {
        let elements = x.elements::<T>();
        for Row { starts: [start], len, steps: [step] } in Rows::new(rows, [strides]) {
            for row in (0..len).map(|n| start + n * step) {
                let order = &mut out[row..row + length];
                order.iter_mut().enumerate().for_each(|(n, index)| *index = n as i32);
                let key = |index: i32| elements[row + index as usize];
                order.sort_by(|a, b| falling(key(*a), key(*b)));
            }
        }
    });
    Ok(Array { dims: x.dims, valid: x.valid, data: i32::wrap(out) })
}

/// The order of two elements of a falling row; only a NaN differs from itself.
#[expect(clippy::eq_op, reason = "a NaN is what differs from itself")]
fn falling<T: Element>(a: T, b: T) -> std::cmp::Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| (b != b).cmp(&(a != a)))
}
