//! The first elements of a row's order, without the order of the rest.
//!
//! Keys are written down once; the least of each of 8 W groups give a bound that enough keys do not exceed. Those that do not are collected
//! with their indices, and sorted. When more come than expected, the best so far are kept, and the bound falls to their last one.

use super::super::access::Access;
use super::keys;
use super::network::{self, BLOCK, Kind};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Reduce, Type, Value};

/// Keys that are compared with the bound together: their answers fill an integer.
const STEP: i64 = 64;
/// Least number of places for those that are collected.
const LEAST: i64 = 256;

/// Memory for the selection in one row.
pub(super) struct Selection {
    /// Address of [`padded`] keys.
    pub keys: Value,
    /// Address of [`places`] pairs and a vector.
    pub pairs: Value,
    /// Address of as many pairs as are wanted.
    pub best: Value,
    /// How many elements are wanted.
    pub count: i64,
}

/// Whether selecting is better than sorting the row.
pub(super) fn pays(count: i64, width: i64) -> bool {
    width >= 2 * STEP && count <= width / 4
}

/// Keys of a row of that many elements, with those that fill its last step up.
pub(super) fn padded(b: &Builder<'_>, width: i64) -> i64 {
    (width.max(0) as u64).next_multiple_of(step(b) as u64) as i64
}

/// Pairs that are collected before the best are picked.
pub(super) fn places(count: i64) -> i64 {
    (4 * count as u64).next_power_of_two().max(LEAST as u64) as i64
}

/// Elements of the steps in which keys are written and compared.
fn step(b: &Builder<'_>) -> i64 {
    STEP.max((BLOCK * b.lanes()) as i64)
}

impl Selection {
    /// Writes the first columns of the falling order of `length` elements to `order`, a row of adjacent `i32`.
    pub fn emit(&self, b: &mut Builder<'_>, x: &Access, row: Value, length: Value, order: Value) {
        let step = b.index(step(b));
        let rest = b.urem(length, step);
        let whole = b.sub(length, rest);
        let least = self.write_keys(b, x, row, [whole, length]);
        let bound = self.first_bound(b, least);
        let found = self.collect(b, length, bound);
        let vectors = self.vectors_for(b, found);
        self.sort(b, found, vectors);
        self.for_best(b, vectors, &mut |b, place, pair| {
            let index = keys::index(b, pair);
            b.store(index, order, place);
        });
    }

