//! Mathematical functions of f32, written once.
//!
//! Each function is generic over [`MathBuilder`], the operations it is made of. [`ScalarMath`] computes with Rust's f32; the code generator
//! has another implementation that writes vector instructions. All operations are exactly rounded, so both give the same bits, and "what
//! does `exp` return" has one answer in every mode.
//!
//! Error bounds are in units in the last place of the exact result, measured by this module's tests over the whole range of f32. Special
//! values follow IEEE 754: NaN stays NaN, infinities and zeros give the limits, results below the normal range lose precision gradually.

mod exponential;
mod hyperbolic;
mod large_angle;
mod power;
mod scalar;
mod trigonometric;

#[cfg(test)]
mod tests;

pub use exponential::{exp, exp2, expm1, log, log1p, log2};
use exponential::{exp_at_most_one, exp2_at_most_one};
pub use hyperbolic::{erf, sigmoid, tanh};
pub use power::pow;
pub use scalar::ScalarMath;
pub use trigonometric::{cos, sin};

/// What the functions are made of: lanes of f32, lanes of i32, and truth values. Every operation rounds once, to nearest even.
pub trait MathBuilder {
    /// f32 lanes.
    type F: Copy;
    /// i32 lanes.
    type I: Copy;
    /// One truth value per lane.
    type M: Copy;

    /// Whether [`MathBuilder::fma`] rounds once. Where it rounds twice, results differ in the last bits.
    const FUSED: bool = true;

    /// The constant in every lane.
    fn f(&mut self, value: f32) -> Self::F;
    /// a + b.
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b.
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b.
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b.
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b + c, rounded once.
    fn fma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// a with the other sign.
    fn neg(&mut self, a: Self::F) -> Self::F;
    /// a without sign.
    fn abs(&mut self, a: Self::F) -> Self::F;
    /// Square root.
    fn sqrt(&mut self, a: Self::F) -> Self::F;
    /// To integral, ties to even.
    fn rint(&mut self, a: Self::F) -> Self::F;
    /// a < b; false for NaN.
    fn lt(&mut self, a: Self::F, b: Self::F) -> Self::M;
    /// a == b; false for NaN.
    fn eq(&mut self, a: Self::F, b: Self::F) -> Self::M;
    /// a where the condition holds, else b.
    fn select(&mut self, condition: Self::M, a: Self::F, b: Self::F) -> Self::F;

    /// a * 2^n for integral n, rounded once, where that is one operation.
    #[inline(always)]
    fn scaled(&mut self, _a: Self::F, _n: Self::F) -> Option<Self::F> {
        None
    }

    /// `path` where the condition holds, else `value`. Conditions that no lane fulfils should cost little.
    fn rarely(&mut self, condition: Self::M, value: Self::F, path: impl FnOnce(&mut Self) -> Self::F) -> Self::F;

