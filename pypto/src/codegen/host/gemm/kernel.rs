//! The micro-kernel: MR x NR results in registers, one helper function per module and accumulator type.
//!
//! Packed A is a sequence of chunks of W steps: [chunk][row][W], so that packing copies whole vectors; packed B is [step][NR].

use super::words::Step;
use super::{Kind, Problem};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Steps that are written out. LLVM's scheduler moves all loads of longer stretches to their front, and spills what they load.
pub(super) const STEPS: i64 = 2;

/// Elements that a step fetches of what comes after, where panels are not packed shortly before: a cache line for the steps written out.
pub(super) const FETCHED: i64 = 64 / 4 / STEPS;

/// Operands of one call.
pub(super) struct Tile {
    pub depth: Value,
    /// Rows of the panels of A.
    pub panel_rows: usize,
    pub a: Value,
    pub b: Value,
    pub c: Value,
    pub c_stride: Value,
    pub init: Value,
    pub init_stride: Value,
    /// 1 when the result is added to the initial value, 0 when it is stored as it is.
    pub adds: Value,
    /// A factor for each column, by which the initial value is multiplied.
    pub factors: Option<Value>,
    /// Whether a sum of bf16 may be subnormal, where that is not known to be so.
    pub subnormal: Option<Value>,
    /// Elements to fetch meanwhile: [`FETCHED`] for each step.
    pub ahead: Option<Value>,
}

/// Name of the micro-kernel's function.
pub(super) fn name(step: Step) -> String {
    format!("gemm_kernel_{}", step.name())
}

/// Computes a tile of `height` rows, at most MR, and NR columns.
pub(super) fn call(b: &mut Builder<'_>, kind: Kind, height: usize, tile: &Tile) {
    match tile.subnormal {
        Some(subnormal) => {
            let way = |step: Step| {
                move |b: &mut Builder<'_>| {
                    call_with(b, step, height, tile);
                    Vec::new()
                }
            };
            b.if_else(subnormal, way(Step::ExactPair), way(Step::Pair(kind.acc)));
        }
        None => call_with(b, Step::of(kind), height, tile),
    }
}

fn call_with(b: &mut Builder<'_>, step: Step, height: usize, tile: &Tile) {
    let mut args = vec![tile.depth, tile.a, tile.b, tile.c, tile.c_stride, tile.init, tile.init_stride, tile.adds];
    args.extend(tile.ahead);
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let panel_rows = tile.panel_rows;
    let rows = if height < panel_rows { format!("_{height}") } else { String::new() };
    let of = super::of_panels(panel_rows, b.target());
    let name = name(step) + &rows + &of + if tile.ahead.is_some() { "_ahead" } else { "" };
    b.call(&name, &types, &[], &args, |b, p| {
        let (depth, factors, subnormal, ahead) = (p[0], None, None, p.get(8).copied());
        let [a, right, c, c_stride] = [p[1], p[2], p[3], p[4]];
        let [init, init_stride, adds] = [p[5], p[6], p[7]];
        let tile =
            Tile { depth, panel_rows, a, b: right, c, c_stride, init, init_stride, adds, factors, subnormal, ahead };
        body(b, step, height, &tile);
        Vec::new()
    });
}

/// One multiply-accumulate in the accumulator's type.
pub(super) fn mul_add(b: &mut Builder<'_>, acc: Elem, x: Value, y: Value, sum: Value) -> Value {
    if acc == Elem::F32 {
        return b.fma(x, y, sum);
    }
    let product = b.mul(x, y);
    b.add(sum, product)
}

