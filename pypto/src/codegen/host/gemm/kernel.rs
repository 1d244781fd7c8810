//! The micro-kernel: MR x NR results in registers, one helper function per module, accumulator type, and way that the factors lie.
//!
//! Packed A is a sequence of chunks of W steps: [chunk][row][W], so that packing copies whole vectors; packed B is [step][NR].

use super::Kind;
pub(super) use super::tile::{Ahead, Left, Part, Tile};
use super::words::Step;
use crate::codegen::host::lir::{Builder, CacheLevel, Cmp, Elem, Type, Value};

/// Steps that are written out. LLVM's scheduler moves all loads of longer stretches to their front, and spills what they load.
pub(super) const STEPS: i64 = 2;

/// Elements that a step fetches of what comes after, where panels are not packed shortly before: a cache line for the steps written out.
pub(super) const FETCHED: i64 = 64 / 4 / STEPS;

/// Elements of 4 bytes in a cache line.
const LINE: usize = 16;

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
    let tile = &Tile { subnormal: None, ..*tile };
    let (operands, optional) = tile.operands();
    let args: Vec<Value> = operands.into_iter().chain(optional.into_iter().flatten()).collect();
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let rows = if height == b.target().mr { String::new() } else { format!("_{height}") };
    let name = name(step) + &tile.left.name(b.target()) + &rows + &tile.suffixes();
    b.call(&name, &types, &[], &args, |b, p| {
        body(b, step, height, &tile.of_parameters(p));
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
    let rows = if tile.part.is_some() { 0 } else { height };
    for row in 0..rows {
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
                update(b, step, &mut sums, Row { source: bp, copy: None }, |b, r| {
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
        update(b, step, &mut sums, Row { source: bp, copy: None }, |b, r| {
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
        fetch_columns(b, tile, source);
        let copy = tile.copies.map(|copies| {
            let s = b.index(s);
            let at = b.add(k, s);
            let offset = b.mul(at, nr);
            b.addr(copies, word, offset)
        });
        update(b, step, &mut sums, Row { source, copy }, |b, r| match column {
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
    if let Some(Ahead::Elements(ahead)) = tile.ahead {
        let bytes = b.index(FETCHED * 4);
        let offset = b.mul(k, bytes);
        b.prefetch(ahead, offset);
    }
}

/// Fetches columns to come of a row of B.
fn fetch_columns(b: &mut Builder<'_>, tile: &Tile, row: Value) {
    let Some(Ahead::Columns(columns)) = tile.ahead else { return };
    let target = b.target();
    for first in (0..target.nr() as i64).step_by(LINE) {
        let first = b.index(first);
        let (column, size) = (b.add(columns, first), b.index(4));
        let offset = b.mul(column, size);
        b.prefetch_to(CacheLevel::Second, row, offset);
    }
}

/// What the sums begin with: zeros, or the first row of the panel of B, after which the steps follow.
fn first_sums(b: &mut Builder<'_>, step: Step, height: usize, tile: &Tile) -> (Tile, Vec<Value>) {
    let (target, shape) = (b.target(), Type::Vector(step.acc()));
    if !step.has_first_sums() {
        let none = vec![b.constant(shape, 0); height * target.nr_vectors];
        let sums = match tile.part {
            Some(part) => b.if_else(part.is_first, |_| none.clone(), |b| stored_sums(b, shape, part, none.len())),
            None => none,
        };
        return (Tile { ..*tile }, sums);
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

/// A row of a panel of B.
#[derive(Clone, Copy)]
struct Row {
    source: Value,
    /// Where it is copied to.
    copy: Option<Value>,
}

/// One step: the row of B times each row's element of A.
fn update(
    b: &mut Builder<'_>,
    step: Step,
    sums: &mut [Value],
    row: Row,
    mut element: impl FnMut(&mut Builder<'_>, usize) -> Value,
) {
    let target = b.target();
    let (vectors, lanes) = (target.nr_vectors, target.lanes as i64);
    let columns = (0..vectors)
        .map(|v| {
            let at = b.index(v as i64 * lanes);
            let value = b.load(Type::Vector(step.word()), row.source, at);
            if let Some(copy) = row.copy {
                b.store(value, copy, at);
            }
            value
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

/// The sums of the parts before.
fn stored_sums(b: &mut Builder<'_>, shape: Type, part: Part, count: usize) -> Vec<Value> {
    (0..count)
        .map(|i| {
            let at = b.index((i * b.lanes()) as i64);
            b.load(shape, part.sums, at)
        })
        .collect()
}

/// Writes the results, or sums that are to go on.
fn finish(b: &mut Builder<'_>, acc: Elem, tile: &Tile, sums: &[Value]) {
    let Some(part) = tile.part else { return write_results(b, acc, tile, sums) };
    let results = |b: &mut Builder<'_>| {
        write_results(b, acc, tile, sums);
        Vec::new()
    };
    b.if_else(part.is_last, results, |b| {
        for (i, &sum) in sums.iter().enumerate() {
            let at = b.index((i * b.lanes()) as i64);
            b.store(sum, part.sums, at);
        }
        Vec::new()
    });
}

/// Adds the initial values where there are some, and stores.
fn write_results(b: &mut Builder<'_>, acc: Elem, tile: &Tile, sums: &[Value]) {
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
