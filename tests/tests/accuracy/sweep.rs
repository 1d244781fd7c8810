//! Goes through floats of a type and finds the largest error.

use std::sync::atomic::{AtomicU64, Ordering};

use half::{bf16, f16};
use pypto::ir::DType;
use pypto::ops::OpKind;
use pypto::ops::reference::elementwise::unary;
use pypto::ops::reference::{Array, Shape};

/// Values that one step takes.
const CHUNK: u64 = 1 << 14;

/// A sample meets every exponent, and mantissas of every kind, as this is prime.
const SAMPLE: u64 = 1021;

/// Floats where functions are known to be hard: next to a multiple of pi/2, at the ends of ranges, where results leave the type.
const HARD: [f32; 16] = [
    7.729_155e28,
    -7.729_155e28,
    f32::MAX,
    f32::MIN,
    1e5,
    100_000.01,
    99_999.99,
    88.722_84,
    88.722_83,
    -103.972_08,
    -87.336_55,
    f32::MIN_POSITIVE,
    1e-45,
    0.999_999_94,
    1.000_000_1,
    -0.999_999_94,
];

/// The largest error that was met, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    pub ulps: f64,
    pub at: f32,
}

impl Worst {
    fn meet(&mut self, ulps: f64, at: f32) {
        if ulps.is_nan() || ulps > self.ulps {
            *self = Worst { ulps, at };
        }
    }
}

/// Bits of the significand, and exponent of the smallest normal number.
fn format(dtype: DType) -> (i32, i32) {
    match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        _ => (24, -126),
    }
}

/// Distance of a result in units in the last place of the exact value; the spacing of subnormals below the normal range. A result
/// that should be infinite or NaN and is not, or the other way round, is infinitely far.
pub fn ulps(got: f64, want: f64, dtype: DType) -> f64 {
    let (bits, lowest) = format(dtype);
    let exponent = ((want.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(lowest);
    let unit = 2f64.powi(exponent - bits + 1);
    // The largest finite number and half a unit: what rounds to infinity.
    let largest = match dtype {
        DType::F16 => 65520.0,
        DType::BF16 => f64::from(bf16::MAX) * (1.0 + 2f64.powi(-9)),
        _ => f64::from(f32::MAX) + 2f64.powi(103),
    };
    match (got.is_nan(), want.is_nan()) {
        (true, true) => 0.0,
        (false, false) if want.abs() >= largest || got.is_infinite() => {
            // Next to the edge, either side is as near.
            let near_edge = (want.abs() - largest).abs() <= 2.0 * unit;
            if got.is_infinite() && want.abs() >= largest && got.signum() == want.signum() || near_edge {
                0.0
            } else {
                f64::INFINITY
            }
        }
        (false, false) => (got - want).abs() / unit,
        _ => f64::INFINITY,
    }
}

/// The largest error of an operation over f32.
pub fn over_f32(compute: &(dyn Fn(&[f32]) -> Vec<f32> + Sync), exact: &(dyn Fn(f64, f32) -> f64 + Sync)) -> Worst {
    let step = if std::env::var("PYPTO_ACCURACY").is_ok_and(|value| value == "all") { 1 } else { SAMPLE };
    let count = (1u64 << 32).div_ceil(step);
    let next = AtomicU64::new(0);
    let work = || {
        let mut worst = Worst::default();
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            if first >= count {
                return worst;
            }
            let xs: Vec<f32> = (first..count.min(first + CHUNK)).map(|i| f32::from_bits((i * step) as u32)).collect();
            measure(&xs, compute, exact, &mut worst);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut worst = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().map(|worker| worker.join().expect("a worker"));
        found.fold(Worst::default(), |a, b| if b.ulps > a.ulps { b } else { a })
    });
    measure(&HARD, compute, exact, &mut worst);
    worst
}

fn measure(xs: &[f32], compute: &dyn Fn(&[f32]) -> Vec<f32>, exact: &dyn Fn(f64, f32) -> f64, worst: &mut Worst) {
    for (x, y) in xs.iter().zip(compute(xs)) {
        worst.meet(exact(f64::from(y), *x), *x);
    }
}

/// An operation of one operand on a list of f32.
pub fn operation(kind: OpKind) -> impl Fn(&[f32]) -> Vec<f32> + Sync {
    move |xs| {
        let x = Array::from_vec(xs.to_vec(), Shape::from([xs.len() as i64]));
        unary(kind, &x).expect("an operation on f32").elements::<f32>().to_vec()
    }
}

/// The largest error of an operation over every value of a 16-bit type, in units of that type.
pub fn over_16_bits(kind: OpKind, dtype: DType, exact: fn(f64) -> f64) -> Worst {
    let dims = Shape::from([1 << 16]);
    let all = 0..=u16::MAX;
    let (xs, ys): (Vec<f32>, Vec<f32>) = if dtype == DType::F16 {
        let xs: Vec<f16> = all.map(f16::from_bits).collect();
        let ys = unary(kind, &Array::from_vec(xs.clone(), dims)).expect("an operation on f16");
        (widened(&xs, f16::to_f32), widened(ys.elements::<f16>(), f16::to_f32))
    } else {
        let xs: Vec<bf16> = all.map(bf16::from_bits).collect();
        let ys = unary(kind, &Array::from_vec(xs.clone(), dims)).expect("an operation on bf16");
        (widened(&xs, bf16::to_f32), widened(ys.elements::<bf16>(), bf16::to_f32))
    };
    let mut worst = Worst::default();
    for (x, y) in xs.iter().zip(ys) {
        worst.meet(ulps(f64::from(y), exact(f64::from(*x)), dtype), *x);
    }
    worst
}

fn widened<T: Copy>(values: &[T], wide: fn(T) -> f32) -> Vec<f32> {
    values.iter().map(|value| wide(*value)).collect()
}

/// What rounding a result within `bound` units of f32 to a shorter type can come to, in units of that type.
pub fn rounded_bound(bound: f64, dtype: DType) -> f64 {
    0.5 + bound * 2f64.powi(format(dtype).0 - 24) + 1e-9
}
