//! Linear layers on 8-bit integers and floats.

use super::inline::{e8m0_decode, e8m0_encode, f8e4m3_decode, f8e4m3_encode};
use crate::prelude::*;

/// Quantizes each row of `x`, `[M, N]` of a float type, to 8-bit integers: `scale`, `[M, 1]`, is its largest magnitude divided
/// by 127, and `q` is `x / scale` rounded to the nearest, ties to even. A row of zeros has scale 0.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![-254.0f32, 3.0], [1, 2]);
/// let (mut q, mut scale) = (Tensor::zeros([1, 2]), Tensor::zeros([1, 1]));
/// pypto::kernels::quantize_rows(&x, &mut q, &mut scale)?;
/// assert_eq!((q.to_vec(), scale.to_vec()), (vec![-127, 2], vec![2.0]));
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 16))]
pub fn quantize_rows<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    q: &mut Tensor<i8, 2>,
    #[out]
    #[shape(dyn M, 1)]
    scale: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at).cast::<f32>();
        let step = t.abs().row_max() / 127.0;
        // Of a row of zeros this is 0 / 0, and NaN becomes 0.
        q.store(at, (t / step).cast_with::<i8>(Round::Rint));
        scale.store([at.offset(0), 0], step);
    }
}

/// `x @ w^T` on 8-bit integers, summed in i32 and scaled back: `x` is `[M, K]` with a scale for each row, `[M, 1]`; `w` is `[N, K]`
/// with a scale for each output, `[1, N]`; `y` is `[M, N]` of a float type.
///
/// ```
/// use pypto::prelude::*;
/// let (x, w) = (Tensor::full([1, 3], 100i8), Tensor::full([2, 3], -100i8));
/// let (x_scale, w_scale) = (Tensor::full([1, 1], 0.01f32), Tensor::full([1, 2], 0.5f32));
/// let mut y = Tensor::<f32, 2>::zeros([1, 2]);
/// pypto::kernels::w8a8_linear(&x, &x_scale, &w, &w_scale, &mut y)?;
/// assert_eq!(y.to_vec(), [-150.0; 2]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit]
pub fn w8a8_linear<T: Element>(
    #[shape(dyn M, K)] x: &Tensor<i8, 2>,
    #[shape(dyn M, 1)] x_scale: &Tensor<f32, 2>,
    #[shape(N, K)] w: &Tensor<i8, 2>,
    #[shape(1, N)] w_scale: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    y.set((matmul(x, w.t()).cast::<f32>() * (x_scale * w_scale)).cast::<T>());
}

/// Quantizes `x`, `[M, K]` of a float type, for [`mx_linear`]: each 32 elements of a row get a scale, `[M, K / 32]` of e8m0, by which the
/// largest of them lies in 256 to 512, and `q`, `[M, K]`, is `x / scale` in f8e4m3, rounded to the nearest; what is then above 448
/// becomes 448.
///
/// # Errors
/// K is a multiple of 32, and there are K / 32 scales.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::full([1, 32], -3.0f32);
/// let (mut q, mut scale) = (Tensor::zeros([1, 32]), Tensor::zeros([1, 1]));
/// pypto::kernels::mx_quantize(&x, &mut q, &mut scale)?;
/// assert_eq!((q.get([0, 0]), scale.to_vec()), (0xfc, vec![120])); // -384 times 2^-7
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 64))]
pub fn mx_quantize<T: Element>(
    #[shape(dyn M, K)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, K)]
    q: &mut Tensor<u8, 2>,
    #[out]
    #[shape(dyn M, GROUPS)]
    scale: &mut Tensor<u8, 2>,
) {
    static_assert!(GROUPS * 32 == K, "there is a scale for every 32 elements along K");
    for at in tiles([M, K], [TM, 32]) {
        let t = x.load(at).cast::<f32>();
        let step = e8m0_encode(t.abs().row_max() * 0.00390625);
        scale.store([at.offset(0), at.offset(1) / 32], step);
        q.store(at, f8e4m3_encode(t / e8m0_decode(step)));
    }
}

/// `x @ w^T` on 8-bit floats with a scale for every 32 elements along K: `x`, `[M, K]`, and `w`, `[N, K]`, hold f8e4m3 as `u8`, their
/// scales, `[M, K / 32]` and `[N, K / 32]`, hold e8m0; `y` is `[M, N]` of a float type. Products are of the decoded numbers, in f32.
///
/// # Errors
/// K is a multiple of 32, and there are K / 32 scales.
///
/// ```
/// use pypto::prelude::*;
/// let (x, w) = (Tensor::full([1, 32], 0x38u8), Tensor::full([2, 32], 0xb8u8)); // 1 and -1
/// let (x_scale, w_scale) = (Tensor::full([1, 1], 128u8), Tensor::full([2, 1], 127u8)); // 2 and 1
/// let mut y = Tensor::<f32, 2>::zeros([1, 2]);
/// pypto::kernels::mx_linear(&x, &x_scale, &w, &w_scale, &mut y)?;
/// assert_eq!(y.to_vec(), [-64.0; 2]);
/// # Ok::<(), pypto::Error>(())
/// ```
#[pypto::jit(meta(TM = 64, TN = 64))]
pub fn mx_linear<T: Element>(
    #[shape(dyn M, K)] x: &Tensor<u8, 2>,
    #[shape(dyn M, GROUPS)] x_scale: &Tensor<u8, 2>,
    #[shape(N, K)] w: &Tensor<u8, 2>,
    #[shape(N, GROUPS)] w_scale: &Tensor<u8, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    static_assert!(GROUPS * 32 == K, "there is a scale for every 32 elements along K");
    for at in tiles([M, N], [TM, TN]) {
        let (i, j) = (at.offset(0), at.offset(1));
        let a = block_scaled(x.tile([i, 0], [TM, K]), x_scale.tile([i, 0], [TM, GROUPS]));
        let b = block_scaled(w.tile([j, 0], [TN, K]), w_scale.tile([j, 0], [TN, GROUPS]));
        y.store(at, matmul(a, b.t()).cast::<T>());
    }
}

/// The numbers of f8e4m3 with a scale of e8m0 for every 32 of them.
#[pypto::function(inline)]
fn block_scaled(bits: Tile<u8>, scales: Tile<u8>) -> Tile<f32> {
    let group = Tile::<i32>::iota([1, bits.dim(1)], 1, 0) >> 5;
    f8e4m3_decode(bits) * e8m0_decode(scales).gather(group)
}