fn body(b: &mut Builder<'_>, step: Step, height: usize, tile: &Tile) {
    let (acc, word) = (step.acc(), step.word());
    let target = b.target();
    let lanes = target.lanes as i64;
    // The result is needed after a few hundred cycles, which hides its way from the outer caches.
    for row in 0..height {
        let bytes = b.index((row * acc.bytes()) as i64);
        let offset = b.mul(tile.c_stride, bytes);
        b.prefetch(tile.c, offset);
    }
    let (tile, first) = first_sums(b, step, height, tile);
    let (zero, one, chunk) = (b.index(0), b.index(1), b.index(lanes));
    let rest = b.urem(tile.depth, chunk);
    let whole = b.sub(tile.depth, rest);
    let count = step.written_out().min(lanes);
    let written_out = b.index(count);
    let sums = b.for_loop(zero, whole, chunk, &first, |b, k, sums| {
        let (a, bp) = chunk_at(b, word, &tile, k);
        b.for_loop(zero, chunk, written_out, sums, |b, first, sums| {
            let nr = b.index(target.nr() as i64);
            let (a, row) = (b.addr(a, word, first), b.mul(first, nr));
            let bp = b.addr(bp, word, row);
            if let Some(ahead) = tile.ahead {
                let (at, bytes) = (b.add(k, first), b.index(FETCHED * 4));
                let offset = b.mul(at, bytes);
                b.prefetch(ahead, offset);
            }
            let mut sums = sums.to_vec();
            for next in 0..count {
                let row = b.index(next * target.nr() as i64);
                let bp = b.addr(bp, word, row);
                update(b, step, &mut sums, bp, |b, r| {
                    let at = b.index(r as i64 * lanes + next);
                    b.load_splat(word, a, at)
                });
            }
            sums
        })
    });
    let (a, bp) = chunk_at(b, word, &tile, whole);
    let sums = b.for_loop(zero, rest, one, &sums, |b, k, sums| {
        let nr = b.index(target.nr() as i64);
        let row = b.mul(k, nr);
        let bp = b.addr(bp, word, row);
        let mut sums = sums.to_vec();
        let a = b.addr(a, word, k);
        update(b, step, &mut sums, bp, |b, r| {
            let at = b.index(r as i64 * lanes);
            b.load_splat(word, a, at)
        });
        sums
    });
    finish(b, acc, &tile, &sums);
}

/// What the sums begin with: zeros, or the first row of the panel of B, after which the steps follow.
fn first_sums(b: &mut Builder<'_>, step: Step, height: usize, tile: &Tile) -> (Tile, Vec<Value>) {
    let (target, shape) = (b.target(), Type::Vector(step.acc()));
    if !step.has_first_sums() {
        return (Tile { ..*tile }, vec![b.constant(shape, 0); height * target.nr_vectors]);
    }
    let row: Vec<Value> = (0..target.nr_vectors)
        .map(|v| {
            let at = b.index((v * target.lanes) as i64);
            b.load(shape, tile.b, at)
        })
        .collect();
    let nr = b.index(target.nr() as i64);
    (Tile { b: b.addr(tile.b, step.word(), nr), ..*tile }, row.repeat(height))
}

/// Where step k, the first of a chunk, lies in packed A and B.
fn chunk_at(b: &mut Builder<'_>, word: Elem, tile: &Tile, k: Value) -> (Value, Value) {
    let target = b.target();
    let (mr, nr) = (b.index(tile.panel_rows as i64), b.index(target.nr() as i64));
    let (a, row) = (b.mul(k, mr), b.mul(k, nr));
    (b.addr(tile.a, word, a), b.addr(tile.b, word, row))
}

/// One step: the row of B times each row's element of A.
pub(super) fn update(
    b: &mut Builder<'_>,
    step: Step,
    sums: &mut [Value],
    row: Value,
    mut element: impl FnMut(&mut Builder<'_>, usize) -> Value,
) {
    let target = b.target();
    let (vectors, lanes) = (target.nr_vectors, target.lanes as i64);
    let columns = (0..vectors)
        .map(|v| {
            let at = b.index(v as i64 * lanes);
            b.load(Type::Vector(step.word()), row, at)
        })
        .collect::<Vec<_>>();
    for r in 0..sums.len() / vectors {
        let x = element(b, r);
        for (v, &y) in columns.iter().enumerate() {
            let sum = &mut sums[r * vectors + v];
            *sum = step.mul_add(b, x, y, *sum);
        }
    }
}

/// Adds the initial values where there are some, and stores.
pub(super) fn finish(b: &mut Builder<'_>, acc: Elem, tile: &Tile, sums: &[Value]) {
    let target = b.target();
    let vectors = target.nr_vectors;
    let zero = b.index(0);
    let place = |b: &mut Builder<'_>, base: Value, stride: Value, i: usize| {
        let row = b.index((i / vectors) as i64);
        let offset = b.mul(row, stride);
        let row = b.addr(base, acc, offset);
        (row, b.index((i % vectors * target.lanes) as i64))
    };
    let adds = b.cmp(Cmp::Ne, tile.adds, zero);
    let sums = b.if_else(
        adds,
        |b| {
            let factors = factors(b, acc, tile);
            let add = |(i, &sum): (usize, &Value)| {
                let (row, at) = place(b, tile.init, tile.init_stride, i);
                let old = b.load(Type::Vector(acc), row, at);
                let old = factors.get(i % vectors).map_or(old, |&factor| b.mul(old, factor));
                b.add(old, sum)
            };
            sums.iter().enumerate().map(add).collect()
        },
        |_| sums.to_vec(),
    );
    for (i, &sum) in sums.iter().enumerate() {
        let (row, at) = place(b, tile.c, tile.c_stride, i);
        b.store(sum, row, at);
    }
}

