//! Operations without effects: what they give for the values of their operands.

use std::rc::Rc;

use super::error::{Outcome, malformed};
use super::machine::Frame;
use super::value::Value;
use crate::ir::{Attr, AttrKey, DType, Op, TileType, ValueId};
use crate::ops::reference::matmul::{Initial, Transposed, matmul};
use crate::ops::reference::{Array, Scalar, bitcast, cast, create, elementwise, layout, permute, reduce, scalar};
use crate::ops::{Class, OpKind};

impl Frame<'_> {
    /// The result of a pure operation.
    pub(super) fn compute(&mut self, op: &Op, dying: &[ValueId]) -> Outcome<Value> {
        match op.kind.class() {
            Class::Constant => constant(op).map(Value::Scalar),
            Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => {
                tile(reduce::reduce(op.kind, self.tile(op, 0)?)?)
            }
            Class::Create => self.create(op),
            Class::Layout => self.layout(op, dying),
            Class::Permute => self.permute(op, dying),
            Class::Matmul => self.matmul(op),
            Class::Element => Ok(Value::Scalar(self.tile(op, 0)?.get(&self.indices(op, 1)?)?)),
            _ => self.elementwise(op),
        }
    }

    fn elementwise(&self, op: &Op) -> Outcome<Value> {
        let scalars = (0..op.operands.len()).all(|n| matches!(self.operand(op, n), Ok(Value::Scalar(_))));
        match (op.kind.class(), scalars) {
            (Class::Cast, false) if op.kind == OpKind::Bitcast => {
                tile(bitcast::bitcast(self.tile(op, 0)?, dtype(op)?)?)
            }
            (Class::Cast, true) => Ok(Value::Scalar(scalar::cast(self.scalar(op, 0)?, dtype(op)?, op.attrs.round())?)),
            (Class::Cast, false) => tile(cast::cast(self.tile(op, 0)?, dtype(op)?, op.attrs.round())?),
            (Class::Unary, true) => Ok(Value::Scalar(scalar::unary(op.kind, self.scalar(op, 0)?)?)),
            (Class::Unary, false) => tile(elementwise::unary(op.kind, self.tile(op, 0)?)?),
            (Class::Binary | Class::Compare, true) => {
                Ok(Value::Scalar(scalar::binary(op.kind, self.scalar(op, 0)?, self.scalar(op, 1)?)?))
            }
            (class @ (Class::Binary | Class::Compare), false) => {
                let (a, b) = (self.array(op, 0)?, self.array(op, 1)?);
                let compares = class == Class::Compare;
                let function = if compares { elementwise::compare } else { elementwise::binary };
                tile(function(op.kind, &a, &b)?)
            }
            (Class::Select, true) => {
                let mask = self.scalar(op, 0)?.index() == Some(1);
                self.operand(op, if mask { 1 } else { 2 }).cloned()
            }
            (Class::Select, false) => {
                let (mask, a, b) = (self.array(op, 0)?, self.array(op, 1)?, self.array(op, 2)?);
                tile(elementwise::select(&mask, &a, &b)?)
            }
            _ => Err(malformed(format!("`{}` computes nothing", op.kind.name()))),
        }
    }

    /// A tile operand, or a scalar one as an array without dimensions.
    fn array(&self, op: &Op, n: usize) -> Outcome<Rc<Array>> {
        match self.operand(op, n)? {
            Value::Tile(array) => Ok(Rc::clone(array)),
            Value::Scalar(scalar) => Ok(Rc::new(Array::scalar(*scalar))),
            _ => Err(malformed(format!("operand {n} of `{}` is neither tile nor scalar", op.kind.name()))),
        }
    }

    fn result_tile(&self, op: &Op) -> Outcome<&TileType> {
        self.result_type(op)?.as_tile().ok_or_else(|| malformed(format!("`{}` does not give a tile", op.kind.name())))
    }

    fn create(&self, op: &Op) -> Outcome<Value> {
        let ty = self.result_tile(op)?;
        let (dims, valid) = (self.shape(&ty.dims)?, self.shape(&ty.valid)?);
        let value = self.scalar(op, 0)?;
        let array = match op.kind {
            OpKind::Full => create::full(value, dims)?,
            _ => create::iota(value, dims, axis(op)?)?,
        };
        tile(if valid == dims { array } else { layout::set_valid(array, valid)? })
    }

    fn layout(&mut self, op: &Op, dying: &[ValueId]) -> Outcome<Value> {
        let dims = |frame: &Self| frame.result_tile(op).and_then(|ty| frame.shape(&ty.dims));
        tile(match op.kind {
            OpKind::Slice => layout::slice(self.tile(op, 0)?, self.indices(op, 1)?, dims(self)?)?,
            OpKind::Assemble => {
                let (source, offset) = (Rc::clone(self.tile(op, 1)?), self.indices(op, 2)?);
                layout::assemble(self.take_tile(op, 0, dying)?, &source, offset)?
            }
            OpKind::Reshape => {
                let dims = dims(self)?;
                layout::reshape(self.take_tile(op, 0, dying)?, dims)?
            }
            OpKind::Transpose => layout::transpose(self.tile(op, 0)?)?,
            OpKind::Concat => layout::concat(self.tile(op, 0)?, self.tile(op, 1)?, axis(op)?)?,
            OpKind::Broadcast => layout::broadcast_to(self.tile(op, 0)?, dims(self)?)?,
            OpKind::Fillpad => layout::fillpad(self.tile(op, 0)?, self.scalar(op, 1)?)?,
            _ => {
                let valid = self.shape(&self.result_tile(op)?.valid)?;
                layout::set_valid(self.take_tile(op, 0, dying)?, valid)?
            }
        })
    }

    fn permute(&mut self, op: &Op, dying: &[ValueId]) -> Outcome<Value> {
        tile(match op.kind {
            OpKind::Gather => permute::gather(self.tile(op, 0)?, self.tile(op, 1)?)?,
            OpKind::Scatter => {
                let (index, source) = (Rc::clone(self.tile(op, 1)?), Rc::clone(self.tile(op, 2)?));
                permute::scatter(self.take_tile(op, 0, dying)?, &index, &source)?
            }
            _ => permute::row_argsort(self.tile(op, 0)?)?,
        })
    }

    fn matmul(&self, op: &Op) -> Outcome<Value> {
        let transposed = Transposed { a: op.attrs.flag(AttrKey::TransposeA), b: op.attrs.flag(AttrKey::TransposeB) };
        tile(match op.kind {
            OpKind::MatmulAcc => {
                let initial = Initial::Accumulator(self.tile(op, 0)?);
                matmul(self.tile(op, 1)?, self.tile(op, 2)?, transposed, initial)?
            }
            OpKind::MatmulBias => {
                matmul(self.tile(op, 0)?, self.tile(op, 1)?, transposed, Initial::Bias(self.tile(op, 2)?))?
            }
            _ => matmul(self.tile(op, 0)?, self.tile(op, 1)?, transposed, Initial::Nothing)?,
        })
    }
}

