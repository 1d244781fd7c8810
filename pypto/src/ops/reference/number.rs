//! Arithmetic of one element: what the language's operations mean on integers and on f32.

use super::element::Element;
use super::error::{Error, Result};

/// The larger; NaN if either is NaN.
#[inline(always)]
pub fn max_f32(a: f32, b: f32) -> f32 {
    if a < b || (b.is_nan() && !a.is_nan()) { b } else { a }
}

/// The smaller; NaN if either is NaN.
#[inline(always)]
pub fn min_f32(a: f32, b: f32) -> f32 {
    if a > b || (b.is_nan() && !a.is_nan()) { b } else { a }
}

/// Integer element types.
pub trait Integer: Element + Ord {
    const MIN: Self;
    const MAX: Self;
    const ONE: Self;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn wrapping_neg(self) -> Self;
    fn wrapping_abs(self) -> Self;
    /// Towards zero; an error for a divisor of zero and for MIN / -1.
    fn divide(self, other: Self) -> Result<Self>;
    /// With the sign of the dividend; errors as [`Integer::divide`].
    fn remainder(self, other: Self) -> Result<Self>;
    /// The amount is taken modulo the bit width.
    fn shift_left(self, amount: Self) -> Self;
    /// The amount is taken modulo the bit width; copies of the sign bit move in.
    fn shift_right(self, amount: Self) -> Self;
    fn bit_and(self, other: Self) -> Self;
    fn bit_or(self, other: Self) -> Self;
    fn bit_xor(self, other: Self) -> Self;
    fn bit_not(self) -> Self;
    fn to_i64(self) -> i64;
    /// As Rust's `as`: towards zero, saturating, NaN to 0.
    fn from_f32_saturating(x: f32) -> Self;
}

macro_rules! integers {
    ($($t:ident, $abs:ident;)*) => { $(
        impl Integer for $t {
            const MIN: Self = $t::MIN;
            const MAX: Self = $t::MAX;
            const ONE: Self = 1;

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                $t::wrapping_add(self, other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                $t::wrapping_sub(self, other)
            }

            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                $t::wrapping_mul(self, other)
            }

            #[inline(always)]
            fn wrapping_neg(self) -> Self {
                $t::wrapping_neg(self)
            }

            #[inline(always)]
            fn wrapping_abs(self) -> Self {
                integers!(@abs $abs $t self)
            }

            #[inline(always)]
            fn divide(self, other: Self) -> Result<Self> {
                match $t::checked_div(self, other) {
                    Some(quotient) => Ok(quotient),
                    None if other == 0 => Err(Error::DivisionByZero),
                    None => Err(Error::DivisionOverflow(Self::DTYPE)),
                }
            }

            #[inline(always)]
            fn remainder(self, other: Self) -> Result<Self> {
                match $t::checked_rem(self, other) {
                    Some(remainder) => Ok(remainder),
                    None if other == 0 => Err(Error::DivisionByZero),
                    None => Err(Error::DivisionOverflow(Self::DTYPE)),
                }
            }

            #[inline(always)]
            fn shift_left(self, amount: Self) -> Self {
                $t::wrapping_shl(self, amount as u32)
            }

            #[inline(always)]
            fn shift_right(self, amount: Self) -> Self {
                $t::wrapping_shr(self, amount as u32)
            }

            #[inline(always)]
            fn bit_and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn bit_or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn bit_not(self) -> Self {
                !self
            }

            #[inline(always)]
            fn to_i64(self) -> i64 {
                i64::from(self)
            }

            #[inline(always)]
            fn from_f32_saturating(x: f32) -> Self {
                x as $t
            }
        }
    )* };
    (@abs signed $t:ident $x:ident) => { $t::wrapping_abs($x) };
    (@abs unsigned $t:ident $x:ident) => { $x };
}

integers! {
    i8, signed;
    i16, signed;
    i32, signed;
    i64, signed;
    u8, unsigned;
    u16, unsigned;
    u32, unsigned;
}

/// Evaluates an expression with a type name bound to the Rust type of an integer [`crate::ir::DType`]; `else` for others.
macro_rules! with_integer {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::ops::reference::element::match_dtype!($dtype, $T => $body, [
            I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32
        ], else $other)
    };
}
pub(crate) use with_integer;
