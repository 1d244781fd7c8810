//! The order of a row's elements, by a bitonic network on vectors.
//!
//! Keys become 32-bit integers that order as the elements do, and each has its index beside it, by which equal keys are told apart: all
//! pairs differ, so the network, which is not stable, gives the one stable order. Pair number i of R * W lies in lane i / R of vector i mod R.
//! So partners at a distance below R are in the same lane of two vectors; only the last log2 W merges have partners in other lanes, and
//! squares of W x W pairs are transposed for these.

use super::access::{Access, computing, from_stored, stored};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};
use crate::ir::DType;

/// Keys and indices of one row.
pub(super) struct Network {
    /// Addresses of as many 32-bit words as there are pairs.
    pub keys: Value,
    pub indices: Value,
    /// Vectors of pairs, R: a power of two, at least W.
    pub vectors: i64,
}

type Pair = [Value; 2];

/// Whether elements of the type have keys of 32 bits.
pub(super) fn has_keys(dtype: DType) -> bool {
    dtype != DType::I64
}

/// Vectors of pairs for a row of that many elements.
pub(super) fn vectors(b: &Builder<'_>, width: i64) -> i64 {
    let lanes = b.lanes() as u64;
    (width.max(1) as u64).div_ceil(lanes).next_power_of_two().max(lanes) as i64
}

impl Network {
    /// Writes the falling order of the first `length` elements of a row to `order`, a row of adjacent `i32`.
    pub fn emit(&self, b: &mut Builder<'_>, keys: &Access, row: Value, length: Value, order: Value) {
        self.fill(b, keys, row, length);
        let (two, all) = (b.index(2), b.index(self.vectors));
        // Runs in one lane; every other one falls, so that two make one bitonic sequence.
        b.while_loop(
            &[two],
            |b, run| b.cmp(Cmp::Lt, run[0], all),
            |b, run| {
                let half = halved(b, run[0]);
                self.steps(b, half, Some(run[0]));
                vec![b.add(run[0], run[0])]
            },
        );
        let half = b.index(self.vectors / 2);
        let levels = b.lanes().ilog2();
        for level in 0..=levels {
            let falling = (level < levels).then_some(level);
            self.turn_over(b, falling);
            if level > 0 {
                self.across_lanes(b, level);
            }
            self.steps(b, half, None);
            self.turn_over(b, falling);
        }
        self.finish(b, length, order);
    }

    fn at(&self, b: &mut Builder<'_>, vector: Value) -> Value {
        let lanes = b.index(b.lanes() as i64);
        b.mul(vector, lanes)
    }

    fn load(&self, b: &mut Builder<'_>, vector: Value) -> Pair {
        let at = self.at(b, vector);
        [self.keys, self.indices].map(|base| b.load(Type::Vector(Elem::I32), base, at))
    }

    fn store(&self, b: &mut Builder<'_>, vector: Value, pair: Pair) {
        let at = self.at(b, vector);
        for (base, value) in [self.keys, self.indices].into_iter().zip(pair) {
            b.store(value, base, at);
        }
    }

    /// Pairs in any order; those beyond the row come last.
    fn fill(&self, b: &mut Builder<'_>, keys: &Access, row: Value, length: Value) {
        let (zero, all) = (b.index(0), b.index(self.vectors));
        let stride = keys.strides[keys.strides.len() - 1];
        b.for_each(zero, all, 1, |b, vector| {
            let first = self.at(b, vector);
            let left = b.sub(length, first);
            let inside = b.tail_mask(left);
            let (at, apart) = (b.mul(first, stride), (b.as_const(stride) != Some(1)).then_some(stride));
            let element = b.load_vec(stored(keys.dtype), row, at, apart, Some(inside));
            let element = from_stored(b, element, keys.dtype);
            let key = key(b, element, keys.dtype);
            let (last, lane) = (b.vint(Elem::I32, i64::from(i32::MAX)), b.iota(Elem::I32));
            let first = b.resize(first, Elem::I32, true);
            let pair = [b.select(inside, key, last), b.add(lane, first)];
            self.store(b, vector, pair);
        });
    }

    /// Compares at the distances `first`, `first / 2`, .. 1. With `run`, the pairs whose number has that bit fall.
    fn steps(&self, b: &mut Builder<'_>, first: Value, run: Option<Value>) {
        let one = b.index(1);
        b.while_loop(
            &[first],
            |b, distance| b.cmp(Cmp::Ge, distance[0], one),
            |b, distance| {
                self.step(b, distance[0], run);
                vec![halved(b, distance[0])]
            },
        );
    }

    fn step(&self, b: &mut Builder<'_>, distance: Value, run: Option<Value>) {
        let (zero, count, one) = (b.index(0), b.index(self.vectors / 2), b.index(1));
        let below = b.sub(distance, one);
        b.for_each(zero, count, 1, |b, number| {
            let low = b.and(number, below);
            let high = b.sub(number, low);
            let double = b.add(high, high);
            let near = b.add(double, low);
            let far = b.add(near, distance);
            let (x, y) = (self.load(b, near), self.load(b, far));
            let (smaller, larger) = exchange(b, x, y);
            let (first, second) = match run {
                Some(run) => {
                    let bit = b.and(near, run);
                    let zero = b.index(0);
                    let rises = b.cmp(Cmp::Eq, bit, zero);
                    (b.select(rises, near, far), b.select(rises, far, near))
                }
                None => (near, far),
            };
            self.store(b, first, smaller);
            self.store(b, second, larger);
        });
    }

