//! Random kernels: straight-line code, loops with carried tiles, branches, reductions, products, movement, over ragged shapes and special
//! values. Compiled code must write what the interpreter writes, bit for bit (NaN payloads aside), and fail where it fails.
//!
//! `PYPTO_RANDOM_KERNELS` sets how many kernels a run tries, `PYPTO_RANDOM_SEED` the first seed.

use super::kernels::{kernel, loc, tensor};
use super::memory::{Buffer, Dice};
use super::run::prepare;
use crate::codegen::host::lir::print_module;
use crate::ir::builder::ForLoop;
use crate::ir::interpreter::{Options, run_function};
use crate::ir::{Builder, DType, Direction, Extent, Function, LoopKind, Program, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// A kernel under construction.
struct Generator {
    b: Builder,
    dice: Dice,
    /// Parameters: element type, extents, and whether the kernel writes it.
    buffers: Vec<(DType, Vec<i64>, bool)>,
    /// Tiles in scope.
    pool: Vec<ValueId>,
    m: i64,
    n: i64,
    tile: (i64, i64),
    at: [ValueId; 2],
    inputs: Vec<(ValueId, i64, i64)>,
}

const EXTENTS: [i64; 16] = [0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 40, 67];
const TILES: [i64; 8] = [1, 2, 4, 8, 16, 32, 33, 64];
const TYPES: [DType; 13] = [
    DType::F32,
    DType::F32,
    DType::F32,
    DType::I32,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::U32,
    DType::I64,
    DType::Bool,
];
const UNARY: [OpKind; 16] = [
    OpKind::Neg,
    OpKind::Abs,
    OpKind::Recip,
    OpKind::Exp,
    OpKind::Log,
    OpKind::Sqrt,
    OpKind::Rsqrt,
    OpKind::Tanh,
    OpKind::Erf,
    OpKind::Sigmoid,
    OpKind::Sin,
    OpKind::Cos,
    OpKind::Relu,
    OpKind::Floor,
    OpKind::Ceil,
    OpKind::Not,
];
const BINARY: [OpKind; 18] = [
    OpKind::Add,
    OpKind::Sub,
    OpKind::Mul,
    OpKind::Div,
    OpKind::Rem,
    OpKind::Max,
    OpKind::Min,
    OpKind::And,
    OpKind::Or,
    OpKind::Xor,
    OpKind::Shl,
    OpKind::Shr,
    OpKind::CmpEq,
    OpKind::CmpNe,
    OpKind::CmpLt,
    OpKind::CmpLe,
    OpKind::CmpGt,
    OpKind::CmpGe,
];
const REDUCE: [OpKind; 12] = [
    OpKind::RowSum,
    OpKind::RowMax,
    OpKind::RowMin,
    OpKind::RowProd,
    OpKind::RowArgmax,
    OpKind::RowArgmin,
    OpKind::ColSum,
    OpKind::ColMax,
    OpKind::ColMin,
    OpKind::ColProd,
    OpKind::ColArgmax,
    OpKind::ColArgmin,
];

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut dice = Dice::new(seed);
        let mut b = kernel("random");
        let (m, n) = (dice.pick(&EXTENTS), dice.pick(&EXTENTS));
        let tile = (dice.pick(&TILES), dice.pick(&TILES));
        let zero = b.index(0, loc());
        Generator { b, dice, buffers: vec![], pool: vec![], m, n, tile, at: [zero; 2], inputs: vec![] }
    }

    fn input(&mut self, dtype: DType, rows: i64, columns: i64, direction: Direction) -> ValueId {
        let name = format!("p{}", self.buffers.len());
        self.buffers.push((dtype, vec![rows, columns], direction != Direction::In));
        tensor(&mut self.b, &name, dtype, &[rows, columns], direction)
    }

    /// The whole kernel: loops over tiles of the tensors, with a random body.
    fn kernel(mut self) -> Option<(Function, Vec<(DType, Vec<i64>, bool)>)> {
        for _ in 0..1 + self.dice.below(4) {
            let (dtype, shape) = (self.dice.pick(&TYPES), self.dice.below(5));
            let rows = if shape == 1 { 1 } else { self.m };
            let columns = if shape == 2 { 1 } else { self.n };
            let value = self.input(dtype, rows, columns, Direction::In);
            self.inputs.push((value, rows, columns));
        }
        let outputs: Vec<ValueId> = (0..3)
            .map(|k| {
                let (m, n) = (self.m, self.n);
                let (rows, columns) = if k == 1 { (m, 1) } else { (m, n) };
                let dtype = if k == 0 { DType::F32 } else { self.dice.pick(&TYPES) };
                self.input(dtype, rows, columns, Direction::InOut)
            })
            .collect();
        let kind = if self.dice.below(2) == 0 { LoopKind::Parallel } else { LoopKind::Sequential };
        let rows = self.begin(kind, self.m, self.tile.0)?;
        let columns = self.begin(kind, self.n, self.tile.1)?;
        self.at = [rows, columns];
        for _ in 0..3 + self.dice.below(12) {
            self.step(0);
        }
        self.outputs(&outputs);
        self.b.end_for(&[]).ok()?;
        self.b.end_for(&[]).ok()?;
        let function = self.b.finish(vec![]).ok()?;
        Some((function, self.buffers))
    }

    fn begin(&mut self, kind: LoopKind, extent: i64, tile: i64) -> Option<ValueId> {
        let head = self.head(kind, extent, tile, vec![]);
        self.b.begin_for(&head, &[]).ok().map(|(index, _)| index)
    }

    fn head(&mut self, kind: LoopKind, extent: i64, tile: i64, initial: Vec<ValueId>) -> ForLoop {
        let [lower, upper, step] = [0, extent, tile].map(|v| self.b.index(v, loc()));
        ForLoop { kind, lower, upper, step, initial, index_name: None, names: vec![], loc: loc() }
    }

    /// One random operation; nothing where the rules do not allow it.
    fn step(&mut self, depth: usize) {
        match self.dice.below(24) {
            0..=3 => self.load(),
            4..=6 => self.unary(),
            7..=12 => self.binary(),
            13..=14 => self.reduce(),
            15 => self.cast(),
            16 => self.select(),
            17 => self.create(),
            18 => self.fillpad(),
            19 => self.rearrange(),
            20 => self.product(),
            21 if depth == 0 => self.repeat(),
            22 if depth == 0 => self.branch(),
            _ => self.math_chain(),
        }
    }

    fn keep<E>(&mut self, value: Result<ValueId, E>) {
        if let Ok(value) = value {
            if self.b.tile_type(value).is_some() {
                self.pool.push(value);
            }
        }
    }

    fn any(&mut self) -> Option<ValueId> {
        (!self.pool.is_empty()).then(|| {
            // Recent values more often.
            let n = self.pool.len();
            let back = self.dice.below(n).min(self.dice.below(n));
            self.pool[n - 1 - back]
        })
    }

    fn dtype(&self, value: ValueId) -> DType {
        self.b.ty(value).dtype().unwrap_or(DType::F32)
    }

    fn load(&mut self) {
        let pick = self.dice.below(self.inputs.len());
        let (value, rows, columns) = self.inputs[pick];
        let zero = self.b.index(0, loc());
        let offsets = [if rows == 1 { zero } else { self.at[0] }, if columns == 1 { zero } else { self.at[1] }];
        let dims = [
            Extent::Const(if rows == 1 { 1 } else { self.tile.0 }),
            Extent::Const(if columns == 1 { 1 } else { self.tile.1 }),
        ];
        let tile = self.b.load(value, &offsets, &dims, None, loc());
        self.keep(tile);
    }

    fn unary(&mut self) {
        let (Some(x), kind) = (self.any(), self.dice.pick(&UNARY)) else { return };
        let value = self.b.unary(kind, x, loc());
        self.keep(value);
    }

    /// A partner of the same element type: a tile, or a scalar constant.
    fn partner(&mut self, x: ValueId) -> Option<ValueId> {
        let dtype = self.dtype(x);
        let same: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.dtype(v) == dtype).collect();
        if self.dice.below(3) == 0 {
            return self.scalar(dtype);
        }
        let pick = self.dice.below(same.len());
        same.get(pick).copied()
    }

    fn scalar(&mut self, dtype: DType) -> Option<ValueId> {
        let small = self.dice.below(9) as i64 - 3;
        let literal = match dtype {
            DType::Bool => Literal::Bool(small > 0),
            _ if dtype.is_float() => Literal::Float(small as f64 * 0.75),
            _ if dtype.is_unsigned_integer() => Literal::Int(small.abs()),
            _ => Literal::Int(small),
        };
        self.b.literal_of(literal, dtype, loc()).ok()
    }

    fn binary(&mut self) {
        let Some(x) = self.any() else { return };
        let Some(y) = self.partner(x) else { return };
        let kind = self.dice.pick(&BINARY);
        // Integer division mostly ends in failure; keep it rare. Float remainder is not fast, keep it too.
        if matches!(kind, OpKind::Div | OpKind::Rem) && self.dtype(x).is_integer() && self.dice.below(6) != 0 {
            return;
        }
        let value =
            if self.dice.below(4) == 0 { self.b.binary(kind, y, x, loc()) } else { self.b.binary(kind, x, y, loc()) };
        self.keep(value);
    }

    fn reduce(&mut self) {
        let (Some(x), kind) = (self.any(), self.dice.pick(&REDUCE)) else { return };
        let value = self.b.unary(kind, x, loc());
        self.keep(value);
    }

    fn cast(&mut self) {
        let (Some(x), to) = (self.any(), self.dice.pick(&TYPES)) else { return };
        let round = self.dice.pick(&Round::ALL);
        let value = self.b.cast(x, to, round, loc());
        self.keep(value);
    }

    fn select(&mut self) {
        let masks: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.dtype(v) == DType::Bool).collect();
        let (Some(x), pick) = (self.any(), self.dice.below(masks.len())) else { return };
        let (Some(y), Some(&mask)) = (self.partner(x), masks.get(pick)) else { return };
        let value = self.b.select(mask, x, y, loc());
        self.keep(value);
    }

    fn create(&mut self) {
        let dims = [Extent::Const(self.tile.0), Extent::Const(self.tile.1)];
        let dtype = self.dice.pick(&TYPES);
        let Some(value) = self.scalar(dtype) else { return };
        let axis = self.dice.below(2) as i64;
        let tile =
            if dtype.is_integer() { self.b.iota(value, axis, &dims, loc()) } else { self.b.full(value, &dims, loc()) };
        self.keep(tile);
    }

    fn fillpad(&mut self) {
        let Some(x) = self.any() else { return };
        let dtype = self.dtype(x);
        let Some(value) = self.scalar(dtype) else { return };
        let tile = self.b.fillpad(x, value, loc());
        self.keep(tile);
    }

    fn rearrange(&mut self) {
        let Some(x) = self.any() else { return };
        let Some(dims) = self.b.tile_type(x).and_then(|t| t.constant_dims()) else { return };
        let value = match self.dice.below(5) {
            0 => self.b.unary(OpKind::Transpose, x, loc()),
            1 => {
                let offset = dims[0] / 2;
                let (at, zero) = (self.b.index(offset, loc()), self.b.index(0, loc()));
                self.b.slice(x, &[at, zero], &[Extent::Const(dims[0] - offset), Extent::Const(dims[1])], loc())
            }
            2 => self.b.with_dims(OpKind::Reshape, x, &[Extent::Const(dims[1]), Extent::Const(dims[0])], loc()),
            3 => {
                let Some(y) = self.partner(x) else { return };
                let axis = self.dice.below(2) as i64;
                self.b.concat(x, y, axis, loc())
            }
            _ => {
                let Some(y) = self.partner(x) else { return };
                let zero = self.b.index(0, loc());
                self.b.assemble(x, y, &[zero, zero], loc())
            }
        };
        self.keep(value);
    }

    fn product(&mut self) {
        let (Some(x), Some(y)) = (self.any(), self.any()) else { return };
        let (ta, tb) = (self.dice.below(2) == 0, self.dice.below(2) == 0);
        let value = self.b.matmul(OpKind::Matmul, &[x, y], ta, tb, loc());
        if let Ok(product) = value {
            let again = self.b.matmul(OpKind::MatmulAcc, &[product, x, y], ta, tb, loc());
            self.keep(again);
        }
        self.keep(value);
    }

    /// A few float operations in a row, as real kernels have them.
    fn math_chain(&mut self) {
        let Some(x) = self.any() else { return };
        let max = self.b.unary(OpKind::RowMax, x, loc());
        let Ok(max) = max else { return };
        let Ok(d) = self.b.binary(OpKind::Sub, x, max, loc()) else { return };
        let Ok(e) = self.b.unary(OpKind::Exp, d, loc()) else { return };
        let Ok(s) = self.b.unary(OpKind::RowSum, e, loc()) else { return };
        let value = self.b.binary(OpKind::Div, e, s, loc());
        self.keep(value);
    }

    /// A loop that carries one or two tiles.
    fn repeat(&mut self) {
        let initial: Vec<ValueId> = (0..1 + self.dice.below(2)).filter_map(|_| self.any()).collect();
        if initial.is_empty() {
            return;
        }
        let checkpoint = self.b.checkpoint();
        let (pool, trips) = (self.pool.clone(), self.dice.below(4) as i64);
        let head = self.head(LoopKind::Sequential, trips, 1, initial.clone());
        let Ok((_, carried)) = self.b.begin_for(&head, &[]) else { return };
        self.pool.extend(&carried);
        for _ in 0..1 + self.dice.below(5) {
            self.step(1);
        }
        let yields: Vec<ValueId> = carried.iter().map(|&c| self.like(c).unwrap_or(c)).collect();
        self.pool = pool;
        match self.b.end_for(&yields) {
            Ok(results) => self.pool.extend(results),
            Err(_) => self.b.rollback(&checkpoint),
        }
    }

    /// A recent value of the same type.
    fn like(&mut self, value: ValueId) -> Option<ValueId> {
        let same: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.b.ty(v) == self.b.ty(value)).collect();
        let skip = self.dice.below(2.min(same.len()));
        same.iter().rev().nth(skip).copied()
    }

    fn branch(&mut self) {
        let checkpoint = self.b.checkpoint();
        let limit = self.b.index(self.tile.0, loc());
        let Ok(condition) = self.b.binary(OpKind::CmpLt, self.at[0], limit, loc()) else { return };
        let (Some(x), pool) = (self.any(), self.pool.clone()) else { return };
        if self.b.begin_if(condition, loc()).is_err() {
            return;
        }
        let mut sides = Vec::new();
        for side in 0..2 {
            for _ in 0..1 + self.dice.below(4) {
                self.step(1);
            }
            sides.push(self.like(x).unwrap_or(x));
            self.pool.clone_from(&pool);
            if side == 0 && self.b.begin_else(&[sides[0]]).is_err() {
                return self.b.rollback(&checkpoint);
            }
        }
        match self.b.end_if(&[sides[1]]) {
            Ok(results) => self.pool.extend(results),
            Err(_) => self.b.rollback(&checkpoint),
        }
    }

    /// Stores a value of every output's shape, converted to its type.
    fn outputs(&mut self, outputs: &[ValueId]) {
        for (k, &output) in outputs.iter().enumerate() {
            let to = self.dtype(output);
            let (rows, columns) = (self.tile.0, if k == 1 { 1 } else { self.tile.1 });
            let wanted = [rows, columns];
            let fits: Vec<ValueId> = self
                .pool
                .iter()
                .copied()
                .filter(|&v| self.b.tile_type(v).and_then(|t| t.constant_dims()).as_deref() == Some(&wanted))
                .collect();
            for _ in 0..2 {
                let skip = self.dice.below(3.min(fits.len()));
                let Some(&value) = fits.iter().rev().nth(skip) else { continue };
                let value =
                    if self.dtype(value) == to { Ok(value) } else { self.b.cast(value, to, Round::None, loc()) };
                let zero = self.b.index(0, loc());
                let column = if k == 1 { zero } else { self.at[1] };
                if let Ok(value) = value {
                    // The second time on top of what is there.
                    let dims = [Extent::Const(rows), Extent::Const(columns)];
                    let old = self.b.load(output, &[self.at[0], column], &dims, None, loc());
                    let kind = if to == DType::Bool { OpKind::Xor } else { OpKind::Add };
                    let sum = old.and_then(|old| self.b.binary(kind, old, value, loc()));
                    let stored = if self.dice.below(2) == 0 { sum.unwrap_or(value) } else { value };
                    let _ = self.b.store(stored, output, &[self.at[0], column], None, loc());
                }
            }
        }
    }
}

