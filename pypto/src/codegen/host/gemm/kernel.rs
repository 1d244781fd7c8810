//! The micro-kernel: MR x NR results in registers, one helper function per module, accumulator type, and way that the factors lie.
//!
//! Packed A is a sequence of chunks of W steps: [chunk][row][W], so that packing copies whole vectors; packed B is [step][NR].

use super::Kind;
use super::words::Step;
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// Steps that are written out. LLVM's scheduler moves all loads of longer stretches to their front, and spills what they load.
pub(super) const STEPS: i64 = 2;

/// Elements that a step fetches of what comes after, where panels are not packed shortly before: a cache line for the steps written out.
pub(super) const FETCHED: i64 = 64 / 4 / STEPS;

/// How the left factor lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    /// Packed, in panels of so many rows.
    Panels(usize),
    /// Rows at this distance, whose steps are neighbours.
    Rows(Value),
    /// Columns at this distance, whose rows are neighbours.
    Columns(Value),
}

impl Left {
    pub(super) fn stride(self) -> Option<Value> {
        match self {
            Left::Panels(_) => None,
            Left::Rows(stride) | Left::Columns(stride) => Some(stride),
        }
    }

    /// The same at another distance.
    pub(super) fn at_distance(self, stride: Option<Value>) -> Left {
        match (self, stride) {
            (Left::Rows(_), Some(stride)) => Left::Rows(stride),
            (Left::Columns(_), Some(stride)) => Left::Columns(stride),
            (left, _) => left,
        }
    }

    /// The part of a function's name that says so.
    pub(super) fn name(self, target: Target) -> String {
        match self {
            Left::Panels(rows) => super::of_panels(rows, target),
            Left::Rows(_) => "_rows".to_string(),
            Left::Columns(_) => "_columns".to_string(),
        }
    }
}

