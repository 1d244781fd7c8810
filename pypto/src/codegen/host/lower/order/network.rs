//! A network that sorts elements in memory, a vector at a time.
//!
//! Element number i of R * W lies in lane i / R of vector i mod R, so that partners at a distance below R are in the same lane of two
//! vectors. Lanes are sorted first: blocks of [`BLOCK`] vectors in registers, then runs of vectors are merged in pairs. To merge two runs, the
//! first is compared with the reverse of the second ("flip"), which leaves two bitonic runs, and these are sorted by comparisons at half the
//! distance each time ("clean"). So every comparison puts the smaller element first, and no run need fall. Two distances are done in one pass
//! over memory. At last, lanes are merged in the same way.

use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Vectors that are sorted in registers; the least that a network has.
pub(super) const BLOCK: usize = 8;

/// Comparisons that sort 8 elements.
const SORT: [(usize, usize); 19] = [
    (0, 2),
    (1, 3),
    (4, 6),
    (5, 7),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
    (0, 1),
    (2, 3),
    (4, 5),
    (6, 7),
    (2, 4),
    (3, 5),
    (1, 4),
    (3, 6),
    (1, 2),
    (3, 4),
    (5, 6),
];

/// Comparisons that sort a bitonic run of 8 elements.
const CLEAN: [(usize, usize); 12] =
    [(0, 4), (1, 5), (2, 6), (3, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 1), (2, 3), (4, 5), (6, 7)];

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Keys of 32 bits.
    Keys,
    /// Keys with their indices, see [`super::keys::pair`].
    Pairs,
}

/// Elements in memory.
#[derive(Clone, Copy)]
struct Run {
    kind: Kind,
    base: Value,
    /// R, an index: a power of two of at least [`BLOCK`].
    vectors: Value,
}

/// Sorts `vectors` vectors at `base`; smaller elements come first.
pub(super) fn sort(b: &mut Builder<'_>, kind: Kind, base: Value, vectors: Value) {
    let name = match kind {
        Kind::Keys => "sort.keys",
        Kind::Pairs => "sort.pairs",
    };
    b.call(name, &[Type::Ptr, Type::INDEX], &[], &[base, vectors], |b, p| {
        let run = Run { kind, base: p[0], vectors: p[1] };
        run.sort_lanes(b);
        (1..=b.lanes().ilog2()).for_each(|level| run.merge_lanes(b, level));
        Vec::new()
    });
}

/// Sorts vectors in registers, lane by lane.
pub(super) fn sort_block(b: &mut Builder<'_>, kind: Kind, lines: &mut [Value; BLOCK]) {
    compare(b, kind, &SORT, lines);
}

fn compare(b: &mut Builder<'_>, kind: Kind, pairs: &[(usize, usize)], lines: &mut [Value]) {
    for &(i, j) in pairs {
        (lines[i], lines[j]) = exchange(b, kind, lines[i], lines[j]);
    }
}

/// The smaller and the larger of two elements, lane by lane.
fn exchange(b: &mut Builder<'_>, kind: Kind, x: Value, y: Value) -> (Value, Value) {
    match kind {
        Kind::Keys => (b.min(x, y), b.max(x, y)),
        Kind::Pairs => (b.pair_min(x, y), b.pair_max(x, y)),
    }
}

impl Run {
    fn place(&self, b: &mut Builder<'_>, vector: Value) -> Value {
        let lanes = b.index(b.lanes() as i64);
        b.mul(vector, lanes)
    }

    fn load(&self, b: &mut Builder<'_>, vector: Value) -> Value {
        let at = self.place(b, vector);
        let elem = if self.kind == Kind::Pairs { Elem::I64 } else { Elem::I32 };
        b.load(Type::Vector(elem), self.base, at)
    }

    fn store(&self, b: &mut Builder<'_>, vector: Value, value: Value) {
        let at = self.place(b, vector);
        b.store(value, self.base, at);
    }

    /// Loads vectors, compares them, and stores them again.
    fn pass(&self, b: &mut Builder<'_>, vectors: &[Value], pairs: &[(usize, usize)]) {
        let mut lines: Vec<Value> = vectors.iter().map(|&v| self.load(b, v)).collect();
        compare(b, self.kind, pairs, &mut lines);
        vectors.iter().zip(lines).for_each(|(&v, line)| self.store(b, v, line));
    }

    fn sort_lanes(&self, b: &mut Builder<'_>) {
        self.blocks(b, &SORT);
        let least = b.index(BLOCK as i64);
        b.while_loop(
            &[least],
            |b, run| b.cmp(Cmp::Lt, run[0], self.vectors),
            |b, run| {
                self.flip(b, run[0]);
                let quarter = part(b, run[0], 4);
                self.clean(b, quarter);
                vec![b.add(run[0], run[0])]
            },
        );
    }

    /// Compares the vectors of each block.
    fn blocks(&self, b: &mut Builder<'_>, pairs: &[(usize, usize)]) {
        let zero = b.index(0);
        b.for_each(zero, self.vectors, BLOCK as i64, |b, first| {
            let vectors: Vec<Value> = (0..BLOCK as i64)
                .map(|i| {
                    let i = b.index(i);
                    b.add(first, i)
                })
                .collect();
            self.pass(b, &vectors, pairs);
        });
    }