/// The kernel of a seed, with its parameters.
fn generate(seed: u64) -> Option<(Function, Vec<(DType, Vec<i64>, bool)>)> {
    Generator::new(seed).kernel()
}

fn fill(buffers: &[(DType, Vec<i64>, bool)], seed: u64) -> Vec<Buffer> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    buffers
        .iter()
        .map(|(dtype, dims, _)| Buffer::random(*dtype, dims.iter().product::<i64>() as usize, &mut dice))
        .collect()
}

/// Runs a kernel both ways; an error says where they differ.
fn check(seed: u64) -> Result<bool, String> {
    let Some((function, buffers)) = generate(seed) else { return Ok(false) };
    let (mut expected, mut actual) = (fill(&buffers, seed), fill(&buffers, seed));
    let words: Vec<u64> = expected.iter_mut().map(Buffer::address).collect();
    let program = Program { name: "random".into(), functions: vec![function], entry: 0 };
    // SAFETY: the words are the addresses of buffers of the parameters' extents, which nothing else uses.
    let outcome = unsafe { run_function(&program, 0, &words, Options::default()) };
    let function = &program.functions[0];
    let compiled = prepare(function);
    let words: Vec<u64> = actual.iter_mut().map(Buffer::address).collect();
    let status = compiled.call(&words, &mut Vec::new());
    let dump = || {
        format!(
            "{}\n{}",
            crate::ir::text::print_function(function, crate::ir::text::PrintOptions::BRIEF),
            print_module(&compiled.lowered.module)
        )
    };
    if outcome.is_err() != (status != 0) {
        return Err(format!("seed {seed}: interpreter {outcome:?}, status {status}\n{}", dump()));
    }
    if outcome.is_ok() {
        for (k, (want, got)) in expected.iter().zip(&actual).enumerate() {
            if let Some(at) = want.first_difference(got) {
                let before = fill(&buffers, seed).iter().map(|buffer| buffer.show(at)).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "seed {seed}: parameter {k} ({:?}) element {at}: {} instead of {}; before: {before}\n{}",
                    buffers[k],
                    got.show(at),
                    want.show(at),
                    dump()
                ));
            }
        }
    }
    Ok(true)
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn compiled_equals_interpreted() {
    let (first, count) = (from_env("PYPTO_RANDOM_SEED", 1), from_env("PYPTO_RANDOM_KERNELS", 150));
    let (mut done, mut failures) = (0, Vec::new());
    for seed in first..first + count {
        match std::panic::catch_unwind(|| check(seed)) {
            Ok(Ok(ran)) => done += u64::from(ran),
            Ok(Err(text)) => failures.push(text),
            Err(_) => failures.push(format!("seed {seed}: panic")),
        }
    }
    let summary: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(failures.is_empty(), "{} of {count} differ: {summary:#?}\n{}", failures.len(), failures[0]);
    assert!(done * 10 >= count * 7, "only {done} of {count} seeds gave a kernel");
}
