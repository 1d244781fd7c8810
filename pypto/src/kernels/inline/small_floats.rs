//! Numbers of 8 and 4 bits as storage: tensors hold their bits as `u8`, and kernels decode what they load and encode what
//! they store. Decoding is exact; encoding rounds to the nearest, ties to even.

use crate::prelude::*;

/// The value of magnitude bits whose mantissa starts at bit `shift` of an f32: the f32 of that pattern, times `scale`, which makes up
/// for the other exponent bias. Subnormals come out right, too.
#[pypto::function(inline)]
fn decoded(magnitude: Tile<u32>, shift: u32, scale: f32) -> Tile<f32> {
    (magnitude << shift).bitcast::<f32>() * scale
}

/// The nearest magnitude bits of a format: `shift` mantissa bits of an f32 are cut off, the exponent is less by `bias`, numbers below
/// `normal` are multiples of `1 / steps`, and `largest` is the largest number.
#[pypto::function(inline)]
fn encoded(x: Tile<f32>, shift: u32, bias: u32, normal: f32, steps: f32, largest: f32) -> Tile<u32> {
    let magnitude = x.abs().min(largest);
    let bits = magnitude.bitcast::<u32>();
    let even = (bits >> shift) & 1u32;
    let rounded = (bits + even + ((1u32 << (shift - 1u32)) - 1u32)) >> shift;
    let small = (magnitude * steps).cast_with::<i32>(Round::Rint).cast::<u32>();
    select(magnitude.lt(normal), small, rounded - (bias << (23u32 - shift)))
}

/// The number with the sign bit of `bits`, bit `at`.
#[pypto::function(inline)]
fn signed(magnitude: Tile<f32>, bits: Tile<u32>, at: u32) -> Tile<f32> {
    select(((bits >> at) & 1u32).eq(1u32), -magnitude, magnitude)
}

/// The sign of an f32, as bit `at`.
#[pypto::function(inline)]
fn sign(x: Tile<f32>, at: u32) -> Tile<u32> {
    (x.bitcast::<u32>() >> 31u32) << at
}

/// Numbers of f8e4m3 (the variant without infinities): 4 bits of exponent, 3 of mantissa, up to 448; all ones are a NaN.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![0x38u8, 0xfe, 0x01], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f8e4m3_decode(x).to_vec(), [1.0, -448.0, 1.0 / 512.0]);
/// ```
#[pypto::function(inline)]
pub fn f8e4m3_decode(bits: Tile<u8>) -> Tile<f32> {
    let wide = bits.cast::<u32>();
    let magnitude = wide & 0x7fu32;
    // 2^120: the bias of f32 is larger by that.
    let value = select(
        magnitude.eq(0x7fu32),
        f32::NAN,
        decoded(magnitude, 20u32, 1_329_227_995_784_915_872_903_807_060_280_344_576.0),
    );
    signed(value, wide, 7u32)
}

/// The nearest numbers of f8e4m3. What is larger than 448, and infinities, become 448 with their sign.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, -1e9, 0.0], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f8e4m3_encode(x).to_vec(), [0x38, 0xfe, 0]);
/// ```
#[pypto::function(inline)]
pub fn f8e4m3_encode(x: Tile<f32>) -> Tile<u8> {
    let bits = encoded(x, 20u32, 120u32, 0.015625, 512.0, 448.0) | sign(x, 7u32);
    select(x.ne(x), 0x7fu32, bits).cast::<u8>()
}

/// Numbers of f8e5m2: 5 bits of exponent, 2 of mantissa, up to 57344, with infinities and NaNs.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![0x3cu8, 0xfc, 0x7b], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f8e5m2_decode(x).to_vec(), [1.0, f32::NEG_INFINITY, 57344.0]);
/// ```
#[pypto::function(inline)]
pub fn f8e5m2_decode(bits: Tile<u8>) -> Tile<f32> {
    let wide = bits.cast::<u32>();
    let magnitude = wide & 0x7fu32;
    // 2^112: the bias of f32 is larger by that.
    let finite = decoded(magnitude, 21u32, 5_192_296_858_534_827_628_530_496_329_220_096.0);
    let value = select(magnitude.gt(0x7cu32), f32::NAN, select(magnitude.eq(0x7cu32), f32::INFINITY, finite));
    signed(value, wide, 7u32)
}

/// The nearest numbers of f8e5m2. Finite numbers larger than 57344 become 57344 with their sign; infinities stay.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, f32::INFINITY, 1e9], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f8e5m2_encode(x).to_vec(), [0x3c, 0x7c, 0x7b]);
/// ```
#[pypto::function(inline)]
pub fn f8e5m2_encode(x: Tile<f32>) -> Tile<u8> {
    let finite = encoded(x, 21u32, 112u32, 6.103_515_6e-5, 65536.0, 57344.0);
    let bits = select(x.abs().eq(f32::INFINITY), 0x7cu32, finite) | sign(x, 7u32);
    select(x.ne(x), 0x7fu32, bits).cast::<u8>()
}