    /// Compares lanes at the distances 2^(level - 1), .. 1.
    fn across_lanes(&self, b: &mut Builder<'_>, level: u32) {
        let (zero, all, side) = (b.index(0), b.index(self.vectors), b.lanes());
        b.for_each(zero, all, side as i64, |b, first| {
            let (mut keys, mut indices) = (Vec::new(), Vec::new());
            for i in 0..side as i64 {
                let offset = b.index(i);
                let vector = b.add(first, offset);
                let [key, index] = self.load(b, vector);
                keys.push(key);
                indices.push(index);
            }
            let (mut keys, mut indices) = (b.transpose(&keys), b.transpose(&indices));
            for distance in (0..level).rev().map(|bit| 1usize << bit) {
                for near in (0..side).filter(|i| i & distance == 0) {
                    let far = near + distance;
                    let ([a, i], [c, j]) = exchange(b, [keys[near], indices[near]], [keys[far], indices[far]]);
                    (keys[near], indices[near], keys[far], indices[far]) = (a, i, c, j);
                }
            }
            let (keys, indices) = (b.transpose(&keys), b.transpose(&indices));
            for (i, (&key, &index)) in keys.iter().zip(&indices).enumerate() {
                let offset = b.index(i as i64);
                let vector = b.add(first, offset);
                self.store(b, vector, [key, index]);
            }
        });
    }

    /// Inverts the pairs of the lanes with that bit in their number: there, rising is falling.
    fn turn_over(&self, b: &mut Builder<'_>, bit: Option<u32>) {
        let Some(bit) = bit else { return };
        let (lane, mask) = (b.iota(Elem::I32), b.vint(Elem::I32, 1 << bit));
        let (chosen, none) = (b.and(lane, mask), b.vint(Elem::I32, 0));
        let falls = b.cmp(Cmp::Ne, chosen, none);
        let ones = b.vint(Elem::I32, -1);
        let flip = b.select(falls, ones, none);
        let (zero, all) = (b.index(0), b.index(self.vectors));
        b.for_each(zero, all, 1, |b, vector| {
            let pair = self.load(b, vector).map(|value| b.xor(value, flip));
            self.store(b, vector, pair);
        });
    }

    /// Writes the indices in the order of the pairs' numbers.
    fn finish(&self, b: &mut Builder<'_>, length: Value, order: Value) {
        let (zero, all, side) = (b.index(0), b.index(self.vectors), b.lanes() as i64);
        b.for_each(zero, all, side, |b, first| {
            let lines: Vec<Value> = (0..side)
                .map(|i| {
                    let offset = b.index(i);
                    let vector = b.add(first, offset);
                    self.load(b, vector)[1]
                })
                .collect();
            for (lane, value) in b.transpose(&lines).into_iter().enumerate() {
                let start = b.index(lane as i64 * self.vectors);
                let at = b.add(start, first);
                let left = b.sub(length, at);
                let inside = b.tail_mask(left);
                b.store_vec(value, order, at, None, Some(inside));
            }
        });
    }
}

fn halved(b: &mut Builder<'_>, value: Value) -> Value {
    let two = b.index(2);
    b.udiv(value, two)
}

/// The smaller and the larger of two pairs, lane by lane.
///
/// The smaller index is no selection: one that is stored where one of its operands was loaded becomes a masked store, which is slow on many
/// processors.
fn exchange(b: &mut Builder<'_>, x: Pair, y: Pair) -> (Pair, Pair) {
    let (after, equal) = (b.cmp(Cmp::Gt, x[0], y[0]), b.cmp(Cmp::Eq, x[0], y[0]));
    let later = b.cmp(Cmp::Gt, x[1], y[1]);
    let behind = b.and(equal, later);
    let swaps = b.or(after, behind);
    let larger = b.select(swaps, x[1], y[1]);
    let both = b.xor(x[1], y[1]);
    let smaller = b.xor(both, larger);
    ([b.min(x[0], y[0]), smaller], [b.max(x[0], y[0]), larger])
}

/// An integer that rises as the elements fall: NaN first, zeros of both signs alike.
fn key(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    let ones = b.vint(Elem::I32, -1);
    let rising = match dtype {
        _ if dtype.is_float() => {
            let zero = b.vf32(0.0);
            let (nan, positive_zero) = (b.is_nan(value), b.add(value, zero));
            let bits = b.bitcast(positive_zero, Elem::I32);
            let (shift, magnitude) = (b.vint(Elem::I32, 31), b.vint(Elem::I32, i64::from(i32::MAX)));
            let sign = b.ashr(bits, shift);
            let flip = b.and(sign, magnitude);
            let ordered = b.xor(bits, flip);
            b.select(nan, magnitude, ordered)
        }
        DType::U32 => {
            let top = b.vint(Elem::I32, i64::from(i32::MIN));
            b.xor(value, top)
        }
        _ if computing(dtype) == Elem::I32 => value,
        _ => b.resize(value, Elem::I32, dtype.is_signed_integer()),
    };
    b.xor(rising, ones)
}