    /// Makes two bitonic runs of each two sorted ones of `run` vectors, and cleans at half that distance.
    fn flip(&self, b: &mut Builder<'_>, run: Value) {
        let (zero, both, half) = (b.index(0), b.add(run, run), part(b, run, 2));
        b.for_loop(zero, self.vectors, both, &[], |b, start, _| {
            let end = b.add(start, both);
            b.for_each(zero, half, 1, |b, i| {
                let one = b.index(1);
                let first = b.add(start, i);
                let second = b.add(first, half);
                let fourth = b.sub(end, i);
                let fourth = b.sub(fourth, one);
                let third = b.sub(fourth, half);
                self.pass(b, &[first, second, third, fourth], &[(0, 3), (1, 2), (0, 1), (2, 3)]);
            });
            Vec::new()
        });
    }

    /// Sorts bitonic runs of twice `distance` vectors.
    fn clean(&self, b: &mut Builder<'_>, distance: Value) {
        let twice = b.index(2 * BLOCK as i64);
        let last = b.while_loop(
            &[distance],
            |b, distance| b.cmp(Cmp::Ge, distance[0], twice),
            |b, distance| {
                self.clean_twice(b, distance[0]);
                vec![part(b, distance[0], 4)]
            },
        );
        let block = b.index(BLOCK as i64);
        let apart = b.cmp(Cmp::Eq, last[0], block);
        b.if_then(apart, |b| self.clean_once(b, block));
        self.blocks(b, &CLEAN);
    }

    /// Compares at `distance` and at half of it.
    fn clean_twice(&self, b: &mut Builder<'_>, distance: Value) {
        let (zero, both, half) = (b.index(0), b.add(distance, distance), part(b, distance, 2));
        b.for_loop(zero, self.vectors, both, &[], |b, start, _| {
            b.for_each(zero, half, 1, |b, i| {
                let first = b.add(start, i);
                let (second, third) = (b.add(first, half), b.add(first, distance));
                let fourth = b.add(third, half);
                self.pass(b, &[first, second, third, fourth], &[(0, 2), (1, 3), (0, 1), (2, 3)]);
            });
            Vec::new()
        });
    }

    fn clean_once(&self, b: &mut Builder<'_>, distance: Value) {
        let (zero, both) = (b.index(0), b.add(distance, distance));
        b.for_loop(zero, self.vectors, both, &[], |b, start, _| {
            b.for_each(zero, distance, 1, |b, i| {
                let near = b.add(start, i);
                let far = b.add(near, distance);
                self.pass(b, &[near, far], &[(0, 1)]);
            });
            Vec::new()
        });
    }

    /// Merges sorted runs of 2^(level - 1) lanes.
    fn merge_lanes(&self, b: &mut Builder<'_>, level: u32) {
        let (zero, one, half) = (b.index(0), b.index(1), part(b, self.vectors, 2));
        let last = b.sub(self.vectors, one);
        let bits: Vec<u32> = (0..level).rev().map(|bit| 1 << bit).collect();
        let low: Vec<Value> = bits.iter().map(|&bit| lanes_without(b, bit)).collect();
        let reverse = (1 << level) - 1;
        b.for_each(zero, half, 1, |b, near| {
            let far = b.sub(last, near);
            let (x, y) = (self.load(b, near), self.load(b, far));
            let turned = b.swap(y, reverse);
            let (smaller, larger) = exchange(b, self.kind, x, turned);
            let (mut x, y) = (b.select(low[0], smaller, larger), b.select(low[0], larger, smaller));
            let mut y = b.swap(y, reverse);
            for (&bit, &low) in bits.iter().zip(&low).skip(1) {
                x = self.clean_lanes(b, x, bit, low);
                y = self.clean_lanes(b, y, bit, low);
            }
            self.store(b, near, x);
            self.store(b, far, y);
        });
        self.clean(b, half);
    }

    /// Compares lanes whose numbers differ in that bit.
    fn clean_lanes(&self, b: &mut Builder<'_>, x: Value, bit: u32, low: Value) -> Value {
        let other = b.swap(x, bit);
        let (smaller, larger) = exchange(b, self.kind, x, other);
        b.select(low, smaller, larger)
    }
}

fn part(b: &mut Builder<'_>, value: Value, of: i64) -> Value {
    let of = b.index(of);
    b.udiv(value, of)
}

/// The lanes whose number does not have the bit.
fn lanes_without(b: &mut Builder<'_>, bit: u32) -> Value {
    let (lane, mask, none) = (b.iota(Elem::I32), b.vint(Elem::I32, i64::from(bit)), b.vint(Elem::I32, 0));
    let has = b.and(lane, mask);
    b.cmp(Cmp::Eq, has, none)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts zeros and ones sorts everything.
    #[test]
    fn eight_elements_are_sorted() {
        for bits in 0..256u32 {
            let mut lines: Vec<u32> = (0..8).map(|i| (bits >> i) & 1).collect();
            for (i, j) in SORT {
                (lines[i], lines[j]) = (lines[i].min(lines[j]), lines[i].max(lines[j]));
            }
            assert!(lines.is_sorted(), "{bits:b}");
        }
    }
}
