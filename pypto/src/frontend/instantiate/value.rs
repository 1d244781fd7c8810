//! What expressions of a kernel evaluate to at specialization.

use std::rc::Rc;

use crate::ir::{DType, Extent, Loc, LoopKind, Round, ValueId};

/// A value of the language. Compound values exist only here: the IR has scalars, tiles, tensors and events.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Unit,
    /// An integer literal without a suffix: takes the type of what it meets.
    Int(i64),
    /// A float literal without a suffix.
    Float(f64),
    Scalar(ValueId),
    Tile(ValueId),
    Tensor(Tensor),
    At(Rc<At>),
    Iterator(Rc<Iteration>),
    Tuple(Rc<[Value]>),
    Array(Rc<[Value]>),
    /// A struct parameter: the names of its fields and their values.
    Struct(Rc<[(&'static str, Value)]>),
    Event(ValueId),
    Round(Round),
    /// An element type: `T::DTYPE`.
    DType(DType),
    /// A variable whose value is wrong; the reason has been reported.
    Poison,
}

/// A tensor with what errors say of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub value: ValueId,
    /// The parameter or variable that it is, or is a part of.
    pub root: &'static str,
}

/// A place in a tensor: offsets, physical extents, and how much of them is wanted.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub offset: Vec<ValueId>,
    pub shape: Vec<Extent>,
    pub valid: Vec<Extent>,
    /// Where the shape was written.
    pub written: Loc,
}

/// What a `for` iterates over, before the loop is built.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub kind: LoopKind,
    /// From the outermost dimension to the innermost.
    pub dims: Vec<Span>,
    pub item: Item,
    pub loc: Loc,
}

/// One dimension of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub lower: ValueId,
    pub upper: ValueId,
    pub step: ValueId,
}

/// What an iteration yields.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// The index of the only dimension, as a scalar of this type.
    Index { dtype: DType },
    /// As `Index`, from the last to the first: each and its mirror have this sum.
    Falling { dtype: DType, sum: ValueId },
    /// A tuple of indices.
    Indices,
    /// An `At` of this shape, which was written there, cut at the upper bounds.
    Place { shape: Vec<i64>, written: Loc },
}

impl Value {
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Unit => "nothing",
            Value::Int(_) | Value::Float(_) | Value::Scalar(_) => "a scalar",
            Value::Tile(_) => "a tile",
            Value::Tensor(_) => "a tensor",
            Value::At(_) => "a place",
            Value::Iterator(_) => "an iterator",
            Value::Tuple(_) => "a tuple",
            Value::Array(_) => "an array",
            Value::Struct(_) => "a struct",
            Value::Event(_) => "a task event",
            Value::Round(_) => "a rounding mode",
            Value::DType(_) => "an element type",
            Value::Poison => "an erroneous value",
        }
    }
}
