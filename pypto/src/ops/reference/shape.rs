//! Extents, offsets and strides without allocation: at most [`MAX_RANK`] numbers, copied by value.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::error::{Error, Result};

/// The largest number of dimensions of a tensor or tile.
pub const MAX_RANK: usize = 6;

/// One number a dimension. Entries behind the rank are zero, so that equality may compare all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    rank: u8,
    entries: [i64; MAX_RANK],
}

impl Shape {
    /// The entries of a slice; the part beyond [`MAX_RANK`] is dropped, which type rules exclude.
    pub fn new(entries: &[i64]) -> Shape {
        let rank = entries.len().min(MAX_RANK);
        let mut shape = Shape { rank: rank as u8, entries: [0; MAX_RANK] };
        shape.entries[..rank].copy_from_slice(&entries[..rank]);
        shape
    }

    /// `rank` times the same entry.
    pub fn splat(entry: i64, rank: usize) -> Shape {
        Shape::new(&[entry; MAX_RANK][..rank.min(MAX_RANK)])
    }

    /// No dimensions: the shape of a scalar.
    pub fn scalar() -> Shape {
        Shape::new(&[])
    }

    /// Number of elements; an error where an extent is negative or the elements would not fit in memory.
    pub fn count(&self) -> Result<usize> {
        const LIMIT: i64 = i64::MAX / 8;
        let mut count: i64 = 1;
        if self.contains(&0) && self.iter().all(|n| *n >= 0) {
            return Ok(0);
        }
        for extent in self.iter() {
            count = count.checked_mul(*extent).filter(|n| (0..=LIMIT).contains(n)).ok_or(Error::TooLarge(*self))?;
        }
        Ok(count as usize)
    }

    /// Strides of a row-major array of these extents.
    pub fn row_major_strides(&self) -> Shape {
        let mut strides = *self;
        let mut stride: i64 = 1;
        for axis in (0..self.len()).rev() {
            strides[axis] = stride;
            stride = stride.wrapping_mul(self[axis].max(1));
        }
        strides
    }

    /// With one entry replaced.
    pub fn with(mut self, axis: usize, entry: i64) -> Shape {
        self[axis] = entry;
        self
    }

    /// With the last two entries exchanged; unchanged below two dimensions.
    pub fn swap_last_two(mut self) -> Shape {
        let rank = self.len();
        if rank >= 2 {
            self.swap(rank - 2, rank - 1);
        }
        self
    }

    /// Entry by entry.
    pub fn zip(self, other: &[i64], f: impl Fn(i64, i64) -> i64) -> Shape {
        let mut result = self;
        for (entry, other) in result.iter_mut().zip(other) {
            *entry = f(*entry, *other);
        }
        result
    }
}

impl Deref for Shape {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.entries[..self.rank as usize]
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut self.entries[..self.rank as usize]
    }
}

impl<const R: usize> From<[i64; R]> for Shape {
    fn from(entries: [i64; R]) -> Shape {
        Shape::new(&entries)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
