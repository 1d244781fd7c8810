//! Which memory a task touches: a box of a root tensor, so that overlap is decided dimension by dimension.

/// Where a tensor's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// Parameter of the program.
    Param(usize),
    /// Temporary of the schedule.
    Temp(usize),
}

/// A tensor during scheduling: a box of a root tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub base: Base,
    /// First element, in elements from the root's first.
    pub offset: i64,
    /// Bytes of an element.
    pub element: usize,
    pub dims: Vec<i64>,
    pub strides: Vec<i64>,
    /// For each dimension, the root's dimension that it runs along.
    axes: Vec<usize>,
    /// The box in the root's coordinates.
    pub region: Region,
}

/// A box: for each dimension of the root, where it starts and how far it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub start: Vec<i64>,
    pub extent: Vec<i64>,
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
    pub fn root(base: Base, element: usize, dims: Vec<i64>) -> View {
        let mut strides = vec![1i64; dims.len()];
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(dims[axis].max(1));
        }
        let region = Region { start: vec![0; dims.len()], extent: dims.clone() };
        View { base, offset: 0, element, axes: (0..dims.len()).collect(), strides, region, dims }
    }

    /// The part at `offsets` with extents `dims`; leading dimensions of extent 1 are dropped where `dims` is shorter.
    pub fn view(&self, offsets: &[i64], dims: &[i64]) -> Result<View, Outside> {
        let dropped = self.dims.len().saturating_sub(dims.len());
        let mut part = self.clone();
        for axis in 0..self.dims.len() {
            let offset = offsets.get(axis).copied().unwrap_or(0);
            let extent = if axis < dropped { 1 } else { dims[axis - dropped] };
            if offset < 0 || extent < 0 || offset.checked_add(extent).is_none_or(|end| end > self.dims[axis]) {
                let (dims, offsets, whole) = (dims.to_vec(), offsets.to_vec(), self.dims.clone());
                return Err(Outside { dims, offsets, whole });
            }
            part.offset += offset * self.strides[axis];
            part.region.start[self.axes[axis]] += offset;
            part.region.extent[self.axes[axis]] = extent;
        }
        part.dims = dims.to_vec();
        part.strides.drain(..dropped);
        part.axes.drain(..dropped);
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_views_keep_root_coordinates() {
        let root = View::root(Base::Param(0), 4, vec![4, 8, 10]);
        let plane = root.view(&[2, 0, 0], &[8, 10]).unwrap();
        let corner = plane.view(&[3, 4], &[2, 5]).unwrap();
        assert_eq!(corner.offset, 2 * 80 + 3 * 10 + 4);
        assert_eq!(corner.region, Region { start: vec![2, 3, 4], extent: vec![1, 2, 5] });
        let other = root.view(&[2, 5, 0], &[1, 3, 10]).unwrap();
        assert!(!corner.region.overlaps(&other.region));
        assert!(corner.region.overlaps(&plane.region) && plane.region.contains(&corner.region));
        assert!(plane.view(&[7, 0], &[2, 10]).is_err());
        assert!(plane.view(&[i64::MAX, 0], &[2, 10]).is_err());
    }
}