/// Scales of e8m0: powers of two, `2^(bits - 127)`; 255 is a NaN.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![127u8, 130, 0], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::e8m0_decode(x).to_vec(), [1.0, 8.0, 2f32.powi(-127)]);
/// ```
#[pypto::function(inline)]
pub fn e8m0_decode(bits: Tile<u8>) -> Tile<f32> {
    let exponent = bits.cast::<u32>();
    let power = select(exponent.eq(0u32), 0x0040_0000u32, exponent << 23u32).bitcast::<f32>();
    select(exponent.eq(255u32), f32::NAN, power)
}

/// The scales of e8m0 that are the largest powers of two not above the magnitude of a number; the smallest scale, 2^-127, for what is
/// below it. Infinities become the largest, 2^127.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1.0f32, -9.5, 0.0], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::e8m0_encode(x).to_vec(), [127, 130, 0]);
/// ```
#[pypto::function(inline)]
pub fn e8m0_encode(x: Tile<f32>) -> Tile<u8> {
    let exponent = (x.bitcast::<u32>() >> 23u32) & 255u32;
    select(x.ne(x), 255u32, exponent.min(254u32)).cast::<u8>()
}

/// Numbers of f4 (e2m1) from their codes, 0 to 15: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and the same with a sign. See
/// [`unpack_nibbles`].
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1u8, 7, 10], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f4_decode(x).to_vec(), [0.5, 6.0, -1.0]);
/// ```
#[pypto::function(inline)]
pub fn f4_decode(codes: Tile<u8>) -> Tile<f32> {
    let wide = codes.cast::<u32>();
    // 2^126: the bias of f32 is larger by that.
    signed(decoded(wide & 7u32, 22u32, 85_070_591_730_234_615_865_843_651_857_942_052_864.0), wide, 3u32)
}

/// The codes, 0 to 15, of the nearest numbers of f4. What is larger than 6, and infinities, become 6 with their sign; so do NaNs,
/// which the format does not have, without one. See [`pack_nibbles`].
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![0.6f32, 100.0, -1.2], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::f4_encode(x).to_vec(), [1, 7, 10]);
/// ```
#[pypto::function(inline)]
pub fn f4_encode(x: Tile<f32>) -> Tile<u8> {
    let bits = encoded(x, 22u32, 126u32, 1.0, 2.0, 6.0) | sign(x, 3u32);
    select(x.ne(x), 7u32, bits).cast::<u8>()
}

/// Integers of 4 bits from their codes, 0 to 15: 0 to 7 and -8 to -1. See [`unpack_nibbles`].
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![7u8, 8, 15], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::i4_decode(x).to_vec(), [7, -8, -1]);
/// ```
#[pypto::function(inline)]
pub fn i4_decode(codes: Tile<u8>) -> Tile<i8> {
    (codes.cast::<i8>() << 4i8) >> 4i8
}

/// The codes, 0 to 15, of integers of 4 bits. What is above 7 or below -8 becomes that. See [`pack_nibbles`].
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![7i8, 100, -1], [1, 3]).load_all();
/// assert_eq!(pypto::kernels::inline::i4_encode(x).to_vec(), [7, 7, 15]);
/// ```
#[pypto::function(inline)]
pub fn i4_encode(x: Tile<i8>) -> Tile<u8> {
    x.max(-8i8).min(7i8).cast::<u8>() & 15u8
}

/// Two codes of 4 bits for each byte, the lower half first: `[M, N]` to `[M, 2 N]`.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![0x21u8, 0x43], [1, 2]).load_all();
/// assert_eq!(pypto::kernels::inline::unpack_nibbles(x).to_vec(), [1, 2, 3, 4]);
/// ```
#[pypto::function(inline)]
pub fn unpack_nibbles(bytes: Tile<u8>) -> Tile<u8> {
    let column = Tile::<i32>::iota([1, bytes.dim(1) * 2], 1, 0);
    let byte = bytes.gather(column >> 1);
    select((column & 1).eq(0), byte & 15u8, byte >> 4u8)
}

/// Two codes of 4 bits, 0 to 15, in each byte, the first one in the lower half: `[M, 2 N]` to `[M, N]`.
///
/// ```
/// use pypto::prelude::*;
/// let x = Tensor::from_vec(vec![1u8, 2, 3, 4], [1, 4]).load_all();
/// assert_eq!(pypto::kernels::inline::pack_nibbles(x).to_vec(), [0x21, 0x43]);
/// ```
#[pypto::function(inline)]
pub fn pack_nibbles(codes: Tile<u8>) -> Tile<u8> {
    let column = Tile::<i32>::iota([1, codes.dim(1) / 2], 1, 0) * 2;
    codes.gather(column) | (codes.gather(column + 1) << 4u8)
}
