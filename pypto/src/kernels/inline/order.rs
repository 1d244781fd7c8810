//! The largest elements of rows.

use crate::prelude::*;

/// The `k` largest elements of each row in falling order, and their columns: `[M, N]` to two of `[M, k]`. Of equal elements
/// the first comes first; a NaN counts as the largest.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![2.0f32, 5.0, 3.0, 5.0], [1, 4]).load_all();
/// let (values, columns) = pypto::kernels::inline::top_k(x, 3);
/// assert_eq!((values.to_vec(), columns.to_vec()), (vec![5.0, 5.0, 3.0], vec![1, 3, 2]));
/// ```
#[pypto::function(inline)]
pub fn top_k<T: Element>(x: Tile<T>, k: i64) -> (Tile<T>, Tile<i32>) {
    let columns = x.row_argsort().slice([0, 0], [x.dim(0), k]);
    (x.gather(columns), columns)
}
