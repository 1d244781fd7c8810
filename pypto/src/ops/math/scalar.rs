//! The functions on plain f32.

use super::{MathBuilder, MathFn};

/// Computes on the spot.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScalarMath;

impl MathBuilder for ScalarMath {
    type F = f32;
    type I = i32;
    type M = bool;

    #[inline(always)]
    fn f(&mut self, value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    #[inline(always)]
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    #[inline(always)]
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }
    #[inline(always)]
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }
    #[inline(always)]
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    #[inline(always)]
    fn rint(&mut self, a: f32) -> f32 {
        a.round_ties_even()
    }
    #[inline(always)]
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    #[inline(always)]
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    #[inline(always)]
    fn select(&mut self, condition: bool, a: f32, b: f32) -> f32 {
        if condition { a } else { b }
    }
    #[inline(always)]
    fn rarely(&mut self, condition: bool, value: f32, path: impl FnOnce(&mut Self) -> f32) -> f32 {
        if condition { path(self) } else { value }
    }
    #[inline(always)]
    fn i(&mut self, value: i32) -> i32 {
        value
    }
    #[inline(always)]
    fn iadd(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn isub(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn iand(&mut self, a: i32, b: i32) -> i32 {
        a & b
    }
    #[inline(always)]
    fn ior(&mut self, a: i32, b: i32) -> i32 {
        a | b
    }
    #[inline(always)]
    fn ixor(&mut self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    #[inline(always)]
    fn ishl(&mut self, a: i32, amount: i32) -> i32 {
        a.wrapping_shl(amount as u32)
    }
    #[inline(always)]
    fn ishr(&mut self, a: i32, amount: i32) -> i32 {
        a.wrapping_shr(amount as u32)
    }
    #[inline(always)]
    fn ieq(&mut self, a: i32, b: i32) -> bool {
        a == b
    }
    #[inline(always)]
    fn to_f(&mut self, a: i32) -> f32 {
        a as f32
    }
    #[inline(always)]
    fn bits(&mut self, a: f32) -> i32 {
        a.to_bits() as i32
    }
    #[inline(always)]
    fn float_of(&mut self, a: i32) -> f32 {
        f32::from_bits(a as u32)
    }
}

/// Applies the function to each element. Without the instruction, `mul_add` is a slow call, and the loop does not vectorize.
pub(super) fn map_in_place(function: MathFn, values: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features were just found.
        unsafe { map_avx2(function, values) };
        return;
    }
    map_plain(function, values);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn map_avx2(function: MathFn, values: &mut [f32]) {
    map_plain(function, values);
}

#[inline(always)]
fn map_plain(function: MathFn, values: &mut [f32]) {
    // The choice is outside of the loops, so that each is a straight line of arithmetic.
    macro_rules! each {
        ($($name:ident),*) => {
            match function {
                $(MathFn::$name => values.iter_mut().for_each(|v| *v = MathFn::$name.apply(&mut ScalarMath, *v)),)*
            }
        };
    }
    each!(Exp, Exp2, Expm1, Log, Log2, Log1p, Tanh, Erf, Sigmoid, Sin, Cos, Sqrt, Rsqrt, Recip);
}
