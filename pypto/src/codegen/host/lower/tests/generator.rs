//! Builds a random kernel from a seed: loops over tiles of its tensors around a random body, and stores of some of the results.

use super::kernels::{kernel, loc, tensor};
use super::memory::Dice;
use crate::ir::builder::ForLoop;
use crate::ir::{Builder, DType, Direction, Extent, Function, LoopKind, ParamRole, Round, TensorType, Type, ValueId};
use crate::ops::OpKind;

/// A kernel under construction.
pub(crate) struct Generator {
    pub b: Builder,
    pub dice: Dice,
    /// Parameters: element type, extents, and whether the kernel writes it.
    buffers: Vec<(DType, Vec<i64>, bool)>,
    pub types: &'static [DType],
    /// Tiles in scope.
    pub pool: Vec<ValueId>,
    pub m: i64,
    /// The number of rows as an argument of the call.
    rows: Option<ValueId>,
    n: i64,
    pub tile: (i64, i64),
    pub at: [ValueId; 2],
    pub inputs: Vec<(ValueId, i64, i64)>,
}

const EXTENTS: [i64; 16] = [0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 40, 67];
const TILES: [i64; 8] = [1, 2, 4, 8, 16, 32, 33, 64];
pub(super) const TYPES: [DType; 13] = [
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

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator::of_types(seed, &TYPES)
    }

    /// As [`Generator::new`], with parameters of the given element types.
    pub(crate) fn of_types(seed: u64, types: &'static [DType]) -> Generator {
        let mut dice = Dice::new(seed);
        let mut b = kernel("random");
        let (m, n) = (dice.pick(&EXTENTS), dice.pick(&EXTENTS));
        let tile = (dice.pick(&TILES), dice.pick(&TILES));
        let role = ParamRole::Extent { param: 1, axis: 0 };
        let rows = (dice.below(3) == 0).then(|| b.param("M", Type::INDEX, Direction::In, role, loc()));
        let zero = b.index(0, loc());
        Generator { b, dice, buffers: vec![], types, pool: vec![], m, rows, n, tile, at: [zero; 2], inputs: vec![] }
    }

    pub(super) fn input(&mut self, dtype: DType, rows: i64, columns: i64, direction: Direction) -> ValueId {
        let name = format!("p{}", self.buffers.len());
        self.buffers.push((dtype, vec![rows, columns], direction != Direction::In));
        match self.rows.filter(|_| rows == self.m && self.m != 1) {
            None => tensor(&mut self.b, &name, dtype, &[rows, columns], direction),
            Some(extent) => {
                let dims = vec![Extent::Value(extent), Extent::Const(columns)];
                let strides = vec![Extent::Const(columns.max(1)), Extent::Const(1)];
                let ty = Type::Tensor(TensorType { dtype, dims, strides });
                self.b.param(&name, ty, direction, ParamRole::Tensor, loc())
            }
        }
    }

    /// The whole kernel: loops over tiles of the tensors, with a random body.
    pub(crate) fn kernel(mut self) -> Option<Generated> {
        for _ in 0..1 + self.dice.below(4) {
            let (dtype, shape) = (self.dice.pick(self.types), self.dice.below(5));
            let rows = if shape == 1 { 1 } else { self.m };
            let columns = if shape == 2 { 1 } else { self.n };
            let value = self.input(dtype, rows, columns, Direction::In);
            self.inputs.push((value, rows, columns));
        }
        let outputs: Vec<ValueId> = (0..3)
            .map(|k| {
                let (m, n) = (self.m, self.n);
                let (rows, columns) = if k == 1 { (m, 1) } else { (m, n) };
                let dtype = if k == 0 { DType::F32 } else { self.dice.pick(self.types) };
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
        Some(Generated { function, buffers: self.buffers, rows: self.rows.map(|_| self.m) })
    }

    pub(super) fn begin(&mut self, kind: LoopKind, extent: i64, tile: i64) -> Option<ValueId> {
        let head = self.head(kind, extent, tile, vec![]);
        self.b.begin_for(&head, &[]).ok().map(|(index, _)| index)
    }

    pub(super) fn head(&mut self, kind: LoopKind, extent: i64, tile: i64, initial: Vec<ValueId>) -> ForLoop {
        let [lower, constant, step] = [0, extent, tile].map(|v| self.b.index(v, loc()));
        let upper = self.rows.filter(|_| extent == self.m && self.m != 1).unwrap_or(constant);
        ForLoop { kind, lower, upper, step, initial, index_name: None, names: vec![], loc: loc() }
    }

    /// One random operation; nothing where the rules do not allow it.
    pub(super) fn step(&mut self, depth: usize) {
        match self.dice.below(27) {
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
            23 if depth == 0 => self.repeat_while(),
            24 => self.gather(),
            _ => self.math_chain(),
        }
    }

    pub(super) fn keep<E>(&mut self, value: Result<ValueId, E>) {
        if let Ok(value) = value
            && self.b.tile_type(value).is_some()
        {
            self.pool.push(value);
        }
    }

    pub(super) fn any(&mut self) -> Option<ValueId> {
        (!self.pool.is_empty()).then(|| {
            // Recent values more often.
            let n = self.pool.len();
            let back = self.dice.below(n).min(self.dice.below(n));
            self.pool[n - 1 - back]
        })
    }

    pub(super) fn dtype(&self, value: ValueId) -> DType {
        self.b.ty(value).dtype().unwrap_or(DType::F32)
    }

    /// Stores a value of every output's shape, converted to its type.
    pub(super) fn outputs(&mut self, outputs: &[ValueId]) {
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

/// A kernel with its parameters.
pub(crate) struct Generated {
    pub function: Function,
    pub buffers: Vec<(DType, Vec<i64>, bool)>,
    /// The first argument, where the number of rows is one.
    pub rows: Option<i64>,
}
