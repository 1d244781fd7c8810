//! Functions on tiles, in kernels: small floats against tables from a formula of their own, random numbers against published
//! words, the largest of rows against a sort.

use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{near, outputs, tame};

#[pypto::jit]
fn decode(
    #[shape(M, N)] x: &Tensor<u8, 2>,
    #[out]
    #[shape(M, N)]
    e4m3: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    e5m2: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    e8m0: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    f4: &mut Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    i4: &mut Tensor<i8, 2>,
) {
    let bits = x.load_all();
    e4m3.set(kernels::inline::f8e4m3_decode(bits));
    e5m2.set(kernels::inline::f8e5m2_decode(bits));
    e8m0.set(kernels::inline::e8m0_decode(bits));
    f4.set(kernels::inline::f4_decode(bits & 15));
    i4.set(kernels::inline::i4_decode(bits & 15));
}

#[pypto::jit]
fn encode(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    e4m3: &mut Tensor<u8, 2>,
    #[out]
    #[shape(M, N)]
    e5m2: &mut Tensor<u8, 2>,
    #[out]
    #[shape(M, N)]
    f4: &mut Tensor<u8, 2>,
) {
    let t = x.load_all();
    e4m3.set(kernels::inline::f8e4m3_encode(t));
    e5m2.set(kernels::inline::f8e5m2_encode(t));
    f4.set(kernels::inline::f4_encode(t));
}

/// The number of a code with that many bits of exponent and mantissa, from the definition; all codes as finite numbers.
fn number(code: u32, exponent_bits: u32, mantissa_bits: u32) -> f64 {
    let (bias, ones) = ((1i32 << (exponent_bits - 1)) - 1, (1u32 << mantissa_bits) - 1);
    let (exponent, mantissa) = ((code >> mantissa_bits) & ((1 << exponent_bits) - 1), code & ones);
    let fraction = f64::from(mantissa) / f64::from(1u32 << mantissa_bits);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(1 - bias),
        e => (1.0 + fraction) * 2f64.powi(e as i32 - bias),
    };
    if code >> (exponent_bits + mantissa_bits) & 1 == 1 { -magnitude } else { magnitude }
}

/// The number of a code of f8e4m3, f8e5m2 or f4.
fn value(format: usize, code: u32) -> f64 {
    match (format, code & 0x7f) {
        (0, 0x7f) | (1, 0x7d..) => f64::NAN,
        (1, 0x7c) => {
            if code >= 128 {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        (0, _) => number(code, 4, 3),
        (1, _) => number(code, 5, 2),
        _ => number(code, 2, 1),
    }
}

#[test]
fn every_code_decodes_to_its_number() {
    let x = Tensor::<u8, 2>::from_fn([16, 16], |[i, j]| (16 * i + j) as u8);
    let floats = || Tensor::<f32, 2>::zeros([16, 16]);
    let (e4m3, e5m2, e8m0, f4, i4) = outputs!(
        decode,
        [&x],
        e4m3 = floats(),
        e5m2 = floats(),
        e8m0 = floats(),
        f4 = floats(),
        i4 = Tensor::<i8, 2>::zeros([16, 16])
    );
    for code in 0..256u32 {
        let at = [i64::from(code / 16), i64::from(code % 16)];
        for (format, decoded) in [(0, &e4m3), (1, &e5m2)] {
            let (got, want) = (decoded.get(at), value(format, code) as f32);
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{format} {code}: {got} {want}");
        }
        let scale = if code == 255 { f32::NAN } else { 2f64.powi(code as i32 - 127) as f32 };
        assert!(e8m0.get(at) == scale || scale.is_nan() && e8m0.get(at).is_nan(), "{code}");
        assert_eq!(f4.get(at).to_bits(), (value(2, code & 15) as f32).to_bits(), "{code}");
        assert_eq!(i32::from(i4.get(at)), ((code & 15) as i32 + 8) % 16 - 8, "{code}");
    }
}

/// The code of the nearest finite number, ties to the even one, by a search of all.
fn nearest(format: usize, x: f32) -> u32 {
    let codes = [0x7f, 0x7c, 8][format];
    let sign = if x.is_sign_negative() { [0x80, 0x80, 8][format] } else { 0 };
    let magnitude = f64::from(x.abs()).min(value(format, codes - 1));
    let distance = |code: u32| (value(format, code) - magnitude).abs();
    let best = (0..codes).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a % 2).cmp(&(b % 2)))).unwrap();
    match format {
        _ if x.is_nan() => [0x7f, 0x7f, 7][format],
        1 if x.is_infinite() => 0x7c | sign,
        _ => best | sign,
    }
}

