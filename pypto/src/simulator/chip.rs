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

    /// Bytes of the valid elements.
    pub fn bytes(&self) -> i64 {
        self.valid[0] * self.valid[1] * self.dtype.size() as i64
    }

    /// From the first byte to behind the last.
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
        let mut array = Array::zeros(handle.dtype, Shape::from(extents))?;
        let space = &self.spaces[handle.space as usize];
        with_element!(handle.dtype, T => {
            let out = array.elements_mut::<T>();
            let size = size_of::<T>();
            for line in lines(handle, extents) {
                let at = self.inside(handle, extents, &line)?;
                let bytes = at..at + line.length * size;
                if let Some(unwritten) = space.written[bytes.clone()].iter().position(|written| !written) {
                    let address = (at + unwritten / size * size) as i64;
                    let [row, col] = line.place(unwritten / size);
                    return Err(Stop::Unwritten { space: handle.space, row, col, address });
                }
                let places = out[line.first..].iter_mut().step_by(line.step);
                places.zip(space.bytes[bytes].chunks_exact(size)).for_each(|(to, from)| *to = element::<T>(from));
            }
        });
        Ok(array)
    }

    /// Writes an array to the leading part of a tile.
    pub fn write(&mut self, handle: &Handle, array: &Array) -> Result<(), Stop> {
        let extents = [array.dims[0], array.dims[1]];
        with_element!(handle.dtype, T => {
            let elements = array.elements::<T>();
            let size = size_of::<T>();
            for line in lines(handle, extents) {
                let at = self.inside(handle, extents, &line)?;
                let space = &mut self.spaces[handle.space as usize];
                let bytes = at..at + line.length * size;
                let values = elements[line.first..].iter().step_by(line.step);
                for (to, value) in space.bytes[bytes.clone()].chunks_exact_mut(size).zip(values) {
                    to.copy_from_slice(&value.to_bits64().to_le_bytes()[..size]);
                }
                space.written[bytes].fill(true);
            }
        });
        Ok(())
    }

    /// The address of a line's first element.
    fn inside(&self, handle: &Handle, [rows, cols]: [i64; 2], line: &Line) -> Result<usize, Stop> {
        let [row, col] = line.start;
        let at = handle.offset(row, col);
        let capacity = self.spaces[handle.space as usize].bytes.len() as i64;
        let end = at + (line.length * handle.dtype.size()) as i64;
        let within = rows <= handle.rows && cols <= handle.cols && at >= 0 && end <= capacity;
        if within { Ok(at as usize) } else { Err(Stop::Outside { space: handle.space, address: at, capacity }) }
    }
}

/// Neighbouring elements of a tile, and where they are in an array of rows.
struct Line {
    /// Row and column of the first.
    start: [i64; 2],
    length: usize,
    column_order: bool,
    /// Position of the first in the array, and from one to the next.
    first: usize,
    step: usize,
}

impl Line {
    /// Row and column of an element.
    fn place(&self, number: usize) -> [i64; 2] {
        let [row, col] = self.start;
        if self.column_order { [row + number as i64, col] } else { [row, col + number as i64] }
    }
}

/// The lines of the leading part of a tile.
fn lines(handle: &Handle, [rows, cols]: [i64; 2]) -> impl Iterator<Item = Line> {
    let column_order = handle.column_order;
    let (count, length) = if column_order { (cols, rows) } else { (rows, cols) };
    let width = cols as usize;
    (0..if length > 0 { count } else { 0 }).map(move |number| Line {
        start: if column_order { [0, number] } else { [number, 0] },
        length: length as usize,
        column_order,
        first: number as usize * if column_order { 1 } else { width },
        step: if column_order { width } else { 1 },
    })
}

fn element<T: Element>(bytes: &[u8]) -> T {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}
