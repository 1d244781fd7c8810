//! Errors against f64 over the range of f32, and the special values.

use super::MathFn;

/// erf in f64: Taylor series near 0, continued fraction of erfc elsewhere.
fn erf_exact(x: f64) -> f64 {
    let t = x.abs();
    let value = if t < 2.5 {
        let (mut term, mut sum, mut n) = (t, t, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -t * t / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let fraction = (1..=120).rev().fold(t, |f, k| t + (k as f64 / 2.0) / f);
        1.0 - (-t * t).exp() / (std::f64::consts::PI.sqrt() * fraction)
    };
    value.copysign(x)
}

fn exact(function: MathFn, x: f64) -> f64 {
    match function {
        MathFn::Exp => x.exp(),
        MathFn::Exp2 => x.exp2(),
        MathFn::Log => x.ln(),
        MathFn::Log2 => x.log2(),
        MathFn::Tanh => x.tanh(),
        MathFn::Erf => erf_exact(x),
        MathFn::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        MathFn::Sin => x.sin(),
        MathFn::Cos => x.cos(),
        MathFn::Sqrt => x.sqrt(),
        MathFn::Rsqrt => 1.0 / x.sqrt(),
        MathFn::Recip => 1.0 / x,
    }
}

/// Distance in units of the last place of the exact value; the spacing of denormals below the normal range.
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got.to_bits() == rounded.to_bits() || (got.is_nan() && rounded.is_nan()) {
        return 0.0;
    }
    if !rounded.is_finite() || !got.is_finite() {
        return f64::INFINITY;
    }
    let exponent = (want.abs().log2().floor() as i32).max(-126);
    (got as f64 - want).abs() / 2f64.powi(exponent - 23)
}

/// The largest error over every `step`-th bit pattern with |x| <= limit.
fn worst(function: MathFn, step: usize, limit: f32) -> (f64, f32) {
    let xs: Vec<f32> = (0..=u32::MAX).step_by(step).map(f32::from_bits).filter(|x| x.abs() <= limit).collect();
    let mut ys = xs.clone();
    function.eval_slice(&mut ys);
    let errors = xs.iter().zip(&ys).map(|(&x, &y)| (ulps(y, exact(function, x as f64)), x));
    errors.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

/// Bound in ULP and largest |x| for which the documentation states it.
const BOUNDS: [(MathFn, f64, f32); 12] = [
    (MathFn::Exp, 1.0, f32::INFINITY),
    (MathFn::Exp2, 1.0, f32::INFINITY),
    (MathFn::Log, 1.0, f32::INFINITY),
    (MathFn::Log2, 2.0, f32::INFINITY),
    (MathFn::Tanh, 1.5, f32::INFINITY),
    (MathFn::Erf, 1.5, f32::INFINITY),
    (MathFn::Sigmoid, 2.0, f32::INFINITY),
    (MathFn::Sin, 1.5, 1e5),
    (MathFn::Cos, 1.5, 1e5),
    (MathFn::Sqrt, 0.5, f32::INFINITY),
    (MathFn::Rsqrt, 1.5, f32::INFINITY),
    (MathFn::Recip, 0.5, f32::INFINITY),
];

#[test]
fn errors_stay_within_the_documented_bounds() {
    let worst: Vec<_> = BOUNDS.iter().map(|&(f, bound, limit)| (f, bound, worst(f, 4099, limit))).collect();
    for (function, bound, (error, x)) in &worst {
        assert!(error <= bound, "{function:?}({x:?}) is off by {error} ULP\n{worst:#?}");
    }
}

#[test]
fn special_values() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let cases = [
        (MathFn::Exp, -inf, 0.0),
        (MathFn::Exp, inf, inf),
        (MathFn::Exp, 88.8, inf),
        (MathFn::Exp, -0.0, 1.0),
        (MathFn::Exp, -103.0, 1.4e-45),
        (MathFn::Exp, -104.5, 0.0),
        (MathFn::Exp2, 10.0, 1024.0),
        (MathFn::Exp2, -149.0, 1.4e-45),
        (MathFn::Exp2, 128.0, inf),
        (MathFn::Log, 0.0, -inf),
        (MathFn::Log, -0.0, -inf),
        (MathFn::Log, -1.0, nan),
        (MathFn::Log, 1.0, 0.0),
        (MathFn::Log, inf, inf),
        (MathFn::Log2, 8.0, 3.0),
        (MathFn::Log2, 1.4e-45, -149.0),
        (MathFn::Tanh, inf, 1.0),
        (MathFn::Tanh, -inf, -1.0),
        (MathFn::Tanh, -0.0, -0.0),
        (MathFn::Tanh, 1e-45, 1e-45),
        (MathFn::Erf, inf, 1.0),
        (MathFn::Erf, -0.0, -0.0),
        (MathFn::Sigmoid, -inf, 0.0),
        (MathFn::Sigmoid, inf, 1.0),
        (MathFn::Sigmoid, 0.0, 0.5),
        (MathFn::Sin, -0.0, -0.0),
        (MathFn::Sin, inf, nan),
        (MathFn::Cos, 0.0, 1.0),
        (MathFn::Cos, -inf, nan),
        (MathFn::Rsqrt, 0.0, inf),
        (MathFn::Rsqrt, 4.0, 0.5),
        (MathFn::Recip, -0.0, -inf),
    ];
    for (function, x, want) in cases {
        let got = function.eval(x);
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{function:?}({x}) = {got}, not {want}"
        );
    }
    for function in MathFn::ALL {
        for bits in [0x7fc0_0000u32, 0x7f80_0001, 0xffff_ffff, 0x7fa5_5555] {
            assert!(function.eval(f32::from_bits(bits)).is_nan(), "{function:?} of NaN {bits:#x}");
        }
    }
}

#[test]
fn large_angles_stay_bounded_and_close() {
    for exponent in 0..128 {
        let x = 1.7f32 * 2f32.powi(exponent);
        for function in [MathFn::Sin, MathFn::Cos] {
            let got = function.eval(x);
            assert!(got.abs() <= 1.0, "{function:?}({x}) = {got}");
            if exponent <= 40 {
                let error = (got as f64 - exact(function, x as f64)).abs();
                assert!(error < 1e-6 + x as f64 * 2f64.powi(-48), "{function:?}({x}) is off by {error}");
            }
        }
    }
}

#[test]
fn slices_and_single_values_agree() {
    for function in MathFn::ALL {
        let xs: Vec<f32> = (0..1000u32).map(|i| f32::from_bits(i.wrapping_mul(4_294_967))).collect();
        let mut ys = xs.clone();
        function.eval_slice(&mut ys);
        for (x, y) in xs.iter().zip(&ys) {
            let one = function.eval(*x);
            assert!(one.to_bits() == y.to_bits() || one.is_nan() && y.is_nan(), "{function:?}({x})");
        }
    }
}
