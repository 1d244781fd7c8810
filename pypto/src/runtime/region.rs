//! Which memory a task touches: a box of a root tensor, so that overlap is decided dimension by dimension. Views are made for
//! every task, so nothing here is on the heap.

use crate::ops::reference::{MAX_RANK, Shape};

/// Where a tensor's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// Parameter of the program.
    Param(usize),
    /// Temporary of the schedule.
    Temp(usize),
}

/// A tensor during scheduling: a box of a root tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub base: Base,
    /// First element, in elements from the root's first.
    pub offset: i64,
    /// Bytes of an element.
    pub element: usize,
    pub dims: Shape,
    pub strides: Shape,
    /// For each dimension, the root's dimension that it runs along.
    axes: [u8; MAX_RANK],
    /// The box in the root's coordinates.
    pub region: Region,
}

/// A box: for each dimension of the root, where it starts and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub start: Shape,
    pub extent: Shape,
}

impl Region {
    /// Whether some element is in both boxes.
    pub fn overlaps(&self, other: &Region) -> bool {
        let one = |axis: usize| {
            let (a, b) = (self.start[axis], other.start[axis]);
            a < b + other.extent[axis] && b < a + self.extent[axis]
        };
        (0..self.start.len()).all(one)
    }

    /// Whether every element of `other` is in this box.
    pub fn contains(&self, other: &Region) -> bool {
        let one = |axis: usize| {
            let (a, b) = (self.start[axis], other.start[axis]);
            a <= b && b + other.extent[axis] <= a + self.extent[axis]
        };
        (0..self.start.len()).all(one)
    }
}

/// A view that does not lie inside its tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the view [{}] at [{}] exceeds the tensor [{}]", list(.dims), list(.offsets), list(.whole))]
pub struct Outside {
    pub dims: Vec<i64>,
    pub offsets: Vec<i64>,
    pub whole: Vec<i64>,
}

fn list(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

impl View {
    /// A whole tensor, row-major.
    pub fn root(base: Base, element: usize, dims: &[i64]) -> View {
        let dims = Shape::new(dims);
        let region = Region { start: Shape::splat(0, dims.len()), extent: dims };
        let axes = std::array::from_fn(|axis| axis as u8);
        View { base, offset: 0, element, axes, strides: dims.row_major_strides(), region, dims }
    }

    /// The part at `offsets` with extents `dims`; leading dimensions of extent 1 are dropped where `dims` is shorter.
    pub fn view(&self, offsets: &[i64], dims: &[i64]) -> Result<View, Outside> {
        let dropped = self.dims.len().saturating_sub(dims.len());
        let mut part = *self;
        for axis in 0..self.dims.len() {
            let offset = offsets.get(axis).copied().unwrap_or(0);
            let extent = if axis < dropped { 1 } else { dims[axis - dropped] };
            if offset < 0 || extent < 0 || offset.checked_add(extent).is_none_or(|end| end > self.dims[axis]) {
                let (dims, offsets, whole) = (dims.to_vec(), offsets.to_vec(), self.dims.to_vec());
                return Err(Outside { dims, offsets, whole });
            }
            let along = self.axes[axis] as usize;
            part.offset += offset * self.strides[axis];
            part.region.start[along] += offset;
            part.region.extent[along] = extent;
        }
        part.dims = Shape::new(dims);
        part.strides = Shape::new(&self.strides[dropped..]);
        part.axes.rotate_left(dropped);
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_views_keep_root_coordinates() {
        let root = View::root(Base::Param(0), 4, &[4, 8, 10]);
        let plane = root.view(&[2, 0, 0], &[8, 10]).unwrap();
        let corner = plane.view(&[3, 4], &[2, 5]).unwrap();
        assert_eq!(corner.offset, 2 * 80 + 3 * 10 + 4);
        assert_eq!(corner.region, Region { start: [2, 3, 4].into(), extent: [1, 2, 5].into() });
        let other = root.view(&[2, 5, 0], &[1, 3, 10]).unwrap();
        assert!(!corner.region.overlaps(&other.region));
        assert!(corner.region.overlaps(&plane.region) && plane.region.contains(&corner.region));
        assert!(plane.view(&[7, 0], &[2, 10]).is_err());
        assert!(plane.view(&[i64::MAX, 0], &[2, 10]).is_err());
    }
}
