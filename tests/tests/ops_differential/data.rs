//! Elements of every type, as bits: special values in all combinations, tame numbers, indices.

use half::{bf16, f16};
use pypto::ir::DType;

/// What a tensor is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The special values of the type, in turn.
    Special,
    /// The special values in another order: beside [`Fill::Special`], every pair meets in a large tensor.
    Paired,
    /// Ordinary numbers with ties.
    Tame,
    /// Numbers that divide every other without overflow.
    Divisor,
    /// Every bit pattern in turn.
    Bits,
    /// Indices below a limit, in no order, with repetitions.
    Index(i64),
}

/// Numbers at which float operations and conversions change their behaviour.
const FLOATS: [f32; 42] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    0.1,
    std::f32::consts::PI,
    -7.25,
    100.3,
    -103.9,
    88.7,
    89.0,
    1e-41,
    -1e-45,
    1e-8,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    1e10,
    -1e10,
    65504.0,
    65520.0,
    2_147_483_648.0,
    -2_147_483_904.0,
    9.3e18,
    255.5,
    127.5,
    -128.5,
    32767.5,
    -32768.5,
    4_294_967_296.0,
    16_777_217.0,
    0.999_999_94,
    -0.499_999_97,
];

const INTEGERS: [i64; 12] = [-100, -8, -7, -3, -1, 0, 1, 2, 3, 7, 31, 33];

fn float_bits(x: f32, dtype: DType) -> u64 {
    match dtype {
        DType::F16 => f16::from_f32(x).to_bits().into(),
        DType::BF16 => bf16::from_f32(x).to_bits().into(),
        _ => x.to_bits().into(),
    }
}

fn integer_bits(x: i64, dtype: DType) -> u64 {
    if dtype == DType::Bool { (x & 1) as u64 } else { x as u64 & mask(dtype) }
}

fn mask(dtype: DType) -> u64 {
    u64::MAX >> (64 - dtype.bits())
}

fn specials(dtype: DType) -> Vec<u64> {
    if dtype.is_float() {
        return FLOATS.iter().map(|x| float_bits(*x, dtype)).collect();
    }
    if dtype == DType::Bool {
        return vec![0, 1, 1];
    }
    let high = 1u64 << (dtype.bits() - 1);
    let extremes = [high, high.wrapping_add(1), high.wrapping_sub(1), high.wrapping_sub(2), u64::MAX];
    let all = INTEGERS.iter().map(|x| *x as u64).chain(extremes);
    all.map(|bits| bits & mask(dtype)).collect()
}

fn tame(i: usize, dtype: DType) -> u64 {
    let x = (i * 37 % 101) as i64 - 50;
    if dtype.is_float() { float_bits(x as f32 * 0.37, dtype) } else { integer_bits(x, dtype) }
}

/// Element `i` of a tensor.
pub fn element(i: usize, dtype: DType, fill: Fill) -> u64 {
    let values = specials(dtype);
    let count = values.len();
    match fill {
        Fill::Special => values[i % count],
        Fill::Paired => values[(i / count + 3 * i + 5) % count],
        Fill::Tame => tame(i, dtype),
        Fill::Divisor if dtype.is_float() => values[(i / count + 3 * i + 5) % count],
        Fill::Divisor => integer_bits([1, 2, 3, 7, 100, 127, 5][i % 7], dtype),
        Fill::Bits if dtype == DType::Bool => i as u64 & 1,
        Fill::Bits => i as u64 & mask(dtype),
        Fill::Index(limit) => integer_bits((i as i64 * 7 + 3) % limit.max(1), dtype),
    }
}

/// The bits with the number that they stand for.
pub fn show(bits: u64, dtype: DType) -> String {
    match dtype {
        DType::F32 => format!("{:?} ({bits:#x})", f32::from_bits(bits as u32)),
        DType::F16 => format!("{:?} ({bits:#x})", f16::from_bits(bits as u16)),
        DType::BF16 => format!("{:?} ({bits:#x})", bf16::from_bits(bits as u16)),
        _ => format!("{bits:#x}"),
    }
}
