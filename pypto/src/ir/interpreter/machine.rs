//! The state of a run: frames with a value for each SSA name, and what all frames share.

use std::collections::HashMap;
use std::rc::Rc;

use super::error::{Error, ErrorKind, Outcome, malformed};
use super::liveness::Liveness;
use super::races::LoopWrites;
use super::value::{Tensor, Value};
use super::{Kernels, Options};
use crate::ir::report::Report;
use crate::ir::{Block, Direction, Extent, Function, Op, Program, Type, ValueId};
use crate::ops::reference::{Array, MAX_RANK, Memory, Scalar, Shape};

/// Calls may nest this deep.
const DEPTH: usize = 64;

/// A running program.
pub(super) struct Machine<'p> {
    pub program: &'p Program,
    pub options: Options,
    /// Writes of the parallel loops that are running, outermost first; empty unless checked.
    pub loops: Vec<LoopWrites>,
    /// What operations have shown, in order.
    pub reports: Vec<Report>,
    /// What runs in-core functions, where it is not the interpreter itself.
    pub kernels: Option<&'p mut dyn Kernels>,
    liveness: HashMap<usize, Rc<Liveness>>,
    depth: usize,
}

/// A running function.
pub(super) struct Frame<'p> {
    pub function: &'p Function,
    values: Vec<Option<Value>>,
    liveness: Rc<Liveness>,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, options: Options) -> Machine<'p> {
        Machine {
            program,
            options,
            loops: Vec::new(),
            reports: Vec::new(),
            kernels: None,
            liveness: HashMap::new(),
            depth: 0,
        }
    }

    /// The values of a function's parameters from the words of a call.
    ///
    /// # Safety
    /// As for [`super::run_function`].
    pub(super) unsafe fn parameters(&self, function: &Function, words: &[u64]) -> Outcome<Vec<Value>> {
        if words.len() != function.params.len() {
            return Err(ErrorKind::ArgumentCount { expected: function.params.len(), found: words.len() });
        }
        let index = |extent: Extent| match extent {
            Extent::Const(n) => Ok(n),
            Extent::Value(v) => match function.params.iter().position(|p| p.value == v) {
                Some(position) => Ok(words[position] as i64),
                None => Err(malformed("a parameter's extent is no parameter")),
            },
        };
        let mut values = Vec::with_capacity(words.len());
        for (param, word) in function.params.iter().zip(words) {
            values.push(match type_of(function, param.value)? {
                Type::Scalar(dtype) => Value::Scalar(Scalar { dtype: *dtype, bits: *word }),
                Type::Tensor(t) => {
                    let dims = shape(&t.dims, index)?;
                    let strides = shape(&t.strides, index)?;
                    // SAFETY: the caller's promise.
                    let memory = unsafe { Memory::new(t.dtype, dims, strides, *word as *mut u8) }?;
                    let read_only = (param.direction == Direction::In).then(|| Rc::from(param.name.as_str()));
                    Value::Tensor(Tensor { memory, read_only, allocation: None })
                }
                _ => return Err(malformed("a parameter that is neither tensor nor scalar")),
            });
        }
        Ok(values)
    }

    /// Runs a function; gives what it yields.
    pub(super) fn call(&mut self, index: usize, arguments: Vec<Value>) -> Result<Vec<Value>, Error> {
        let program = self.program;
        let function = &program.functions[index];
        if self.depth >= DEPTH {
            return Err(ErrorKind::Depth(DEPTH).at(function.loc));
        }
        if arguments.len() != function.params.len() {
            let (expected, found) = (function.params.len(), arguments.len());
            return Err(ErrorKind::ArgumentCount { expected, found }.at(function.loc));
        }
        let liveness = self.liveness.entry(index).or_insert_with(|| Rc::new(Liveness::of(function)));
        let mut frame = Frame { function, values: vec![None; function.values.len()], liveness: Rc::clone(liveness) };
        for (param, argument) in function.params.iter().zip(arguments) {
            frame.set(param.value, argument).map_err(|kind| kind.at(param.loc))?;
        }
        self.depth += 1;
        let result = self.block(&mut frame, &function.body);
        self.depth -= 1;
        result
    }

    /// Runs a block whose arguments are set; gives what it yields.
    pub(super) fn block(&mut self, frame: &mut Frame<'p>, block: &'p Block) -> Result<Vec<Value>, Error> {
        let liveness = Rc::clone(&frame.liveness);
        let last_uses = liveness.block_of(block);
        for (index, op) in block.ops.iter().enumerate() {
            let dying: &[ValueId] = last_uses.map_or(&[], |l| &l.dying[index]);
            self.op(frame, op, dying)?;
            for value in dying {
                frame.drop_value(*value);
            }
        }
        let mut yields = Vec::with_capacity(block.yields.len());
        for value in &block.yields {
            yields.push(frame.get(*value).map_err(|kind| kind.at(frame.function.loc))?.clone());
        }
        for value in last_uses.map_or(&[][..], |l| &l.yielded) {
            frame.drop_value(*value);
        }
        Ok(yields)
    }
}

