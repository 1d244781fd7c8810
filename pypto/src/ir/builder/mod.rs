//! Builds a [`Function`] operation by operation, with types from the type rules.
//!
//! The builder keeps a stack of open blocks, so that a recursive walk over statements needs no closures: `begin_for` ..
//! `end_for`, `begin_if` .. `begin_else` .. `end_if`, `begin_while` .. `begin_while_body` .. `end_while`.
//!
//! Pure scalar operations fold, and equal ones are built once. Integer ones are placed in the outermost block that sees
//! their operands: valid extents computed in a loop stay usable in types outside of it. Range facts
//! ([`crate::ir::facts`]) fold bounds of loops whose extents are known.

mod control;
mod methods;
mod scalar;
mod shape;
#[cfg(test)]
mod tests;

pub use control::{ForLoop, Varying};

use std::collections::HashMap;

use super::Loc;
use super::facts::Fact;
use super::nodes::{Attrs, Block, Direction, Function, FunctionKind, Op, Param, ParamRole, ValueId};
use super::scalars::Scalars;
use super::types::{TensorType, TileType, Type};
use crate::ops::fold::Literal;
use crate::ops::rules::{Operation, Outcome, Request, RuleError, result_type};
use crate::ops::{Class, OpKind};
use control::Construct;
use scalar::Key;

/// A function under construction. See the module documentation.
#[derive(Debug)]
pub struct Builder {
    function: Function,
    frames: Vec<Frame>,
    /// Per value: index of the frame that defines it.
    depths: Vec<usize>,
    scalars: Scalars,
}

/// A block that is open.
#[derive(Debug)]
struct Frame {
    block: Block,
    construct: Construct,
    consed: HashMap<Key, ValueId>,
}

/// A state of the builder to return to: operations and values built since are dropped.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    values: usize,
    /// Number of operations in each open block.
    ops: Vec<usize>,
}

impl Builder {
    /// An empty function.
    pub fn new(name: impl Into<String>, kind: FunctionKind, loc: Loc) -> Builder {
        let function =
            Function { name: name.into(), kind, params: Vec::new(), values: Vec::new(), body: Block::default(), loc };
        let frames = vec![Frame::new(Construct::Function)];
        Builder { function, frames, depths: Vec::new(), scalars: Scalars::default() }
    }

    /// Adds a parameter. A tensor's type may mention parameters that are added later: see [`Builder::set_type`].
    pub fn param(&mut self, name: &str, ty: Type, direction: Direction, role: ParamRole, loc: Loc) -> ValueId {
        let value = self.define(ty, Some(name.to_owned()), loc, 0);
        if let ParamRole::Extent { .. } = role {
            self.scalars.assume(value, Fact::EXTENT);
        }
        let name = name.to_owned();
        self.function.params.push(Param { value, name, direction, role, returned: false, loc });
        value
    }

    /// Marks a parameter as the function's returned tensor.
    pub fn mark_returned(&mut self, param: usize) {
        self.function.params[param].returned = true;
    }

    /// Replaces the type of a value that nothing uses yet.
    pub fn set_type(&mut self, value: ValueId, ty: Type) {
        self.function.values[value.0 as usize].ty = ty;
    }

    /// Gives a value the user's name unless it has one.
    pub fn set_name(&mut self, value: ValueId, name: &str) {
        let constant = self.literal(value).is_some();
        let info = &mut self.function.values[value.0 as usize];
        if info.name.is_none() && !constant {
            info.name = Some(name.to_owned());
        }
    }

    /// Adds what is known of an index scalar, for example of an extent.
    pub fn assume(&mut self, value: ValueId, fact: Fact) {
        self.scalars.assume(value, fact);
    }

    /// What is known of an index scalar.
    pub fn fact(&self, value: ValueId) -> Fact {
        self.scalars.fact(value)
    }

    /// How an index scalar was computed, where one operation computed it.
    pub fn definition(&self, value: ValueId) -> Option<(OpKind, &[ValueId])> {
        self.scalars.definition(value)
    }

    /// The value of a scalar that is a known constant.
    pub fn literal(&self, value: ValueId) -> Option<Literal> {
        self.scalars.literal(value)
    }

    /// The operation in a block that is still open which makes a value.
    pub fn maker(&self, value: ValueId) -> Option<&Op> {
        self.frames.iter().rev().flat_map(|frame| &frame.block.ops).find(|op| op.results.contains(&value))
    }

    /// The value of an integer scalar that is a known constant.
    pub fn constant(&self, value: ValueId) -> Option<i64> {
        self.scalars.constant(value)
    }

