//! Writes LIR functions: constants, value numbering, the entry values of kernels.
//!
//! The builder numbers pure values: asking twice for the same operation on the same operands in nested or equal scopes gives the first
//! value. Control flow takes closures for the nested blocks ([`Builder::for_loop`], [`Builder::if_else`], ..). Type errors are bugs of the
//! caller; debug builds assert on the operands, and [`verify`](super::verify) reports them in full.

mod arith;
mod control;
mod convert;
mod facts;
mod interleave;
mod memory;
mod reduce;

use super::fold::truncate;
use super::module::{Block, Function, Inst, Module, Value};
use super::op::Op;
use super::types::{Elem, Type};
use crate::codegen::host::cpu::Target;
use std::collections::{HashMap, HashSet};

pub use control::Tail;

/// Position of the kernel parameters in the entry block.
const ARGS: u32 = 0;
const BEGIN: u32 = 1;
const END: u32 = 2;
const SCRATCH: u32 = 3;
const STATUS: u32 = 4;

/// Builds one function of a module.
pub struct Builder<'m> {
    module: &'m mut Module,
    function: Function,
    /// Argument loads, run once before the body.
    entry: Vec<Inst>,
    entry_args: HashMap<(usize, Type), Value>,
    constants: HashMap<(Type, u64), Value>,
    /// One level for each open block, the innermost last.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    insts: Vec<Inst>,
    known: HashMap<(Op, Vec<Value>, Type), Value>,
    /// Conditions that have left the kernel where they held.
    failing: HashSet<Value>,
    facts: facts::Facts,
}

impl Module {
    /// Adds the kernel `name` with the entry signature `fn(args, begin, end, scratch, status)`.
    pub fn kernel(&mut self, name: &str, body: impl FnOnce(&mut Builder<'_>)) {
        let params = [Type::Ptr, Type::INDEX, Type::INDEX, Type::Ptr, Type::Ptr];
        let mut builder = Builder::new(self, name, true, &params, &[]);
        body(&mut builder);
        builder.finish(Vec::new());
    }

    /// Adds the internal function `name` unless it exists; the body gets the parameters and gives the results. The name must therefore
    /// tell every helper of the module apart.
    pub fn helper(
        &mut self,
        name: &str,
        params: &[Type],
        results: &[Type],
        body: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
    ) {
        if self.function(name).is_some() {
            return;
        }
        let mut builder = Builder::new(self, name, false, params, results);
        let values = builder.function.body.params.clone();
        let out = body(&mut builder, &values);
        builder.finish(out);
    }
}

impl<'m> Builder<'m> {
    fn new(module: &'m mut Module, name: &str, is_kernel: bool, params: &[Type], results: &[Type]) -> Builder<'m> {
        let mut function = Function {
            name: name.into(),
            is_kernel,
            values: Vec::new(),
            results: results.to_vec(),
            body: Block::default(),
        };
        function.body.params = params.iter().map(|&ty| function.new_value(ty)).collect();
        Builder {
            module,
            function,
            entry: Vec::new(),
            entry_args: HashMap::new(),
            constants: HashMap::new(),
            levels: vec![Level::default()],
        }
    }

    fn finish(mut self, results: Vec<Value>) {
        debug_assert_eq!(results.iter().map(|&v| self.ty(v)).collect::<Vec<_>>(), self.function.results);
        let mut insts = self.entry;
        insts.append(&mut self.levels.pop().map(|level| level.insts).unwrap_or_default());
        self.function.body.insts = insts;
        self.function.body.yields = results;
        self.module.functions.push(self.function);
    }

    /// The target of the module.
    pub fn target(&self) -> Target {
        self.module.target
    }

    /// The lane count `W`.
    pub fn lanes(&self) -> usize {
        self.module.target.lanes
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// The element type of a value; `I64` for pointers, which have none.
    pub fn elem(&self, value: Value) -> Elem {
        self.ty(value).elem().unwrap_or(Elem::I64)
    }

    /// The signed value of an integer constant (scalar, or the same in all lanes).
    pub fn as_const(&self, value: Value) -> Option<i64> {
        let elem = self.ty(value).elem()?;
        let bits = self.function.constant(value)?;
        (!elem.is_float()).then(|| super::fold::signed(elem, bits))
    }

    /// The value of an f32 constant.
    pub fn as_float(&self, value: Value) -> Option<f32> {
        let bits = self.function.constant(value)?;
        (self.ty(value) == Type::F32).then(|| f32::from_bits(bits as u32))
    }

    /// How a value was computed, where that was in a block that is still open.
    pub fn definition(&self, value: Value) -> Option<(&Op, &[Value])> {
        let made = self.levels.iter().rev().flat_map(|level| level.insts.iter().rev());
        made.filter(|inst| inst.results == [value]).map(|inst| (&inst.op, inst.args.as_slice())).next()
    }

    /// A constant of any type from its bit pattern (of one element).
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = truncate(ty.elem().unwrap_or(Elem::I64), bits);
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.function.new_value(ty);
        self.function.values[value.0 as usize].constant = Some(bits);
        self.constants.insert((ty, bits), value);
        value
    }

    /// An index constant.
    pub fn index(&mut self, value: i64) -> Value {
        self.constant(Type::INDEX, value as u64)
    }

    /// A scalar integer constant.
    pub fn int(&mut self, elem: Elem, value: i64) -> Value {
        self.constant(Type::Scalar(elem), value as u64)
    }

    /// A scalar `f32` constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Type::F32, value.to_bits() as u64)
    }