/// Operands of one call.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub depth: Value,
    pub left: Left,
    pub a: Value,
    pub b: Value,
    /// Distance of the rows of B; `None` where it is packed.
    pub b_stride: Option<Value>,
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
    let optional = [tile.left.stride(), tile.b_stride, tile.factors, tile.ahead];
    args.extend(optional.iter().flatten());
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let rows = if height == b.target().mr { String::new() } else { format!("_{height}") };
    let suffixes = [(tile.b_stride, "_apart"), (tile.factors, "_scaled"), (tile.ahead, "_ahead")];
    let suffixes: String = suffixes.iter().filter(|(value, _)| value.is_some()).map(|(_, suffix)| *suffix).collect();
    let name = name(step) + &tile.left.name(b.target()) + &rows + &suffixes;
    b.call(&name, &types, &[], &args, |b, p| {
        let mut given = p[8..].iter().copied();
        let [left_stride, b_stride, factors, ahead] = optional.map(|value| value.and_then(|_| given.next()));
        let (depth, left, subnormal) = (p[0], tile.left.at_distance(left_stride), None);
        let [a, right, c, c_stride] = [p[1], p[2], p[3], p[4]];
        let [init, init_stride, adds] = [p[5], p[6], p[7]];
        let tile = Tile {
            depth,
            left,
            a,
            b: right,
            b_stride,
            c,
            c_stride,
            init,
            init_stride,
            adds,
            factors,
            subnormal,
            ahead,
        };
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
    let acc = step.acc();
    // The result is needed after a few hundred cycles, which hides its way from the outer caches.
    for row in 0..height {
        let bytes = b.index((row * acc.bytes()) as i64);
        let offset = b.mul(tile.c_stride, bytes);
        b.prefetch(tile.c, offset);
    }
    let (tile, first) = first_sums(b, step, height, tile);
    let sums = match tile.left {
        Left::Panels(rows) => in_panels(b, step, rows, &tile, &first),
        Left::Rows(_) | Left::Columns(_) => in_place(b, step, height, &tile, &first),
    };
    finish(b, acc, &tile, &sums);
}

/// All steps with packed factors.
fn in_panels(b: &mut Builder<'_>, step: Step, panel_rows: usize, tile: &Tile, first: &[Value]) -> Vec<Value> {
    let (word, target) = (step.word(), b.target());
    let (lanes, nr) = (target.lanes as i64, target.nr() as i64);
    let (zero, one, chunk) = (b.index(0), b.index(1), b.index(lanes));
    let rest = b.urem(tile.depth, chunk);
    let whole = b.sub(tile.depth, rest);
    let count = step.written_out().min(lanes);
    let written_out = b.index(count);
    let sums = b.for_loop(zero, whole, chunk, first, |b, k, sums| {
        let (a, bp) = chunk_at(b, word, panel_rows, tile, k);
        b.for_loop(zero, chunk, written_out, sums, |b, first, sums| {
            let nr_value = b.index(nr);
            let (a, row) = (b.addr(a, word, first), b.mul(first, nr_value));
            let bp = b.addr(bp, word, row);
            let at = b.add(k, first);
            fetch_ahead(b, tile, at);
            let mut sums = sums.to_vec();
            for next in 0..count {
                let row = b.index(next * nr);
                let bp = b.addr(bp, word, row);
                update(b, step, &mut sums, bp, |b, r| {
                    let at = b.index(r as i64 * lanes + next);
                    b.load_splat(word, a, at)
                });
            }
            sums
        })
    });
    let (a, bp) = chunk_at(b, word, panel_rows, tile, whole);
    b.for_loop(zero, rest, one, &sums, |b, k, sums| {
        let nr = b.index(nr);
        let row = b.mul(k, nr);
        let bp = b.addr(bp, word, row);
        let mut sums = sums.to_vec();
        let a = b.addr(a, word, k);
        update(b, step, &mut sums, bp, |b, r| {
            let at = b.index(r as i64 * lanes);
            b.load_splat(word, a, at)
        });
        sums
    })
}

/// All steps with a left factor where it lies.
fn in_place(b: &mut Builder<'_>, step: Step, height: usize, tile: &Tile, first: &[Value]) -> Vec<Value> {
    let (zero, one, steps) = (b.index(0), b.index(1), b.index(STEPS));
    let rest = b.urem(tile.depth, steps);
    let whole = b.sub(tile.depth, rest);
    let lines: Vec<Value> = match tile.left {
        Left::Rows(stride) => (0..height as i64)
            .map(|r| {
                let r = b.index(r);
                let offset = b.mul(r, stride);
                b.addr(tile.a, step.word(), offset)
            })
            .collect(),
        Left::Columns(_) | Left::Panels(_) => Vec::new(),
    };
    let sums = b.for_loop(zero, whole, steps, first, |b, k, sums| {
        fetch_ahead(b, tile, k);
        steps_in_place(b, step, tile, &lines, [k, steps], sums)
    });
    b.for_loop(whole, tile.depth, one, &sums, |b, k, sums| steps_in_place(b, step, tile, &lines, [k, one], sums))
}

/// Some steps from k on.
fn steps_in_place(
    b: &mut Builder<'_>,
    step: Step,
    tile: &Tile,
    lines: &[Value],
    [k, count]: [Value; 2],
    sums: &[Value],
) -> Vec<Value> {
    let (word, nr) = (step.word(), b.index(b.target().nr() as i64));
    let b_stride = tile.b_stride.unwrap_or(nr);
    let mut sums = sums.to_vec();
    let mut row = b.mul(k, b_stride);
    let column_stride = tile.left.stride().filter(|_| lines.is_empty());
    let mut column = column_stride.map(|stride| b.mul(k, stride));
    for s in 0..b.as_const(count).unwrap_or(1) {
        if s > 0 {
            row = b.add(row, b_stride);
            column = column.zip(column_stride).map(|(column, stride)| b.add(column, stride));
        }
        let source = b.addr(tile.b, word, row);
        update(b, step, &mut sums, source, |b, r| match column {
            Some(column) => {
                let (column, at) = (b.addr(tile.a, word, column), b.index(r as i64));
                b.load_splat(word, column, at)
            }
            None => {
                let s = b.index(s);
                let at = b.add(k, s);
                b.load_splat(word, lines[r], at)
            }
        });
    }
    sums
}

/// Fetches what belongs to the steps from k on.
fn fetch_ahead(b: &mut Builder<'_>, tile: &Tile, k: Value) {
    if let Some(ahead) = tile.ahead {
        let bytes = b.index(FETCHED * 4);
        let offset = b.mul(k, bytes);
        b.prefetch(ahead, offset);
    }
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
fn chunk_at(b: &mut Builder<'_>, word: Elem, panel_rows: usize, tile: &Tile, k: Value) -> (Value, Value) {
    let target = b.target();
    let (mr, nr) = (b.index(panel_rows as i64), b.index(target.nr() as i64));
    let (a, row) = (b.mul(k, mr), b.mul(k, nr));
    (b.addr(tile.a, word, a), b.addr(tile.b, word, row))
}

/// One step: the row of B times each row's element of A.
fn update(
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
fn finish(b: &mut Builder<'_>, acc: Elem, tile: &Tile, sums: &[Value]) {
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
