//! Places of tiles in tensors.

/// A place as [`tiles`](super::loops::tiles()) yields it: where a tile starts, its extents, and how much of it lies
/// inside, so that a ragged edge needs no code in the kernel.
///
/// ```
/// use pypto::prelude::*;
/// let last = tiles([5], [4]).last().unwrap();
/// assert_eq!((last.offset(0), last.shape(0), last.valid(0)), (4, 4, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<const R: usize> {
    pub(crate) offset: [i64; R],
    pub(crate) shape: [i64; R],
    pub(crate) valid: [i64; R],
}

impl<const R: usize> At<R> {
    /// Where the tile starts along a dimension.
    #[track_caller]
    pub fn offset(&self, axis: usize) -> i64 {
        self.offset[axis]
    }

    /// The tile's extent along a dimension.
    #[track_caller]
    pub fn shape(&self, axis: usize) -> i64 {
        self.shape[axis]
    }

    /// How many elements of the tile lie inside along a dimension.
    #[track_caller]
    pub fn valid(&self, axis: usize) -> i64 {
        self.valid[axis]
    }
}

/// Where a tile is stored: an [`At`], or offsets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a place in a tensor of rank {R}",
    note = "store at an `At<{R}>` that `tiles` yields, or at offsets `[i64; {R}]`"
)]
pub trait Place<const R: usize> {
    /// The offsets, and the extents that may be written.
    #[doc(hidden)]
    fn place(self) -> ([i64; R], [i64; R]);
}

impl<const R: usize> Place<R> for At<R> {
    fn place(self) -> ([i64; R], [i64; R]) {
        (self.offset, self.valid)
    }
}

impl<const R: usize> Place<R> for [i64; R] {
    fn place(self) -> ([i64; R], [i64; R]) {
        (self, [i64::MAX; R])
    }
}