    /// Writes the keys, whole steps first; gives the least of each lane of each of 8 vectors.
    fn write_keys(&self, b: &mut Builder<'_>, x: &Access, row: Value, [whole, length]: [Value; 2]) -> [Value; BLOCK] {
        let (zero, lanes) = (b.index(0), b.lanes() as i64);
        let (distance, none) = (b.index(step(b)), b.vint(Elem::I32, keys::LAST));
        let part = |b: &mut Builder<'_>, from: Value, to: Value, least: &[Value], inside: Option<Value>| {
            b.for_loop(from, to, distance, least, |b, first, least| {
                let mut least = least.to_vec();
                for vector in 0..step(b) / lanes {
                    let offset = b.index(vector * lanes);
                    let at = b.add(first, offset);
                    let mask = inside.map(|length| {
                        let left = b.sub(length, at);
                        b.tail_mask(left)
                    });
                    let key = keys::load(b, x, row, at, mask);
                    b.store(key, self.keys, at);
                    let group = vector as usize % BLOCK;
                    least[group] = b.min(least[group], key);
                }
                least
            })
        };
        let least = part(b, zero, whole, &[none; BLOCK], None);
        let least = part(b, whole, length, &least, Some(length));
        std::array::from_fn(|i| least[i])
    }

    /// A key that at least `count` keys do not exceed: in every lane of the sorted minima, enough come before it.
    fn first_bound(&self, b: &mut Builder<'_>, mut least: [Value; BLOCK]) -> Value {
        let each = (self.count as usize).div_ceil(b.lanes());
        if each > BLOCK {
            return b.int(Elem::I32, keys::LAST);
        }
        network::sort_block(b, Kind::Keys, &mut least);
        b.reduce_lanes(Reduce::Max, least[each - 1])
    }

    /// Collects the pairs whose keys do not exceed the bound; gives their number.
    fn collect(&self, b: &mut Builder<'_>, length: Value, bound: Value) -> Value {
        let zero = b.index(0);
        let goes_on = |b: &mut Builder<'_>, at: Value| b.cmp(Cmp::Lt, at, length);
        let last = b.while_loop(
            &[zero, zero, bound],
            |b, state| goes_on(b, state[0]),
            |b, state| {
                let (at, found, bound) = (state[0], state[1], state[2]);
                let room = b.index(places(self.count) - STEP);
                let full = b.cmp(Cmp::Gt, found, room);
                let state = b.if_else(full, |b| self.keep_best(b, at, found, length), |_| vec![at, found, bound]);
                let (at, found, bound) = (state[0], state[1], state[2]);
                let more = goes_on(b, at);
                let found = b.if_else(more, |b| vec![self.collect_step(b, at, found, bound)], |_| vec![found]);
                let step = b.index(STEP);
                vec![b.add(at, step), found[0], bound]
            },
        );
        last[1]
    }

    /// Keeps the best pairs; gives the position to go on from, their number, and the bound for what comes: later elements with the last key
    /// come after it, so that only smaller keys count.
    fn keep_best(&self, b: &mut Builder<'_>, at: Value, found: Value, length: Value) -> Vec<Value> {
        let vectors = b.index(places(self.count) / b.lanes() as i64);
        self.sort(b, found, vectors);
        self.for_best(b, vectors, &mut |b, place, pair| b.store(pair, self.best, place));
        let (zero, count, one) = (b.index(0), b.index(self.count), b.index(1));
        b.for_each(zero, count, 1, |b, place| {
            let pair = b.load(Type::INDEX, self.best, place);
            b.store(pair, self.pairs, place);
        });
        let place = b.sub(count, one);
        let pair = b.load(Type::INDEX, self.best, place);
        let (key, least, one) = (keys::of_pair(b, pair), b.int(Elem::I32, i64::from(i32::MIN)), b.int(Elem::I32, 1));
        let none_smaller = b.cmp(Cmp::Eq, key, least);
        vec![b.select(none_smaller, length, at), count, b.sub(key, one)]
    }

    /// The least number of vectors of a network that has places for the pairs found, and for those that are wanted.
    fn vectors_for(&self, b: &mut Builder<'_>, found: Value) -> Value {
        let (least, count) = (b.index(BLOCK as i64), b.index(self.count));
        let needed = b.max(found, count);
        let vectors = b.while_loop(
            &[least],
            |b, vectors| {
                let lanes = b.index(b.lanes() as i64);
                let there = b.mul(vectors[0], lanes);
                b.cmp(Cmp::Lt, there, needed)
            },
            |b, vectors| vec![b.add(vectors[0], vectors[0])],
        );
        vectors[0]
    }

    /// Sorts the pairs found, in a network of that many vectors.
    fn sort(&self, b: &mut Builder<'_>, found: Value, vectors: Value) {
        let (lanes, last) = (b.lanes() as i64, b.vint(Elem::I64, keys::LAST_PAIR));
        let width = b.index(lanes);
        let all = b.mul(vectors, width);
        b.for_each(found, all, lanes, |b, at| b.store(last, self.pairs, at));
        network::sort(b, Kind::Pairs, self.pairs, vectors);
    }

    /// Runs `each` for the first pairs, with their places in the order.
    fn for_best(&self, b: &mut Builder<'_>, vectors: Value, each: &mut dyn FnMut(&mut Builder<'_>, Value, Value)) {
        let (zero, one, count) = (b.index(0), b.index(1), b.index(self.count));
        b.for_loop(zero, count, vectors, &[zero], |b, start, lane| {
            let left = b.sub(count, start);
            let here = b.min(left, vectors);
            b.for_each(zero, here, 1, |b, vector| {
                let lanes = b.index(b.lanes() as i64);
                let at = b.mul(vector, lanes);
                let at = b.add(at, lane[0]);
                let pair = b.load(Type::INDEX, self.pairs, at);
                let place = b.add(start, vector);
                each(b, place, pair);
            });
            vec![b.add(lane[0], one)]
        });
    }

    /// Collects from one step.
    fn collect_step(&self, b: &mut Builder<'_>, at: Value, found: Value, bound: Value) -> Value {
        let lanes = b.lanes() as i64;
        let mut within = b.index(0);
        for vector in 0..STEP / lanes {
            let offset = b.index(vector * lanes);
            let place = b.add(at, offset);
            let key = b.load(Type::Vector(Elem::I32), self.keys, place);
            let inside = b.cmp(Cmp::Le, key, bound);
            let bits = b.mask_bits(inside);
            let bits = b.shl(bits, offset);
            within = b.or(within, bits);
        }
        let zero = b.index(0);
        let last = b.while_loop(
            &[within, found],
            |b, state| b.cmp(Cmp::Ne, state[0], zero),
            |b, state| {
                let (within, found, one) = (state[0], state[1], b.index(1));
                let first = b.trailing_zeros(within);
                let index = b.add(at, first);
                let key = b.load(Type::Scalar(Elem::I32), self.keys, index);
                let pair = keys::pair(b, key, index);
                b.store(pair, self.pairs, found);
                let less = b.sub(within, one);
                vec![b.and(within, less), b.add(found, one)]
            },
        );
        last[1]
    }
}
