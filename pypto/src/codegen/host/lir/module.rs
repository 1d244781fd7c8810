//! The data of LIR: modules of functions, each a tree of blocks of instructions.
//!
//! Invariants (checked by [`verify`](super::verify)): every value is defined once; its uses lie after the definition in the same block or
//! in a block nested there; constants belong to the function, not to a block, and dominate everything.

use super::op::Op;
use super::types::Type;
use crate::codegen::host::cpu::Target;

/// A value of one function: an index into [`Function::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// The bit pattern when it is a constant (of every lane, for vectors).
    pub constant: Option<u64>,
}

/// One instruction: results, operation, operands, and the blocks of structured control flow.
#[derive(Clone, Debug)]
pub struct Inst {
    /// The values it defines.
    pub results: Vec<Value>,
    /// The operation.
    pub op: Op,
    /// Operands, in the order that [`Op`] documents.
    pub args: Vec<Value>,
    /// Nested blocks of `for`, `if` and `while`.
    pub blocks: Vec<Block>,
}

/// A sequence of instructions with parameters (loop variables) and the values that it hands to its parent.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Values defined on entry.
    pub params: Vec<Value>,
    /// The instructions, in order.
    pub insts: Vec<Inst>,
    /// Values passed on at the end.
    pub yields: Vec<Value>,
}

/// A function: a kernel with the fixed entry signature, or an internal helper.
#[derive(Clone, Debug)]
pub struct Function {
    /// The symbol.
    pub name: String,
    /// Kernels are visible symbols; helpers are internal to the module.
    pub is_kernel: bool,
    /// All values, constants included.
    pub values: Vec<ValueData>,
    /// Types of the returned values (kernels return nothing).
    pub results: Vec<Type>,
    /// Parameters are the block's parameters, returned values its yields.
    pub body: Block,
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.0 as usize].ty
    }

    /// The bit pattern of a constant.
    pub fn constant(&self, value: Value) -> Option<u64> {
        self.values[value.0 as usize].constant
    }

    /// Adds a value of that type.
    pub fn new_value(&mut self, ty: Type) -> Value {
        self.values.push(ValueData { ty, constant: None });
        Value(self.values.len() as u32 - 1)
    }
}

/// The unit of compilation: functions for one target.
#[derive(Clone, Debug)]
pub struct Module {
    /// Decides the lane count and the shapes of micro-kernels.
    pub target: Target,
    /// Helpers precede the functions that call them.
    pub functions: Vec<Function>,
}

impl Module {
    /// An empty module.
    pub fn new(target: Target) -> Module {
        Module { target, functions: Vec::new() }
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}
