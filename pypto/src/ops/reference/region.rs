//! Walks over strided regions: the loops that every elementwise and layout operation shares.
//!
//! A region has extents and, for each of `N` arrays, strides. Dimensions are merged where all arrays allow it, so that
//! the innermost loop, the row, is as long as possible.

use super::shape::{MAX_RANK, Shape};

/// Calls `row` for each innermost row of the region with the start of each array, the length, and the step of each.
/// Nothing is called for an empty region.
#[inline]
pub fn for_each_row<const N: usize>(
    extents: Shape,
    strides: [Shape; N],
    mut row: impl FnMut([usize; N], usize, [usize; N]),
) {
    if extents.contains(&0) {
        return;
    }
    let (extents, strides) = merge(extents, strides);
    let Some(last) = extents.len().checked_sub(1) else {
        return row([0; N], 1, [1; N]);
    };
    let len = extents[last] as usize;
    let steps = std::array::from_fn(|n| strides[n][last] as usize);
    let mut index = [0i64; MAX_RANK];
    let mut starts = [0i64; N];
    loop {
        row(starts.map(|s| s as usize), len, steps);
        let mut axis = last;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            for n in 0..N {
                starts[n] += strides[n][axis];
            }
            if index[axis] < extents[axis] {
                break;
            }
            for n in 0..N {
                starts[n] -= strides[n][axis] * extents[axis];
            }
            index[axis] = 0;
        }
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
        let mut rows = Vec::new();
        for_each_row(extents, [extents.row_major_strides()], |[start], len, [step]| rows.push((start, len, step)));
        assert_eq!(rows, [(0, 6, 1)]);
    }

    #[test]
    fn broadcast_dimension_has_step_zero() {
        let mut rows = Vec::new();
        for_each_row([2, 3].into(), [[3, 1].into(), [1, 0].into()], |starts, len, steps| {
            rows.push((starts, len, steps))
        });
        assert_eq!(rows, [([0, 0], 3, [1, 0]), ([3, 1], 3, [1, 0])]);
    }

    #[test]
    fn scalars_have_one_row_and_empty_regions_none() {
        let mut calls = 0;
        for_each_row(Shape::scalar(), [Shape::scalar()], |_, len, _| calls += len);
        for_each_row([0, 5].into(), [[5, 1].into()], |_, _, _| calls += 100);
        assert_eq!(calls, 1);
    }
}