#[test]
fn encoding_rounds_to_the_nearest_code() {
    // Every number of the formats, the middle between neighbours, and its neighbours in f32.
    let mut numbers = vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 1e-45, -1e-30];
    for format in 0..3 {
        let largest = [0x7e, 0x7b, 7][format];
        for code in 0..=largest {
            let (here, next) = (
                value(format, code),
                if code < largest { value(format, code + 1) } else { value(format, code) * 1.125 },
            );
            let middle = ((here + next) / 2.0) as f32;
            for x in [here as f32, middle, middle.next_up(), middle.next_down(), (here as f32).next_up()] {
                numbers.extend([x, -x]);
            }
        }
    }
    let columns = numbers.len() as i64;
    let x = Tensor::from_vec(numbers.clone(), [1, columns]);
    let codes = || Tensor::<u8, 2>::zeros([1, columns]);
    let (e4m3, e5m2, f4) = outputs!(encode, [&x], e4m3 = codes(), e5m2 = codes(), f4 = codes());
    for (format, encoded) in [e4m3, e5m2, f4].iter().enumerate() {
        for (x, code) in numbers.iter().zip(encoded.to_vec()) {
            assert_eq!(u32::from(code), nearest(format, *x), "format {format}: {x:?}");
        }
    }
}

#[pypto::jit]
fn words(
    #[shape(1, 6)] from: &Tensor<u32, 2>,
    #[out]
    #[shape(1, 4)]
    to: &mut Tensor<u32, 2>,
) {
    let t = from.load_all();
    let (a, b, c, d) = kernels::inline::philox(
        t.slice([0, 0], [1, 1]),
        t.slice([0, 1], [1, 1]),
        t.slice([0, 2], [1, 1]),
        t.slice([0, 3], [1, 1]),
        t.slice([0, 4], [1, 1]),
        t.slice([0, 5], [1, 1]),
    );
    to.set(a.concat(b, 1).concat(c.concat(d, 1), 1));
}

/// The words that Philox's authors publish for three counters and keys.
#[test]
fn philox_gives_the_published_words() {
    let known = [
        ([0; 6], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 6], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344, 0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
    for (from, want) in known {
        let from = Tensor::from_vec(from.to_vec(), [1, 6]);
        let (to,) = outputs!(words, [&from], to = Tensor::<u32, 2>::zeros([1, 4]));
        assert_eq!(to.to_vec(), want);
    }
}

#[pypto::jit]
fn noise(
    seed: i64,
    #[out]
    #[shape(M, N)]
    bits: &mut Tensor<u32, 2>,
    #[out]
    #[shape(M, N)]
    uniform: &mut Tensor<f32, 2>,
) {
    for i in range(0, M, 1) {
        bits.store([i, 0], kernels::inline::random_bits(1, N, seed, i * N));
        uniform.store([i, 0], kernels::inline::random_uniform(1, N, seed, i * N));
    }
}

#[test]
fn random_numbers_depend_on_seed_and_number_alone() {
    let seed = 0x0123_4567_89ab_cdefi64;
    let (bits, uniform) =
        outputs!(noise, [seed], bits = Tensor::<u32, 2>::zeros([5, 7]), uniform = Tensor::<f32, 2>::zeros([5, 7]));
    let whole = scope(|| kernels::inline::random_bits(1, 35, seed, 0).to_vec());
    assert_eq!(bits.to_vec(), whole);
    let expected: Vec<f32> = whole.iter().map(|b| (b >> 8) as f32 / 16_777_216.0).collect();
    assert_eq!(uniform.to_vec(), expected);
}

#[pypto::jit(meta(TM = 4, K = 3), check(T = f16, x = [5, 8], values = [5, 3], columns = [5, 3]))]
fn largest<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, 3)]
    values: &mut Tensor<T, 2>,
    #[out]
    #[shape(dyn M, 3)]
    columns: &mut Tensor<i32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let (value, column) = kernels::inline::top_k(x.load(at), K);
        values.store([at.offset(0), 0], value);
        columns.store([at.offset(0), 0], column);
    }
}