impl Frame<'_> {
    /// The value of a name.
    pub(super) fn get(&self, value: ValueId) -> Outcome<&Value> {
        self.values.get(value.0 as usize).and_then(Option::as_ref).ok_or_else(|| undefined(value))
    }

    /// Defines a name.
    pub(super) fn set(&mut self, name: ValueId, value: Value) -> Outcome<()> {
        let slot = self.values.get_mut(name.0 as usize).ok_or_else(|| undefined(name))?;
        *slot = Some(value);
        Ok(())
    }

    /// Defines the only result of an operation.
    pub(super) fn set_result(&mut self, op: &Op, value: Value) -> Outcome<()> {
        match op.results.as_slice() {
            [result] => self.set(*result, value),
            results => Err(malformed(format!("`{}` with {} results", op.kind.name(), results.len()))),
        }
    }

    fn drop_value(&mut self, value: ValueId) {
        if let Some(slot) = self.values.get_mut(value.0 as usize) {
            *slot = None;
        }
    }

    /// Operand number `n`.
    pub(super) fn operand(&self, op: &Op, n: usize) -> Outcome<&Value> {
        let value = op.operands.get(n).ok_or_else(|| malformed(format!("`{}` without operand {n}", op.kind.name())))?;
        self.get(*value)
    }

    pub(super) fn scalar(&self, op: &Op, n: usize) -> Outcome<Scalar> {
        match self.operand(op, n)? {
            Value::Scalar(scalar) => Ok(*scalar),
            _ => Err(malformed(format!("operand {n} of `{}` is no scalar", op.kind.name()))),
        }
    }

    pub(super) fn index(&self, op: &Op, n: usize) -> Outcome<i64> {
        let scalar = self.scalar(op, n)?;
        scalar.index().ok_or_else(|| malformed(format!("operand {n} of `{}` is no integer", op.kind.name())))
    }

    /// Operands from number `n` on, as offsets or indices.
    pub(super) fn indices(&self, op: &Op, n: usize) -> Outcome<Shape> {
        let mut entries = [0; MAX_RANK];
        let rank = op.operands.len().saturating_sub(n);
        if rank > MAX_RANK {
            return Err(malformed(format!("`{}` with {rank} indices", op.kind.name())));
        }
        for (axis, entry) in entries[..rank].iter_mut().enumerate() {
            *entry = self.index(op, n + axis)?;
        }
        Ok(Shape::new(&entries[..rank]))
    }

    pub(super) fn tile(&self, op: &Op, n: usize) -> Outcome<&Rc<Array>> {
        match self.operand(op, n)? {
            Value::Tile(array) => Ok(array),
            _ => Err(malformed(format!("operand {n} of `{}` is no tile", op.kind.name()))),
        }
    }

    /// A tile operand to change: without a copy where this is its last use.
    pub(super) fn take_tile(&mut self, op: &Op, n: usize, dying: &[ValueId]) -> Outcome<Array> {
        let array = Rc::clone(self.tile(op, n)?);
        let value = op.operands[n];
        if dying.contains(&value) && op.operands.iter().filter(|v| **v == value).count() == 1 {
            self.drop_value(value);
        }
        Ok(Rc::unwrap_or_clone(array))
    }

    pub(super) fn tensor(&self, op: &Op, n: usize) -> Outcome<&Tensor> {
        match self.operand(op, n)? {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(malformed(format!("operand {n} of `{}` is no tensor", op.kind.name()))),
        }
    }

    /// Extents of a type, with the values that they have now.
    pub(super) fn shape(&self, extents: &[Extent]) -> Outcome<Shape> {
        shape(extents, |extent| match extent {
            Extent::Const(n) => Ok(n),
            Extent::Value(v) => match self.get(v)? {
                Value::Scalar(scalar) => scalar.index().ok_or_else(|| malformed("an extent that is no integer")),
                _ => Err(malformed("an extent that is no scalar")),
            },
        })
    }

    /// The type of the only result of an operation.
    pub(super) fn result_type(&self, op: &Op) -> Outcome<&Type> {
        match op.results.as_slice() {
            [result] => type_of(self.function, *result),
            results => Err(malformed(format!("`{}` with {} results", op.kind.name(), results.len()))),
        }
    }
}

fn undefined(value: ValueId) -> ErrorKind {
    malformed(format!("%{} is not defined here", value.0))
}

fn type_of(function: &Function, value: ValueId) -> Outcome<&Type> {
    function.values.get(value.0 as usize).map(|info| &info.ty).ok_or_else(|| undefined(value))
}

fn shape(extents: &[Extent], value: impl Fn(Extent) -> Outcome<i64>) -> Outcome<Shape> {
    if extents.len() > MAX_RANK {
        return Err(malformed(format!("a type of rank {}", extents.len())));
    }
    let mut entries = [0; MAX_RANK];
    for (entry, extent) in entries.iter_mut().zip(extents) {
        *entry = value(*extent)?;
    }
    Ok(Shape::new(&entries[..extents.len()]))
}
