//! Special values, and slices beside single values. Errors are measured by `tests/tests/accuracy`.

use super::MathFn;

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
        (MathFn::Expm1, -inf, -1.0),
        (MathFn::Expm1, inf, inf),
        (MathFn::Expm1, 88.8, inf),
        (MathFn::Expm1, -0.0, -0.0),
        (MathFn::Expm1, 1e-45, 1e-45),
        (MathFn::Log1p, -1.0, -inf),
        (MathFn::Log1p, -1.5, nan),
        (MathFn::Log1p, inf, inf),
        (MathFn::Log1p, -0.0, -0.0),
        (MathFn::Log1p, 1e-45, 1e-45),
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
        (MathFn::Sin, -inf, nan),
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

/// Where the result is exact, Rust's `powf` gives it, and it has the special values of C.
#[test]
fn special_powers_are_those_of_powf() {
    let specials = [
        0.0,
        1.0,
        2.0,
        3.0,
        4.0,
        0.5,
        2.5,
        1e30,
        1e-45,
        16_777_216.0,
        16_777_217.0,
        4e9,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let all: Vec<f32> = specials.iter().flat_map(|x| [*x, -x]).collect();
    for x in [0.0f32, 1.0, 2.0, 0.5, 4.0, f32::INFINITY, f32::NAN].into_iter().flat_map(|x| [x, -x]) {
        for y in &all {
            let (got, want) = (super::pow(&mut super::ScalarMath, x, *y), x.powf(*y));
            let is_exact = want.abs().log2().fract() == 0.0 || !want.is_normal();
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same || !is_exact, "pow({x:?}, {y:?}) = {got:?}, not {want:?}");
        }
    }
}
