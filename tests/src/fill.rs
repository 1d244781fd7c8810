//! Contents of tensors that kernels are compared on.

use std::marker::PhantomData;

use pypto::prelude::*;

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Numbers in [-1, 1).
    Tame,
    /// Every magnitude and both zeros, but nothing that is not finite.
    Extreme,
    /// Tame numbers, with a NaN or an infinity here and there.
    Special,
}

/// Where float arithmetic overflows, underflows, loses everything or nothing.
const EXTREMES: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::MIN_POSITIVE,
    1e-41,
    -1e-45,
    1e-8,
    -88.7,
    89.0,
    1e10,
    -1e19,
    f32::MAX,
    f32::MIN,
    16_777_217.0,
    -0.499_999_97,
];

const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

impl Fill {
    /// Every kind of contents.
    pub const ALL: [Fill; 3] = [Fill::Tame, Fill::Extreme, Fill::Special];

    /// Such contents of an element type.
    pub fn of<T: FromF32>(self) -> Contents<T> {
        Contents { fill: self, element: PhantomData }
    }

    fn number(self, i: u64) -> f32 {
        let bits = scrambled(i);
        let tame = (bits >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        match self {
            Fill::Tame => tame,
            Fill::Extreme if bits.is_multiple_of(3) => tame,
            Fill::Extreme => EXTREMES[(bits % 16) as usize],
            Fill::Special if bits.is_multiple_of(23) => NOT_FINITE[(bits / 23 % 3) as usize],
            Fill::Special => tame,
        }
    }
}

/// Makes tensors of one element type.
#[derive(Clone, Copy, Debug)]
pub struct Contents<T> {
    fill: Fill,
    element: PhantomData<fn() -> T>,
}

impl<T: FromF32> Contents<T> {
    /// A tensor of that shape. The same salt gives the same numbers.
    pub fn tensor<const R: usize>(self, salt: u64, shape: [i64; R]) -> Tensor<T, R> {
        let count = shape.iter().product::<i64>().unsigned_abs();
        let start = salt << 32;
        Tensor::from_vec((start..start + count).map(|i| T::from_f32(self.fill.number(i))).collect(), shape)
    }
}

/// All bits of the result depend on all bits of `i`.
fn scrambled(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Float element types.
pub trait FromF32: Element {
    /// The nearest value.
    fn from_f32(x: f32) -> Self;
}

impl FromF32 for f32 {
    fn from_f32(x: f32) -> f32 {
        x
    }
}

impl FromF32 for f16 {
    fn from_f32(x: f32) -> f16 {
        f16::from_f32(x)
    }
}

impl FromF32 for bf16 {
    fn from_f32(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}