#[test]
fn top_k_is_the_start_of_a_sort() {
    for [m, n] in [[0, 3], [1, 3], [5, 33], [9, 130]] {
        let x = tame::<bf16, 2>(3, [m, n]);
        let (values, columns) = outputs!(
            largest::<bf16>,
            [&x],
            values = Tensor::<bf16, 2>::zeros([m, 3]),
            columns = Tensor::<i32, 2>::zeros([m, 3])
        );
        for i in 0..m {
            let mut order: Vec<i64> = (0..n).collect();
            order.sort_by(|a, b| x.get([i, *b]).total_cmp(&x.get([i, *a])));
            for k in 0..3 {
                let column = order[k as usize];
                assert_eq!((i64::from(columns.get([i, k])), values.get([i, k])), (column, x.get([i, column])));
            }
        }
    }
}

#[pypto::jit]
fn halves(
    #[shape(M, N)] x: &Tensor<u8, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<u8, 2>,
) {
    y.set(kernels::inline::pack_nibbles(kernels::inline::unpack_nibbles(x.load_all())));
}

#[test]
fn nibbles_are_packed_as_they_were() {
    let x = Tensor::<u8, 2>::from_fn([3, 86], |[i, j]| (86 * i + j) as u8);
    let (y,) = outputs!(halves, [&x], y = Tensor::<u8, 2>::zeros([3, 86]));
    assert_eq!(x.to_vec(), y.to_vec());
}

#[test]
fn blocks_are_scaled_by_their_largest() {
    for [m, k] in [[0, 32], [1, 32], [5, 96]] {
        let x = tame::<bf16, 2>(1, [m, k]);
        let bytes = |columns| Tensor::<u8, 2>::zeros([m, columns]);
        let (q, scale) = outputs!(kernels::mx_quantize::<bf16>, [&x], q = bytes(k), scale = bytes(k / 32));
        for (i, group) in (0..m).flat_map(|i| (0..k / 32).map(move |group| (i, group))) {
            let element = |j: i64| f64::from(x.get([i, group * 32 + j]).to_f32());
            let largest = (0..32).map(|j| element(j).abs()).fold(0.0, f64::max);
            let step = 2f64.powi(i32::from(scale.get([i, group])) - 127);
            assert!(step * 256.0 <= largest && largest < step * 512.0, "{step} for {largest}");
            for j in 0..32 {
                let code = nearest(0, (element(j) / step) as f32);
                assert_eq!(u32::from(q.get([i, group * 32 + j])), code, "{}", element(j));
            }
        }
    }
}

#[test]
fn linear_layers_on_scaled_blocks() {
    for [m, k, n] in [[0, 32, 3], [1, 32, 1], [7, 96, 70]] {
        let code = |i: i64| if (i * 37) % 256 % 128 == 127 { 0 } else { (i * 37) as u8 };
        let x = Tensor::<u8, 2>::from_fn([m, k], |[i, j]| code(i * k + j));
        let w = Tensor::<u8, 2>::from_fn([n, k], |[i, j]| code(i * k + j + 11));
        let x_scale = Tensor::<u8, 2>::from_fn([m, k / 32], |[i, j]| (110 + (i + j) % 5) as u8);
        let w_scale = Tensor::<u8, 2>::from_fn([n, k / 32], |[i, j]| (112 + (i + 2 * j) % 7) as u8);
        let (y,) =
            outputs!(kernels::mx_linear::<f32>, [&x, &x_scale, &w, &w_scale], y = Tensor::<f32, 2>::zeros([m, n]));
        let element = |bits: &Tensor<u8, 2>, scales: &Tensor<u8, 2>, i: i64, j: i64| {
            value(0, u32::from(bits.get([i, j]))) * 2f64.powi(i32::from(scales.get([i, j / 32])) - 127)
        };
        let mut expected = Vec::new();
        for i in 0..m {
            for j in 0..n {
                expected.push((0..k).map(|p| element(&x, &x_scale, i, p) * element(&w, &w_scale, j, p)).sum());
            }
        }
        near(&y, &expected);
    }
}
