//! Global memory as a kernel sees it.

use super::chip::Stop;
use super::conflicts::Accesses;
use crate::ir::DType;
use crate::ir::interpreter::Tensor;
use crate::ops::reference::{Array, Scalar, Shape};

/// A part of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub tensor: Tensor,
    pub offset: Shape,
    pub sizes: Shape,
    /// Whether the kernel sees the last two dimensions exchanged; offset and sizes are the tensor's.
    pub transposed: bool,
}

impl Part {
    /// Extents as a tile has them: leading dimensions are rows.
    pub fn extents(&self) -> [i64; 2] {
        let sizes = if self.transposed { self.sizes.swap_last_two() } else { self.sizes };
        let cols = sizes.last().copied().unwrap_or(1);
        let rows = sizes[..sizes.len().saturating_sub(1)].iter().product();
        [rows, cols]
    }

    /// The elements, as rows.
    pub fn load(&self, block: i64, accesses: &mut Accesses) -> Result<Array, Stop> {
        let memory = self.tensor.memory();
        if self.sizes.contains(&0) {
            // Wherever it begins: nothing is moved.
            let dims = Shape::from(self.extents());
            let dtype = if memory.dtype() == DType::Bool { DType::U8 } else { memory.dtype() };
            return Ok(Array::zeros(dtype, dims)?);
        }
        let array = memory.load(self.offset, self.sizes, self.sizes)?;
        self.tensor.check_read(self.offset, self.sizes).map_err(|error| Stop::Memory(error.to_string()))?;
        memory.byte_ranges(self.offset, self.sizes, |range| accesses.note(block, range, false));
        let array = if self.transposed { crate::ops::reference::layout::transpose(&array)? } else { array };
        let dims = Shape::from(self.extents());
        let array = Array { dims, valid: dims, data: array.data };
        Ok(if array.dtype() == DType::Bool { as_bytes(&array) } else { array })
    }

    /// Writes rows.
    pub fn store(&self, array: Array, block: i64, accesses: &mut Accesses) -> Result<(), Stop> {
        let memory = self.tensor.memory();
        if self.sizes.contains(&0) {
            return Ok(());
        }
        self.tensor.note_write(self.offset, self.sizes).map_err(|error| Stop::Memory(error.to_string()))?;
        let array = if memory.dtype() == DType::Bool { as_truths(&array) } else { array };
        memory.store(&Array { dims: self.sizes, valid: self.sizes, data: array.data }, self.offset)?;
        memory.byte_ranges(self.offset, self.sizes, |range| accesses.note(block, range, true));
        Ok(())
    }
}

fn as_bytes(truths: &Array) -> Array {
    let bytes: Vec<u8> = truths.elements::<bool>().iter().map(|b| u8::from(*b)).collect();
    Array::from_vec(bytes, truths.dims)
}

fn as_truths(bytes: &Array) -> Array {
    let truths: Vec<bool> = bytes.elements::<u8>().iter().map(|b| *b != 0).collect();
    Array::from_vec(truths, bytes.dims)
}

/// The index of the element at a distance from a tensor's first.
pub(super) fn index_at(tensor: &Tensor, offset: i64) -> Shape {
    let memory = tensor.memory();
    let (dims, strides) = (memory.dims(), memory.strides());
    let mut axes: Vec<usize> = (0..dims.len()).filter(|a| dims[*a] > 1).collect();
    axes.sort_by_key(|a| -strides[*a]);
    let mut index = Shape::splat(0, dims.len());
    let mut rest = offset;
    for axis in axes {
        index[axis] = rest / strides[axis].max(1);
        rest %= strides[axis].max(1);
    }
    index
}

/// One element.
pub(super) fn read(tensor: &Tensor, offset: i64, block: i64, accesses: &mut Accesses) -> Result<Scalar, Stop> {
    let index = index_at(tensor, offset);
    let one = Shape::splat(1, index.len());
    let scalar = tensor.memory().read(index)?;
    tensor.check_read(index, one).map_err(|error| Stop::Memory(error.to_string()))?;
    tensor.memory().byte_ranges(index, one, |range| accesses.note(block, range, false));
    Ok(scalar)
}

/// Writes one element.
pub(super) fn write(
    tensor: &Tensor,
    value: Scalar,
    offset: i64,
    block: i64,
    accesses: &mut Accesses,
) -> Result<(), Stop> {
    let index = index_at(tensor, offset);
    let one = Shape::splat(1, index.len());
    tensor.note_write(index, one).map_err(|error| Stop::Memory(error.to_string()))?;
    tensor.memory().write(value, index)?;
    tensor.memory().byte_ranges(index, one, |range| accesses.note(block, range, true));
    Ok(())
}