fn tile(array: Array) -> Outcome<Value> {
    Ok(Value::Tile(Rc::new(array)))
}

fn dtype(op: &Op) -> Outcome<DType> {
    op.attrs.dtype().ok_or_else(|| malformed(format!("`{}` without a dtype", op.kind.name())))
}

fn axis(op: &Op) -> Outcome<usize> {
    let axis = op.attrs.int(AttrKey::Axis).and_then(|axis| usize::try_from(axis).ok());
    axis.ok_or_else(|| malformed(format!("`{}` without an axis", op.kind.name())))
}

fn constant(op: &Op) -> Outcome<Scalar> {
    let dtype = dtype(op)?;
    match op.attrs.get(AttrKey::Value) {
        Some(Attr::Int(n)) => Ok(Scalar::from_int(*n, dtype)),
        Some(Attr::Float(x)) => Ok(Scalar::from_float(*x, dtype)),
        Some(Attr::Bool(b)) if dtype == DType::Bool => Ok(Scalar::new(*b)),
        _ => Err(malformed("a constant without a value of its type")),
    }
}

/// Whether an operation's results follow from its operands alone.
pub(super) fn is_pure(op: &Op) -> bool {
    match op.kind.class() {
        Class::Transfer | Class::Tensor | Class::Call | Class::Control | Class::Check | Class::Report => false,
        Class::Element => op.kind == OpKind::Extract,
        _ => true,
    }
}
