//! What kernels do with tensors: load tiles, store tiles, gather and scatter rows.

use super::Tensor;
use crate::language::at::{At, Place};
use crate::language::operand::{Operand, TileValue};
use crate::language::tile::Tile;
use crate::language::tile::expect;
use crate::ops::reference::{Element, Error, Memory, Shape, create, layout};

/// Integer types that may index rows.
#[diagnostic::on_unimplemented(message = "rows are indexed by tiles of i32 or i64, not of `{Self}`")]
pub trait RowIndex: Element {}

impl RowIndex for i32 {}

impl RowIndex for i64 {}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// The part at `at` as a tile; its valid extent is what of it lies inside the tensor.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], [1, 3]);
    /// let widths: Vec<i64> = tiles([1, 3], [1, 2]).map(|at| x.load(at).valid(1)).collect();
    /// assert_eq!(widths, [2, 1]);
    /// ```
    #[track_caller]
    pub fn load(&self, at: At<R>) -> Tile<T, R> {
        self.load_clipped(at.offset, at.shape, at.valid)
    }

    /// The part of extents `shape` at `offset` as a tile; its valid extent is what of it lies inside the tensor.
    #[track_caller]
    pub fn tile(&self, offset: [i64; R], shape: [i64; R]) -> Tile<T, R> {
        self.load_clipped(offset, shape, shape)
    }

    /// The whole tensor as a tile.
    #[track_caller]
    pub fn load_all(&self) -> Tile<T, R> {
        self.load_clipped([0; R], self.dims, self.dims)
    }

    #[track_caller]
    fn load_clipped(&self, offset: [i64; R], shape: [i64; R], valid: [i64; R]) -> Tile<T, R> {
        let valid = self.clip("load", offset, shape, valid);
        Tile::of(self.memory().load(Shape::from(offset), Shape::from(shape), Shape::from(valid)))
    }

    /// The tensor's memory; only to be read.
    #[track_caller]
    fn memory(&self) -> Memory {
        expect(self.storage().memory(self.start, Shape::from(self.dims), Shape::from(self.strides)))
    }

    /// The tensor's memory, to be written.
    #[track_caller]
    fn memory_mut(&mut self) -> Memory {
        self.storage().before_write();
        self.memory()
    }

    /// How much of a region's valid extent lies inside the tensor.
    #[track_caller]
    fn clip(&self, op: &'static str, offset: [i64; R], shape: [i64; R], valid: [i64; R]) -> [i64; R] {
        let mut inside = valid;
        for axis in 0..R {
            if shape[axis] < 0 || !(0..=self.dims[axis]).contains(&offset[axis]) {
                let (shape, offset, whole) = (Shape::from(shape), Shape::from(offset), Shape::from(self.dims));
                panic!("{}", Error::OutOfBounds { op, shape, offset, whole, axis });
            }
            inside[axis] = valid[axis].min(self.dims[axis] - offset[axis]).min(shape[axis]);
        }
        inside
    }

    /// Writes the valid part of a tile at a place: an [`At`], or offsets. What would lie outside of the place's valid
    /// extent or of the tensor is not written.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let mut y = Tensor::<f32, 2>::zeros([2, 2]);
    /// y.store([1, 0], Tile::full([1, 2], 7.0f32));
    /// assert_eq!(y.as_slice(), [0.0, 0.0, 7.0, 7.0]);
    /// ```
    #[track_caller]
    pub fn store<P: Place<R>, V: TileValue<T, R>>(&mut self, place: P, value: V) {
        let array = value.operand();
        let (offset, limit) = place.place();
        let valid = std::array::from_fn(|axis| array.valid[axis].min(limit[axis]));
        let valid = self.clip("store", offset, valid, valid);
        expect(self.memory_mut().store_part(&array, Shape::from(offset), Shape::from(valid)));
    }

    /// Writes the whole tensor: a tile of its extents (or one that broadcasts to them), or a scalar.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let a = Tensor::full([2, 2], 1.5f32);
    /// let mut out = Tensor::<f32, 2>::zeros([2, 2]);
    /// out.set((&a + &a) * 2.0);
    /// assert_eq!(out.as_slice(), [6.0; 4]);
    /// ```
    #[track_caller]
    pub fn set<V: Operand<T, R>>(&mut self, value: V) {
        let array = value.operand();
        let dims = Shape::from(self.dims);
        let repeated = match array.dims.is_empty() {
            _ if array.dims == dims => Ok((*array).clone()),
            true => array.get(&[]).and_then(|scalar| create::full(scalar, dims)),
            false => layout::broadcast_to(&array, dims),
        };
        match repeated {
            Ok(array) => expect(self.memory_mut().store(&array, Shape::splat(0, R))),
            Err(_) => panic!("cannot set a tensor of extents {dims:?} to a tile of extents {:?}", array.dims),
        }
    }
}

impl<T: Element> Tensor<T, 2> {
    /// The rows that an index tile `[n, 1]` names, as a tile `[n, columns]`.
    ///
    /// ```
    /// use pypto::prelude::*;
    /// let table = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], [3, 1]);
    /// let index = Tensor::from_vec(vec![2i32, 0], [2, 1]);
    /// assert_eq!(table.gather_rows(&index).to_vec(), [3.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// On an index outside of the tensor.
    #[track_caller]
    pub fn gather_rows<I: RowIndex, V: TileValue<I, 2>>(&self, index: V) -> Tile<T, 2> {
        Tile::of(self.memory().gather_rows(&index.operand()))
    }

    /// Writes the rows of a tile to the rows that an index tile `[n, 1]` names; later rows win.
    ///
    /// # Panics
    /// On an index outside of the tensor, and where the tile's extents do not fit.
    #[track_caller]
    pub fn scatter_rows<I: RowIndex, X: TileValue<I, 2>, V: TileValue<T, 2>>(&mut self, index: X, rows: V) {
        expect(self.memory_mut().scatter_rows(&rows.operand(), &index.operand()));
    }
}
