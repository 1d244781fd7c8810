//! The memory of a core: bytes, and which of them were written.

use crate::ir::DType;
use crate::ops::reference::element::with_element;
use crate::ops::reference::{Array, Element, Shape};
use crate::target::{Space, Target};

/// A handle on a tile: where its elements are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Handle {
    pub space: Space,
    /// Address of the first element.
    pub address: i64,
    pub dtype: DType,
    pub rows: i64,
    pub cols: i64,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Whether neighbours in a column are adjacent, `rows` apart otherwise.
    pub column_order: bool,
    pub valid: [i64; 2],
}

impl Handle {
    fn offset(&self, row: i64, col: i64) -> i64 {
        let position = if self.column_order { col * self.rows + row } else { row * self.pitch + col };
        self.address + position * self.dtype.size() as i64
    }

    /// Bytes from the first to behind the last element.
    pub fn range(&self) -> (i64, i64) {
        let last = self.offset(self.rows - 1, self.cols - 1) + self.dtype.size() as i64;
        (self.address, last)
    }
}

/// Why a block stops.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Stop {
    #[error("reads element [{row}, {col}] of a tile in `{space}`, at address {address}, where nothing was written")]
    Unwritten { space: Space, row: i64, col: i64, address: i64 },
    #[error("address {address} is outside of `{space}`, which has {capacity} bytes")]
    Outside { space: Space, address: i64, capacity: i64 },
    #[error("`pto.{op}` on a tile whose valid extents are {found:?}, expected {expected:?}")]
    Valid { op: &'static str, found: [i64; 2], expected: [i64; 2] },
    #[error(transparent)]
    Operation(#[from] crate::ops::reference::Error),
    #[error("{0}")]
    Memory(String),
    #[error("the kernel is not well formed: {0}")]
    Malformed(&'static str),
}

/// One space.
#[derive(Debug)]
struct Bytes {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

/// The memory of a core.
#[derive(Debug)]
pub(super) struct Chip {
    spaces: Vec<Bytes>,
}

impl Chip {
    /// A core on which nothing was written.
    pub fn new(target: &Target, used: impl Fn(Space) -> i64) -> Chip {
        let spaces = target.spaces.iter().map(|info| {
            // Only what the kernel uses is there, but never more than the core has.
            let size = used(info.space).clamp(0, info.capacity) as usize;
            Bytes { bytes: vec![0; size], written: vec![false; size] }
        });
        Chip { spaces: spaces.collect() }
    }

    /// The leading `extents` of a tile.
    pub fn read(&self, handle: &Handle, extents: [i64; 2]) -> Result<Array, Stop> {
        let [rows, cols] = extents;
        let mut array = Array::zeros(handle.dtype, Shape::from([rows, cols]))?;
        let space = &self.spaces[handle.space as usize];
        with_element!(handle.dtype, T => {
            let out = array.elements_mut::<T>();
            let size = size_of::<T>();
            for row in 0..rows {
                for col in 0..cols {
                    let at = self.inside(handle, row, col)?;
                    if space.written[at..at + size].contains(&false) {
                        let address = at as i64;
                        return Err(Stop::Unwritten { space: handle.space, row, col, address });
                    }
                    out[(row * cols + col) as usize] = element::<T>(&space.bytes[at..at + size]);
                }
            }
        });
        Ok(array)
    }

    /// Writes an array to the leading part of a tile.
    pub fn write(&mut self, handle: &Handle, array: &Array) -> Result<(), Stop> {
        let (rows, cols) = (array.dims[0], array.dims[1]);
        with_element!(handle.dtype, T => {
            let elements = array.elements::<T>();
            let size = size_of::<T>();
            for row in 0..rows {
                for col in 0..cols {
                    let at = self.inside(handle, row, col)?;
                    let space = &mut self.spaces[handle.space as usize];
                    let bits = elements[(row * cols + col) as usize].to_bits64().to_le_bytes();
                    space.bytes[at..at + size].copy_from_slice(&bits[..size]);
                    space.written[at..at + size].fill(true);
                }
            }
        });
        Ok(())
    }

    fn inside(&self, handle: &Handle, row: i64, col: i64) -> Result<usize, Stop> {
        let at = handle.offset(row, col);
        let capacity = self.spaces[handle.space as usize].bytes.len() as i64;
        let within = row < handle.rows && col < handle.cols && at >= 0 && at + handle.dtype.size() as i64 <= capacity;
        if within { Ok(at as usize) } else { Err(Stop::Outside { space: handle.space, address: at, capacity }) }
    }
}

fn element<T: Element>(bytes: &[u8]) -> T {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}
