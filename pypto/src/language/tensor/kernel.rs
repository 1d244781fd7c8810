//! What kernels do with tensors: load tiles, store tiles, gather and scatter rows.

use super::Tensor;
use crate::language::at::{At, Place};
use crate::language::operand::{Operand, TileValue};
use crate::language::tile::Tile;
use crate::ops::reference::region::for_each_row;
use crate::ops::reference::{Array, Element, Error, Shape};

/// Integer types that may index rows.
#[diagnostic::on_unimplemented(message = "rows are indexed by tiles of i32 or i64, not of `{Self}`")]
pub trait RowIndex: Element {
    #[doc(hidden)]
    fn row(self) -> i64;
}

impl RowIndex for i32 {
    fn row(self) -> i64 {
        i64::from(self)
    }
}

impl RowIndex for i64 {
    fn row(self) -> i64 {
        self
    }
}

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
        let mut array = match Array::zeros(T::DTYPE, Shape::from(shape)) {
            Ok(array) => array,
            Err(error) => panic!("{error}"),
        };
        array.valid = Shape::from(valid);
        let source = self.storage().elements();
        let start = self.start_of(offset);
        let strides = [array.dims.row_major_strides(), Shape::from(self.strides)];
        let target = array.elements_mut::<T>();
        for_each_row(Shape::from(valid), strides, |[o, i], len, steps| match steps {
            [1, 1] => target[o..o + len].copy_from_slice(&source[start + i..start + i + len]),
            [p, q] => (0..len).for_each(|n| target[o + n * p] = source[start + i + n * q]),
        });
        Tile::new(array)
    }

    /// How much of a region's valid extent lies inside the tensor.
    #[track_caller]
    fn clip(&self, op: &'static str, offset: [i64; R], shape: [i64; R], valid: [i64; R]) -> [i64; R] {
        std::array::from_fn(|axis| {
            if offset[axis] < 0 || shape[axis] < 0 {
                let (shape, offset, whole) = (Shape::from(shape), Shape::from(offset), Shape::from(self.dims));
                panic!("{}", Error::OutOfBounds { op, shape, offset, whole, axis });
            }
            valid[axis].min(self.dims[axis] - offset[axis]).clamp(0, shape[axis])
        })
    }

    fn start_of(&self, offset: [i64; R]) -> usize {
        let ahead: i64 =
            (0..R).map(|axis| offset[axis].saturating_mul(self.strides[axis])).fold(0, i64::saturating_add);
        self.start.saturating_add(ahead as usize)
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
        self.write_region(offset, valid, &array);
    }

    #[track_caller]
    fn write_region(&mut self, offset: [i64; R], valid: [i64; R], array: &Array) {
        let start = self.start_of(offset);
        let strides = [Shape::from(self.strides), array.dims.row_major_strides()];
        let source = array.elements::<T>();
        let target = self.storage_mut().elements_mut();
        for_each_row(Shape::from(valid), strides, |[o, i], len, steps| match steps {
            [1, 1] => target[start + o..start + o + len].copy_from_slice(&source[i..i + len]),
            [p, q] => (0..len).for_each(|n| target[start + o + n * p] = source[i + n * q]),
        });
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
        if array.dims == dims {
            let valid = std::array::from_fn(|axis| array.valid[axis]);
            return self.write_region([0; R], valid, &array);
        }
        let repeated = match array.data.len() {
            1 if array.dims.is_empty() => array.get(&[]).and_then(|s| crate::ops::reference::create::full(s, dims)),
            _ => crate::ops::reference::layout::broadcast_to(&array, dims),
        };
        match repeated {
            Ok(array) => self.write_region([0; R], self.dims, &array),
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
        let index = index.operand();
        let [_, columns] = self.dims;
        let dims = Shape::from([index.dims[0], columns]);
        let mut array = Array::zeros(T::DTYPE, dims).unwrap_or_else(|error| panic!("{error}"));
        array.valid[0] = index.valid[0];
        for n in 0..index.valid[0] {
            let row = self.checked_row(&index, n);
            for column in 0..columns {
                array.elements_mut::<T>()[(n * columns + column) as usize] = self.get([row, column]);
            }
        }
        Tile::new(array)
    }

    /// Writes the rows of a tile to the rows that an index tile `[n, 1]` names; later rows win.
    ///
    /// # Panics
    /// On an index outside of the tensor, and where the tile is wider than the tensor.
    #[track_caller]
    pub fn scatter_rows<I: RowIndex, X: TileValue<I, 2>, V: TileValue<T, 2>>(&mut self, index: X, rows: V) {
        let (index, rows) = (index.operand(), rows.operand());
        assert!(
            rows.dims[1] <= self.dims[1],
            "rows of {} elements do not fit a tensor of extents {:?}",
            rows.dims[1],
            self.dims
        );
        for n in 0..index.valid[0].min(rows.valid[0]) {
            let row = self.checked_row(&index, n);
            for column in 0..rows.valid[1] {
                let value = rows.elements::<T>()[(n * rows.dims[1] + column) as usize];
                self.put([row, column], value);
            }
        }
    }

    #[track_caller]
    fn checked_row(&self, index: &Array, n: i64) -> i64 {
        let row = index.get(&[n, 0]).ok().and_then(|scalar| scalar.index()).unwrap_or(-1);
        if !(0..self.dims[0]).contains(&row) {
            panic!("{}", Error::Index { index: row, extent: self.dims[0] });
        }
        row
    }
}