/// The factors of the columns, none where there are none.
fn factors(b: &mut Builder<'_>, acc: Elem, tile: &Tile) -> Vec<Value> {
    let target = b.target();
    let load = |(v, base): (usize, Value)| {
        let at = b.index((v * target.lanes) as i64);
        b.load(Type::Vector(acc), base, at)
    };
    (0..target.nr_vectors).zip(tile.factors.into_iter().cycle()).map(load).collect()
}

/// A tile that reaches over the edge: computed into the scratch tile, of which the valid part is merged into C.
pub(super) fn edge(b: &mut Builder<'_>, kind: Kind, tile: &Tile, scratch: Value, rows: Value, columns: Value) {
    let acc = kind.acc;
    let mut args = vec![
        tile.depth,
        tile.a,
        tile.b,
        tile.c,
        tile.c_stride,
        tile.init,
        tile.init_stride,
        tile.adds,
        scratch,
        rows,
        columns,
    ];
    // Panels that are fetched ahead are of f32, pairs are not.
    let (subnormal, ahead) = (tile.subnormal, tile.ahead);
    args.extend(subnormal.or(ahead));
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let whole = if kind.known.whole_columns { "_n" } else { "" };
    let (of, suffix) = (kind.of_panels(b.target()), if ahead.is_some() { "_ahead" } else { "" });
    b.call(&format!("gemm_edge_{}{whole}{of}{suffix}", Step::of(kind).name()), &types, &[], &args, |b, p| {
        let (zero, nr, mr) = (b.index(0), b.index(b.target().nr() as i64), b.index(kind.mr as i64));
        let (depth, a, right) = (p[0], p[1], p[2]);
        let (subnormal, ahead) = (subnormal.map(|_| p[11]), ahead.map(|_| p[11]));
        let (c, c_stride, init_stride, adds) = (p[8], nr, zero, zero);
        let (factors, init) = (None, c);
        let panel_rows = kind.mr;
        let tile =
            Tile { depth, panel_rows, a, b: right, c, c_stride, init, init_stride, adds, factors, subnormal, ahead };
        call(b, kind, kind.mr, &tile);
        let rows = b.min(p[9], mr);
        let columns = b.min(p[10], nr);
        let stride = [p[4], p[6], nr];
        b.for_each(zero, rows, 1, |b, i| {
            let offsets = stride.map(|s| b.mul(i, s));
            let [c, init, sums] = [(p[3], 0), (p[5], 1), (p[8], 2)].map(|(base, s)| b.addr(base, acc, offsets[s]));
            merge_row(b, kind, c, init, sums, p[7], columns);
        });
        Vec::new()
    });
}

/// `c[j] = init[j] + sums[j]`, or `sums[j]` alone.
pub(super) fn merge_row(
    b: &mut Builder<'_>,
    kind: Kind,
    c: Value,
    init: Value,
    sums: Value,
    adds: Value,
    columns: Value,
) {
    let zero = b.index(0);
    super::columns(b, kind, zero, columns, |b, j, tail| {
        let sum = b.load_vec(kind.acc, sums, j, None, tail.mask());
        merge(b, kind.acc, [c, init], j, sum, adds, tail.mask());
    });
}

/// A vector of [`merge_row`]: element j of C and of the initial value on.
pub(super) fn merge(
    b: &mut Builder<'_>,
    acc: Elem,
    [c, init]: [Value; 2],
    j: Value,
    sum: Value,
    adds: Value,
    mask: Option<Value>,
) {
    let zero = b.index(0);
    let adds = b.cmp(Cmp::Ne, adds, zero);
    let value = b.if_else(
        adds,
        |b| {
            let old = b.load_vec(acc, init, j, None, mask);
            vec![b.add(old, sum)]
        },
        |_| vec![sum],
    );
    b.store_vec(value[0], c, j, None, mask);
}

/// The product over an empty inner dimension: the initial value, or zeros.
pub(super) fn fill(b: &mut Builder<'_>, acc: Elem, p: &Problem) {
    let (zero, none) = (b.index(0), b.constant(Type::Vector(acc), 0));
    let has_init = b.cmp(Cmp::Ne, p.has_init, zero);
    b.for_each(zero, p.m, 1, |b, i| {
        let (row, init_row) = (b.mul(i, p.c_stride), b.mul(i, p.init_stride));
        let (row, init_row) = (b.addr(p.c, acc, row), b.addr(p.init, acc, init_row));
        let zero = b.index(0);
        b.lanes_loop(zero, p.n, 1, &[vec![]], |b, j, tail, _| {
            let value = b.if_else(has_init, |b| vec![b.load_vec(acc, init_row, j, None, tail.mask())], |_| vec![none]);
            b.store_vec(value[0], row, j, None, tail.mask());
            vec![]
        });
    });
}