    /// The integer constant in every lane.
    fn i(&mut self, value: i32) -> Self::I;
    /// a + b, wrapping.
    fn iadd(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// a - b, wrapping.
    fn isub(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise and.
    fn iand(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise or.
    fn ior(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise exclusive or.
    fn ixor(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// a << amount.
    fn ishl(&mut self, a: Self::I, amount: i32) -> Self::I;
    /// a >> amount with the sign.
    fn ishr(&mut self, a: Self::I, amount: i32) -> Self::I;
    /// a == b.
    fn ieq(&mut self, a: Self::I, b: Self::I) -> Self::M;
    /// The integer as f32.
    fn to_f(&mut self, a: Self::I) -> Self::F;
    /// The bits of the float.
    fn bits(&mut self, a: Self::F) -> Self::I;
    /// The float of those bits.
    fn float_of(&mut self, a: Self::I) -> Self::F;

    /// Polynomial in x, coefficients from the highest power down. From five on, even and odd powers are two chains of Horner's rule in
    /// x^2: half the latency, which is what bounds a loop over short functions.
    #[inline(always)]
    fn polynomial(&mut self, x: Self::F, coefficients: &[f32]) -> Self::F {
        let count = coefficients.len();
        if count < 5 {
            return self.chain(x, coefficients, 0, 1);
        }
        let square = self.mul(x, x);
        let (even, odd) = ((count - 1) % 2, count % 2);
        let even = self.chain(square, coefficients, even, 2);
        let odd = self.chain(square, coefficients, odd, 2);
        self.fma(odd, x, even)
    }

    /// Horner's rule over every `step`-th coefficient from `first` on.
    #[inline(always)]
    fn chain(&mut self, x: Self::F, coefficients: &[f32], first: usize, step: usize) -> Self::F {
        let mut sum = self.f(coefficients[first]);
        let mut i = first + step;
        while i < coefficients.len() {
            let c = self.f(coefficients[i]);
            sum = self.fma(sum, x, c);
            i += step;
        }
        sum
    }

    /// The magnitude of `a` with the sign of `sign`.
    #[inline(always)]
    fn with_sign(&mut self, a: Self::F, sign: Self::F) -> Self::F {
        let (a, s, minus) = (self.bits(a), self.bits(sign), self.i(i32::MIN));
        let sign = self.iand(s, minus);
        let bits = self.ior(a, sign);
        self.float_of(bits)
    }
}

/// 1 / x: one rounding.
#[inline(always)]
pub fn recip<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let one = m.f(1.0);
    m.div(one, x)
}

/// 1 / sqrt(x), at most 1.5 ULP; +inf for 0, NaN for negative x.
#[inline(always)]
pub fn rsqrt<B: MathBuilder>(m: &mut B, x: B::F) -> B::F {
    let root = m.sqrt(x);
    recip(m, root)
}

/// The functions by name, for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MathFn {
    /// e^x.
    Exp,
    /// 2^x.
    Exp2,
    /// e^x - 1.
    Expm1,
    /// Natural logarithm.
    Log,
    /// Binary logarithm.
    Log2,
    /// Natural logarithm of 1 + x.
    Log1p,
    /// Hyperbolic tangent.
    Tanh,
    /// Error function.
    Erf,
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Square root.
    Sqrt,
    /// Reciprocal square root.
    Rsqrt,
    /// Reciprocal.
    Recip,
}

impl MathFn {
    /// Every function.
    pub const ALL: [MathFn; 14] = [
        MathFn::Exp,
        MathFn::Exp2,
        MathFn::Expm1,
        MathFn::Log,
        MathFn::Log2,
        MathFn::Log1p,
        MathFn::Tanh,
        MathFn::Erf,
        MathFn::Sigmoid,
        MathFn::Sin,
        MathFn::Cos,
        MathFn::Sqrt,
        MathFn::Rsqrt,
        MathFn::Recip,
    ];

    /// The same bits as [`apply`](Self::apply) for x that is at most 0, or NaN: exponentials need not look for large x.
    #[inline(always)]
    pub fn apply_at_most_zero<B: MathBuilder>(self, m: &mut B, x: B::F) -> B::F {
        match self {
            MathFn::Exp => exp_at_most_one(m, x),
            MathFn::Exp2 => exp2_at_most_one(m, x),
            _ => self.apply(m, x),
        }
    }

    /// Writes (or computes) the function.
    #[inline(always)]
    pub fn apply<B: MathBuilder>(self, m: &mut B, x: B::F) -> B::F {
        match self {
            MathFn::Exp => exp(m, x),
            MathFn::Exp2 => exp2(m, x),
            MathFn::Expm1 => expm1(m, x),
            MathFn::Log => log(m, x),
            MathFn::Log2 => log2(m, x),
            MathFn::Log1p => log1p(m, x),
            MathFn::Tanh => tanh(m, x),
            MathFn::Erf => erf(m, x),
            MathFn::Sigmoid => sigmoid(m, x),
            MathFn::Sin => sin(m, x),
            MathFn::Cos => cos(m, x),
            MathFn::Sqrt => m.sqrt(x),
            MathFn::Rsqrt => rsqrt(m, x),
            MathFn::Recip => recip(m, x),
        }
    }

    /// The function of one number.
    #[inline]
    pub fn eval(self, x: f32) -> f32 {
        self.apply(&mut ScalarMath, x)
    }

    /// The function of every element, in place; vectorized where the CPU allows.
    pub fn eval_slice(self, values: &mut [f32]) {
        scalar::map_in_place(self, values);
    }
}