    /// Type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        self.function.ty(value)
    }

    /// The tile type of a value, if it is a tile.
    pub fn tile_type(&self, value: ValueId) -> Option<&TileType> {
        self.ty(value).as_tile()
    }

    /// The tensor type of a value, if it is a tensor.
    pub fn tensor_type(&self, value: ValueId) -> Option<&TensorType> {
        self.ty(value).as_tensor()
    }

    /// The function so far; blocks that are still open are not in it.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Builds an operation with one result. Pure scalar operations fold, and equal ones are one.
    ///
    /// # Errors
    /// What the operation's type rule says; overflow and division by zero where constants fold.
    pub fn emit(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        request: &Request,
        loc: Loc,
    ) -> Result<ValueId, RuleError> {
        self.apply(kind, operands, attrs, request, loc)?.ok_or(RuleError::NoResult { op: kind })
    }

    /// Builds an operation without a result: `store`, `write`, `scatter_rows`, `assert`.
    pub fn emit_effect(&mut self, kind: OpKind, operands: &[ValueId], attrs: Attrs, loc: Loc) -> Result<(), RuleError> {
        self.apply(kind, operands, attrs, &Request::none(), loc).map(|_| ())
    }

    fn apply(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        request: &Request,
        loc: Loc,
    ) -> Result<Option<ValueId>, RuleError> {
        let with_strides = self.with_strides(kind, operands, request, loc)?;
        let request = with_strides.as_ref().unwrap_or(request);
        let types: Vec<&Type> = operands.iter().map(|v| self.function.ty(*v)).collect();
        let constant = |v: ValueId| self.constant(v);
        let outcome =
            result_type(&Operation { kind, operands, types: &types, attrs: &attrs, request, constant: &constant })?;
        let ty = match outcome {
            Outcome::Nothing => {
                self.push(kind, operands.to_vec(), attrs, Vec::new(), loc);
                return Ok(None);
            }
            Outcome::Exact(Type::Scalar(dtype)) if kind.is_elementwise() || kind.class() == Class::Constant => {
                return self.scalar_op(kind, operands, attrs, dtype, loc).map(Some);
            }
            Outcome::Exact(ty) => ty,
            Outcome::Tile { dtype, dims, valid } => {
                let valid = valid.iter().map(|b| self.bound(b, loc)).collect::<Result<_, _>>()?;
                Type::Tile(TileType { dtype, dims, valid })
            }
        };
        let result = self.define(ty, None, loc, self.depth());
        self.push(kind, operands.to_vec(), attrs, vec![result], loc);
        Ok(Some(result))
    }

    /// Closes the function with the values that it yields.
    ///
    /// # Errors
    /// Where a loop or branch is still open.
    pub fn finish(mut self, yields: Vec<ValueId>) -> Result<Function, RuleError> {
        match self.frames.pop() {
            Some(frame) if self.frames.is_empty() => {
                self.function.body = Block { yields, ..frame.block };
                Ok(self.function)
            }
            _ => Err(RuleError::Nesting { expected: "the end of a loop or branch" }),
        }
    }

    /// A state to return to with [`Builder::rollback`], as long as the blocks that are open now stay open.
    pub fn checkpoint(&self) -> Checkpoint {
        let ops = self.frames.iter().map(|f| f.block.ops.len()).collect();
        Checkpoint { values: self.function.values.len(), ops }
    }

    /// Drops everything built since the checkpoint; values of that time must not be used any more.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        let kept = |v: &ValueId| (v.0 as usize) < checkpoint.values;
        self.frames.truncate(checkpoint.ops.len());
        for (frame, ops) in self.frames.iter_mut().zip(&checkpoint.ops) {
            frame.block.ops.truncate(*ops);
            frame.consed.retain(|_, v| kept(v));
        }
        self.function.values.truncate(checkpoint.values);
        self.depths.truncate(checkpoint.values);
        self.scalars.retain(kept);
    }

    /// Index of the innermost open block.
    fn depth(&self) -> usize {
        self.frames.len() - 1
    }

    fn define(&mut self, ty: Type, name: Option<String>, loc: Loc, depth: usize) -> ValueId {
        self.depths.push(depth);
        self.function.add_value(ty, name, loc)
    }

    fn push(&mut self, kind: OpKind, operands: Vec<ValueId>, attrs: Attrs, results: Vec<ValueId>, loc: Loc) {
        let depth = self.depth();
        self.push_at(depth, Op { kind, operands, attrs, regions: Vec::new(), results, loc });
    }

    fn push_at(&mut self, depth: usize, op: Op) {
        self.frames[depth].block.ops.push(op);
    }
}

impl Frame {
    fn new(construct: Construct) -> Frame {
        Frame { block: Block::default(), construct, consed: HashMap::new() }
    }
}
