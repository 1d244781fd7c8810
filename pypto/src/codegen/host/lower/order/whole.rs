//! The order of a whole row: pairs of keys and indices, all different, so that the network, which is not stable, gives the one stable order.

use super::super::access::Access;
use super::keys;
use super::network::{self, BLOCK, Kind};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Memory for the pairs of one row.
pub(super) struct Sorting {
    /// Address of W times as many pairs as there are vectors.
    pub pairs: Value,
    /// Vectors of the network.
    pub vectors: i64,
}

/// Vectors of the network for a row of that many elements.
pub(super) fn vectors(b: &Builder<'_>, width: i64) -> i64 {
    let lanes = b.lanes() as u64;
    let least = lanes.max(BLOCK as u64);
    (width.max(1) as u64).div_ceil(lanes).next_power_of_two().max(least) as i64
}

impl Sorting {
    /// Writes the falling order of the first `length` elements of a row to `order`, a row of adjacent `i32`.
    pub fn emit(&self, b: &mut Builder<'_>, x: &Access, row: Value, length: Value, order: Value) {
        self.fill(b, x, row, length);
        let vectors = b.index(self.vectors);
        network::sort(b, Kind::Pairs, self.pairs, vectors);
        self.finish(b, length, order);
    }

    /// Pairs in any order; those beyond the row come last.
    fn fill(&self, b: &mut Builder<'_>, x: &Access, row: Value, length: Value) {
        let (zero, lanes) = (b.index(0), b.lanes() as i64);
        let last = b.vint(Elem::I64, keys::LAST_PAIR);
        b.lanes_loop(zero, length, 1, &[vec![]], |b, at, tail, _| {
            let key = keys::load(b, x, row, at, tail.mask());
            let lane = b.iota(Elem::I64);
            let index = b.add(lane, at);
            let pair = keys::pair(b, key, index);
            b.store(pair, self.pairs, at);
            vec![]
        });
        let (less, width, all) = (b.index(lanes - 1), b.index(lanes), b.index(lanes * self.vectors));
        let end = b.add(length, less);
        let rest = b.urem(end, width);
        let end = b.sub(end, rest);
        b.for_each(end, all, lanes, |b, at| b.store(last, self.pairs, at));
    }

    /// Writes the indices in the order of the pairs' numbers.
    fn finish(&self, b: &mut Builder<'_>, length: Value, order: Value) {
        let (zero, all, side) = (b.index(0), b.index(self.vectors), b.lanes() as i64);
        let width = b.index(side);
        b.for_each(zero, all, side, |b, first| {
            let lines: Vec<Value> = (0..side)
                .map(|i| {
                    let offset = b.index(i);
                    let vector = b.add(first, offset);
                    let at = b.mul(vector, width);
                    let pair = b.load(Type::Vector(Elem::I64), self.pairs, at);
                    keys::index(b, pair)
                })
                .collect();
            for (lane, value) in b.transpose(&lines).into_iter().enumerate() {
                let start = b.index(lane as i64 * self.vectors);
                let at = b.add(start, first);
                store_within(b, value, order, at, length);
            }
        });
    }
}

/// Stores the lanes of a vector whose places lie below the length. Masked stores are slow on many processors.
fn store_within(b: &mut Builder<'_>, value: Value, base: Value, at: Value, length: Value) {
    let (left, lanes, zero) = (b.sub(length, at), b.index(b.lanes() as i64), b.index(0));
    let whole = b.cmp(Cmp::Ge, left, lanes);
    b.if_else(
        whole,
        |b| {
            b.store(value, base, at);
            Vec::new()
        },
        |b| {
            let some = b.cmp(Cmp::Gt, left, zero);
            b.if_then(some, |b| {
                let inside = b.tail_mask(left);
                b.store_vec(value, base, at, None, Some(inside));
            });
            Vec::new()
        },
    );
}