    /// An `f32` constant in every lane.
    pub fn vf32(&mut self, value: f32) -> Value {
        self.constant(Type::VF32, value.to_bits() as u64)
    }

    /// An integer constant in every lane.
    pub fn vint(&mut self, elem: Elem, value: i64) -> Value {
        self.constant(Type::Vector(elem), value as u64)
    }

    /// A scalar truth value.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Type::BOOL, value as u64)
    }

    /// Argument `i` as a pointer.
    pub fn arg_ptr(&mut self, i: usize) -> Value {
        self.arg(i, Type::Ptr)
    }

    /// Argument `i` as an index.
    pub fn arg_i64(&mut self, i: usize) -> Value {
        self.arg(i, Type::INDEX)
    }

    /// Argument `i` as a scalar: the low bits of its word.
    pub fn arg_scalar(&mut self, i: usize, elem: Elem) -> Value {
        self.arg(i, Type::Scalar(elem))
    }

    /// First iteration of the range to run.
    pub fn begin(&self) -> Value {
        Value(BEGIN)
    }

    /// End of the range to run.
    pub fn end(&self) -> Value {
        Value(END)
    }

    /// The scratch memory of this call, 64-byte aligned.
    pub fn scratch(&self) -> Value {
        Value(SCRATCH)
    }

    /// The status word (u32).
    pub fn status(&self) -> Value {
        Value(STATUS)
    }

    fn arg(&mut self, i: usize, ty: Type) -> Value {
        debug_assert!(self.function.is_kernel, "helpers take values, not argument slots");
        if let Some(&value) = self.entry_args.get(&(i, ty)) {
            return value;
        }
        // Arguments are 8-byte words. On little-endian machines the low bits of word i are at its own address; the index counts elements.
        let bytes = if ty == Type::Ptr { 8 } else { self.elem_bytes(ty) };
        let index = self.index((i * 8 / bytes) as i64);
        let value = self.function.new_value(ty);
        self.entry.push(Inst {
            results: vec![value],
            op: Op::Load(Default::default()),
            args: vec![Value(ARGS), index],
            blocks: Vec::new(),
        });
        self.entry_args.insert((i, ty), value);
        value
    }

    fn elem_bytes(&self, ty: Type) -> usize {
        ty.elem().map_or(8, Elem::bytes)
    }

    /// Calls a helper, building it with `body` at its first use.
    pub fn call(
        &mut self,
        name: &str,
        params: &[Type],
        results: &[Type],
        args: &[Value],
        body: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        self.module.helper(name, params, results, body);
        let results = results.iter().map(|&ty| self.function.new_value(ty)).collect::<Vec<_>>();
        self.push(Inst { results: results.clone(), op: Op::Call(name.into()), args: args.to_vec(), blocks: vec![] });
        results
    }

    /// Appends an operation with one result, or finds the equal one that dominates this point.
    pub fn emit(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let key = (op, args.to_vec(), ty);
        let pure = key.0.is_pure();
        if pure && let Some(&value) = self.levels.iter().rev().find_map(|level| level.known.get(&key)) {
            return value;
        }
        let value = self.function.new_value(ty);
        self.push(Inst { results: vec![value], op: key.0.clone(), args: key.1.clone(), blocks: Vec::new() });
        if pure && let Some(level) = self.levels.last_mut() {
            level.known.insert(key, value);
        }
        value
    }

    fn push(&mut self, inst: Inst) {
        if let Some(level) = self.levels.last_mut() {
            level.insts.push(inst);
        }
    }

    /// Begins a block; [`Builder::close`] ends it.
    pub(in crate::codegen::host::lir) fn open(&mut self) {
        self.levels.push(Level::default());
    }

    /// Ends a block that [`Builder::open`] began, with its parameters and what it yields.
    pub(in crate::codegen::host::lir) fn close(&mut self, params: Vec<Value>, yields: Vec<Value>) -> Block {
        let insts = self.levels.pop().map(|level| level.insts).unwrap_or_default();
        Block { params, insts, yields }
    }
}
