//! Exponentials of what is known to be at most 0 take a shorter way: the same bits as eager, and taken only where it is known.

use pypto::prelude::*;

/// Exponents that no element has above 0.
#[pypto::jit]
fn of_at_most_zero(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] y: &Tensor<f32, 2>,
    #[out]
    #[shape(6, M, N)]
    out: &mut Tensor<f32, 3>,
) {
    let (x, y) = (x.tile([0, 0], [M, N]), y.tile([0, 0], [M, N]));
    out.at_mut(0).store([0, 0], (x - x.row_max()).exp());
    out.at_mut(1).store([0, 0], (-(x * x)).exp());
    out.at_mut(2).store([0, 0], (-x.abs() - y.relu()).exp2());
    out.at_mut(3).store([0, 0], (x.min(0.0) * 2.5).exp2());
    out.at_mut(4).store([0, 0], (x - y.max(x)).exp2());
    out.at_mut(5).store([0, 0], (x.min(-0.5) + -y.abs()).exp());
}

/// Exponents that look alike, and may be large.
#[pypto::jit]
fn of_any(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(M, N)] y: &Tensor<f32, 2>,
    #[out]
    #[shape(6, M, N)]
    out: &mut Tensor<f32, 3>,
) {
    let (x, y) = (x.tile([0, 0], [M, N]), y.tile([0, 0], [M, N]));
    out.at_mut(0).store([0, 0], (x - y.row_max()).exp());
    out.at_mut(1).store([0, 0], (x * x).exp());
    out.at_mut(2).store([0, 0], (y.relu() - x.abs()).exp2());
    out.at_mut(3).store([0, 0], (x.min(0.0) * -2.5).exp2());
    out.at_mut(4).store([0, 0], (x - y.min(x)).exp2());
    out.at_mut(5).store([0, 0], (x.min(0.5) + y.min(0.5)).exp());
}

/// Ordinary numbers with NaN, infinities, zeros of both signs and what overflows among them.
fn numbers(seed: u32, extents: [i64; 2]) -> Tensor<f32, 2> {
    let special =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, 1e-40, 88.7, 200.0, -200.0, f32::MAX, f32::MIN];
    let mut state = seed;
    Tensor::from_fn(extents, |[row, _]| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = (state >> 8) as usize % 64;
        if row % 2 == 1 && pick < special.len() { special[pick] } else { (state >> 8) as f32 / (1 << 18) as f32 - 32.0 }
    })
}

fn bits(x: &Tensor<f32, 3>) -> Vec<u32> {
    x.as_slice().iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

#[test]
fn native_exponentials_have_the_bits_of_eager_ones() {
    for [m, n] in [[16, 64], [33, 37], [4, 100], [1, 1]] {
        let (x, y) = (numbers(1, [m, n]), numbers(2, [m, n]));
        let [mut native, mut eager] = [0; 2].map(|_| Tensor::zeros([6, m, n]));
        of_at_most_zero(&x, &y, &mut native).unwrap();
        of_at_most_zero.eager((&x, &y, &mut eager));
        assert_eq!(bits(&native), bits(&eager), "{m} x {n}");
        of_any(&x, &y, &mut native).unwrap();
        of_any.eager((&x, &y, &mut eager));
        assert_eq!(bits(&native), bits(&eager), "{m} x {n}");
    }
}

/// The upper bounds of `exp` and `exp2` are constants of their own.
#[test]
fn bounds_are_left_out_where_the_sign_is_known() {
    let (x, out) = (numbers(1, [16, 64]), Tensor::<f32, 3>::zeros([6, 16, 64]));
    let samples = (&x, &x, &out);
    let texts = [
        of_at_most_zero.compile(&samples, &RunConfig::new()).unwrap().lir_text().unwrap(),
        of_any.compile(&samples, &RunConfig::new()).unwrap().lir_text().unwrap(),
    ];
    let bounds = texts.map(|text| [" 89.0:", " 129.0:"].map(|bound| text.contains(bound)));
    assert_eq!(bounds, [[false; 2], [true; 2]]);
}
