//! Functions on tiles that `pypto::kernels::inline` makes of operations: the bounds in their documentation.

use pypto::ir::DType;
use pypto::kernels::inline;
use pypto::prelude::*;

use crate::exact::erf;
use crate::sweep::{over_f32, ulps};

fn compute(function: fn(Tile<f32>) -> Tile<f32>) -> impl Fn(&[f32]) -> Vec<f32> + Sync {
    move |xs| scope(|| function(Tensor::from_vec(xs.to_vec(), [1, xs.len() as i64]).load_all()).to_vec())
}

/// Distance in units in the last place of the argument: near minus infinity results cancel.
fn of_argument(got: f64, want: f64, x: f32) -> f64 {
    let x = f64::from(x);
    // At infinity the difference is no number, whether the results are equal or one of them is none.
    if x.is_infinite() && (got.is_nan() || got == want) { 0.0 } else { ulps(x + (got - want), x, DType::F32) }
}

#[test]
fn gelu() {
    let worst = over_f32(&compute(inline::gelu), &|got, x| {
        let wide = f64::from(x);
        of_argument(got, 0.5 * wide * (1.0 + erf(wide * std::f64::consts::FRAC_1_SQRT_2)), x)
    });
    println!("{worst:?}");
    assert!(worst.ulps <= 2.0, "{worst:?}");
}

#[test]
fn silu() {
    let error = |got: f64, x: f32| {
        let wide = f64::from(x);
        ulps(got, wide / (1.0 + (-wide).exp()), DType::F32)
    };
    let normal = over_f32(&compute(inline::silu), &|got, x| if x > -87.0 { error(got, x) } else { 0.0 });
    println!("{normal:?}");
    assert!(normal.ulps <= 4.0, "{normal:?}");
    // The sigmoid is below the normal range, and x multiplies its error.
    let small = over_f32(&compute(inline::silu), &|got, x| if x.is_infinite() { 0.0 } else { error(got, x) });
    assert!(small.ulps <= 104.0, "{small:?}");
}
