//! Math functions of f32 for the reference semantics.

/// e to the power of x.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    f64::from(x).exp() as f32
}

/// Natural logarithm.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    f64::from(x).ln() as f32
}

/// `1 / sqrt(x)`.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    f64::from(x).tanh() as f32
}

/// Error function, by its Maclaurin series and by the continued fraction of its complement.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let z = f64::from(x.abs());
    let value = if x.is_nan() {
        return x;
    } else if z < 2.5 {
        let (mut term, mut sum) = (z, z);
        for n in 1..60 {
            let n = f64::from(n);
            term *= -z * z / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let tail = (1..60).rev().fold(z, |tail, n| z + f64::from(n) / 2.0 / tail);
        1.0 - (-z * z).exp() / (tail * std::f64::consts::PI.sqrt())
    };
    value.copysign(f64::from(x)) as f32
}

/// `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Sine of an angle in radians.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

/// Cosine of an angle in radians.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}
