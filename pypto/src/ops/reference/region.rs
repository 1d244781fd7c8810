//! Walks over strided regions: the loops that every elementwise and layout operation shares.
//!
//! A region has extents and, for each of `N` arrays, strides. Dimensions are merged where all arrays allow it, so that
//! the innermost loop, the row, is as long as possible. The walk is an iterator that knows no element types, so it is
//! compiled once for each number of arrays, not once for each operation.

use super::shape::{MAX_RANK, Shape};

/// One innermost row: where it starts in each array, its length, and the distance between its elements in each array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<const N: usize> {
    pub starts: [usize; N],
    pub len: usize,
    pub steps: [usize; N],
}

/// The rows of a region, in row-major order; none for an empty one.
#[derive(Clone, Debug)]
pub struct Rows<const N: usize> {
    extents: Shape,
    strides: [Shape; N],
    index: [i64; MAX_RANK],
    starts: [i64; N],
    done: bool,
}

impl<const N: usize> Rows<N> {
    /// The rows of the region of the given extents.
    #[inline(never)]
    pub fn new(extents: Shape, strides: [Shape; N]) -> Rows<N> {
        let done = extents.contains(&0);
        let (extents, strides) = merge(extents, strides);
        Rows { extents, strides, index: [0; MAX_RANK], starts: [0; N], done }
    }

    fn advance(&mut self) {
        for axis in (0..self.extents.len().saturating_sub(1)).rev() {
            self.index[axis] += 1;
            for n in 0..N {
                self.starts[n] += self.strides[n][axis];
            }
            if self.index[axis] < self.extents[axis] {
                return;
            }
            for n in 0..N {
                self.starts[n] -= self.strides[n][axis] * self.extents[axis];
            }
            self.index[axis] = 0;
        }
        self.done = true;
    }
}

impl<const N: usize> Iterator for Rows<N> {
    type Item = Row<N>;

    #[inline(never)]
    fn next(&mut self) -> Option<Row<N>> {
        if self.done {
            return None;
        }
        let starts = self.starts.map(|start| start as usize);
        let row = match self.extents.len().checked_sub(1) {
            None => Row { starts, len: 1, steps: [1; N] },
            Some(last) => Row {
                starts,
                len: self.extents[last] as usize,
                steps: std::array::from_fn(|n| self.strides[n][last] as usize),
            },
        };
        self.advance();
        Some(row)
    }
}

/// Drops dimensions of extent 1 and joins neighbours that all arrays hold contiguously.
fn merge<const N: usize>(extents: Shape, strides: [Shape; N]) -> (Shape, [Shape; N]) {
    let mut merged = [0i64; MAX_RANK];
    let mut merged_strides = [[0i64; MAX_RANK]; N];
    let mut rank = 0;
    for axis in 0..extents.len() {
        let extent = extents[axis];
        if extent == 1 {
            continue;
        }
        if rank > 0 && (0..N).all(|n| merged_strides[n][rank - 1] == strides[n][axis] * extent) {
            merged[rank - 1] *= extent;
            for n in 0..N {
                merged_strides[n][rank - 1] = strides[n][axis];
            }
            continue;
        }
        merged[rank] = extent;
        for n in 0..N {
            merged_strides[n][rank] = strides[n][axis];
        }
        rank += 1;
    }
    (Shape::new(&merged[..rank]), merged_strides.map(|s| Shape::new(&s[..rank])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_dimensions_become_one_row() {
        let extents = Shape::from([2, 1, 3]);
        let rows: Vec<_> = Rows::new(extents, [extents.row_major_strides()]).collect();
        assert_eq!(rows, [Row { starts: [0], len: 6, steps: [1] }]);
    }

    #[test]
    fn broadcast_dimension_has_step_zero() {
        let rows = Rows::new([2, 3].into(), [[3, 1].into(), [1, 0].into()]);
        let row = |starts| Row { starts, len: 3, steps: [1, 0] };
        assert_eq!(rows.collect::<Vec<_>>(), [row([0, 0]), row([3, 1])]);
    }

    #[test]
    fn outer_dimensions_carry() {
        let rows = Rows::new([2, 2, 2].into(), [[100, 10, 1].into()]);
        assert_eq!(rows.map(|row| row.starts[0]).collect::<Vec<_>>(), [0, 10, 100, 110]);
    }

    #[test]
    fn scalars_have_one_row_and_empty_regions_none() {
        assert_eq!(Rows::new(Shape::scalar(), [Shape::scalar()]).count(), 1);
        assert_eq!(Rows::new([0, 5].into(), [[5, 1].into()]).count(), 0);
    }
}
