//! How operands of different extents combine: the rule of every elementwise operation.

use super::array::Array;
use super::error::{Error, Result};
use super::shape::Shape;

/// The result's extents, and each operand's strides along them (0 where it repeats).
#[derive(Clone, Copy, Debug)]
pub struct Broadcast<const N: usize> {
    pub dims: Shape,
    /// Per dimension the least valid extent of the operands, after repetition.
    pub valid: Shape,
    pub strides: [Shape; N],
}

/// Combines operands of one rank whose extents agree or are 1; operands without dimensions are scalars.
pub fn broadcast<const N: usize>(op: &'static str, operands: [&Array; N]) -> Result<Broadcast<N>> {
    let dims = combined_dims(op, &operands)?;
    let mut valid = dims;
    for operand in operands {
        for axis in 0..operand.dims.len() {
            let repeated = operand.dims[axis] == 1 && dims[axis] != 1;
            let own = if repeated { operand.valid[axis] * dims[axis] } else { operand.valid[axis] };
            valid[axis] = valid[axis].min(own);
        }
    }
    Ok(Broadcast { dims, valid, strides: operands.map(|operand| repeating_strides(operand.dims, dims)) })
}

fn combined_dims(op: &'static str, operands: &[&Array]) -> Result<Shape> {
    let mut dims = Shape::scalar();
    for operand in operands.iter().map(|o| o.dims).filter(|d| !d.is_empty()) {
        if dims.is_empty() {
            dims = operand;
            continue;
        }
        if operand.len() != dims.len() {
            return Err(Error::Rank { op, a: dims, b: operand });
        }
        for axis in 0..dims.len() {
            match (dims[axis], operand[axis]) {
                (a, b) if a == b => {}
                (1, b) => dims[axis] = b,
                (_, 1) => {}
                _ => return Err(Error::Broadcast { op, a: dims, b: operand, axis }),
            }
        }
    }
    Ok(dims)
}

/// Row-major strides of `from` along the dimensions of `to`, 0 where `from` repeats.
pub fn repeating_strides(from: Shape, to: Shape) -> Shape {
    if from.is_empty() {
        return Shape::splat(0, to.len());
    }
    let own = from.row_major_strides();
    let mut strides = own;
    for axis in 0..from.len() {
        if from[axis] == 1 && to[axis] != 1 {
            strides[axis] = 0;
        }
    }
    strides
}
