//! Type rules: from operand types, attributes and requested extents to the type of the result, one rule a class.
//!
//! The rules are the only place that knows them: the builder applies them to make types, the verifier to check types.
//! A rule that needs index arithmetic for a valid extent returns it as a [`Bound`], which the builder turns into
//! operations and the verifier compares where all is constant.

mod elementwise;
pub mod error;
mod layout;
mod matmul;
mod memory;
mod permute;

pub use error::RuleError;

use crate::ir::report::MAX_SHOWN;
use crate::ir::{AttrKey, Attrs, DType, Extent, Type, ValueId};
use crate::ops::{Class, OpKind};

/// What the caller asks of the result where operands and attributes do not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Extents of the result: creation, `slice`, `reshape`, `broadcast`, `load`, `alloc`, `view`.
    pub dims: Option<Vec<Extent>>,
    /// Valid extents: `set_valid`; for `load` and creation a further limit.
    pub valid: Option<Vec<Extent>>,
    /// Strides of a tensor: `alloc`, `view`.
    pub strides: Option<Vec<Extent>>,
}

impl Request {
    /// Asks for nothing.
    pub fn none() -> Request {
        Request::default()
    }

    /// Asks for extents.
    pub fn dims(dims: impl IntoIterator<Item = impl Into<Extent>>) -> Request {
        Request { dims: Some(dims.into_iter().map(Into::into).collect()), ..Request::default() }
    }

    /// Also asks for valid extents.
    pub fn valid(mut self, valid: impl IntoIterator<Item = impl Into<Extent>>) -> Request {
        self.valid = Some(valid.into_iter().map(Into::into).collect());
        self
    }

    /// Also asks for strides.
    pub fn strides(mut self, strides: impl IntoIterator<Item = impl Into<Extent>>) -> Request {
        self.strides = Some(strides.into_iter().map(Into::into).collect());
        self
    }

    /// What an existing type would have to be asked for.
    pub fn of(ty: &Type) -> Request {
        match ty {
            Type::Tile(t) => Request { dims: Some(t.dims.clone()), valid: Some(t.valid.clone()), strides: None },
            Type::Tensor(t) => Request { dims: Some(t.dims.clone()), valid: None, strides: Some(t.strides.clone()) },
            Type::Scalar(_) | Type::Event => Request::default(),
        }
    }
}

/// A valid extent, as an expression over extents.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    Is(Extent),
    /// The smallest of several.
    Min(Vec<Bound>),
    /// Extent `dim` where `valid`, which is 0 or 1, is 1.
    Repeat {
        valid: Extent,
        dim: Extent,
    },
    /// `limit - offset`, not below 0.
    Remaining {
        limit: Extent,
        offset: ValueId,
    },
}

impl Bound {
    /// The minimum of two, with full knowledge of equal ones.
    pub(super) fn min(self, other: Bound) -> Bound {
        if self == other {
            return self;
        }
        match (self, other) {
            (Bound::Is(Extent::Const(a)), Bound::Is(Extent::Const(b))) => Bound::Is(Extent::Const(a.min(b))),
            (Bound::Min(mut list), b) => {
                list.push(b);
                Bound::Min(list)
            }
            (a, b) => Bound::Min(vec![a, b]),
        }
    }

    /// The value where every part is constant; `constant` tells the constants among values.
    pub fn constant(&self, constant: &dyn Fn(ValueId) -> Option<i64>) -> Option<i64> {
        let extent = |e: Extent| match e {
            Extent::Const(n) => Some(n),
            Extent::Value(v) => constant(v),
        };
        match self {
            Bound::Is(e) => extent(*e),
            Bound::Min(list) => {
                list.iter().map(|b| b.constant(constant)).try_fold(i64::MAX, |least, b| Some(least.min(b?)))
            }
            Bound::Repeat { valid, dim } => Some(if extent(*valid)? == 0 { 0 } else { extent(*dim)? }),
            Bound::Remaining { limit, offset } => Some(extent(*limit)?.saturating_sub(constant(*offset)?).max(0)),
        }
    }
}

/// What a rule says of the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The operation has no result.
    Nothing,
    /// A result whose type is settled.
    Exact(Type),
    /// A tile whose valid extents the builder still has to compute.
    Tile { dtype: DType, dims: Vec<Extent>, valid: Vec<Bound> },
}

impl Outcome {
    /// A fully valid tile.
    fn full(dtype: DType, dims: Vec<Extent>) -> Outcome {
        Outcome::Tile { dtype, valid: dims.iter().map(|d| Bound::Is(*d)).collect(), dims }
    }
}

/// An operation before it is built, as the rules see it.
pub struct Operation<'a> {
    pub kind: OpKind,
    pub operands: &'a [ValueId],
    /// Types of the operands.
    pub types: &'a [&'a Type],
    pub attrs: &'a Attrs,
    pub request: &'a Request,
    /// Tells which scalars are known constants, for static bounds.
    pub constant: &'a dyn Fn(ValueId) -> Option<i64>,
}

/// Applies the rule of the operation's class. `Call` and `Control` have their own constructors in the builder.
pub fn result_type(op: &Operation<'_>) -> Result<Outcome, RuleError> {
    op.check_count()?;
    match op.kind.class() {
        Class::Constant => op.constant_type(),
        Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast => elementwise::rule(op),
        Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => layout::reduction(op),
        Class::Create => layout::create(op),
        Class::Layout => layout::rule(op),
        Class::Permute => permute::rule(op),
        Class::Matmul => matmul::rule(op),
        Class::Transfer => memory::transfer(op),
        Class::Element => memory::element(op),
        Class::Tensor => memory::tensor(op),
        Class::Check => match op.types[0] {
            Type::Scalar(DType::Bool) => match op.types.iter().position(|ty| !matches!(ty, Type::Scalar(_))) {
                Some(other) => Err(op.wrong_kind(other, "a scalar")),
                None if op.types.len() > 1 + MAX_SHOWN => {
                    let (expected, found) = (format!("at most {}", 1 + MAX_SHOWN), op.types.len());
                    Err(RuleError::OperandCount { op: op.kind, expected, found })
                }
                None => Ok(Outcome::Nothing),
            },
            _ => Err(op.wrong_kind(0, "a `bool` scalar")),
        },
        Class::Report => match op.types.iter().position(|ty| matches!(ty, Type::Event)) {
            Some(event) => Err(op.wrong_kind(event, "a scalar, a tile or a tensor")),
            None if op.attrs.text(AttrKey::Message).is_none() => {
                Err(RuleError::Attribute { op: op.kind, key: AttrKey::Message })
            }
            None => Ok(Outcome::Nothing),
        },
        Class::Call | Class::Control => Ok(Outcome::Nothing),
    }
}

impl<'a> Operation<'a> {
    fn check_count(&self) -> Result<(), RuleError> {
        let declared = self.kind.info().operands;
        let variadic = declared.last().is_some_and(|name| name.ends_with("..."));
        let least = if variadic { declared.len() - 1 } else { declared.len() };
        if self.operands.len() == least || (variadic && self.operands.len() > least) {
            return Ok(());
        }
        let expected = if variadic { format!("at least {least}") } else { least.to_string() };
        Err(RuleError::OperandCount { op: self.kind, expected, found: self.operands.len() })
    }

    fn constant_type(&self) -> Result<Outcome, RuleError> {
        use crate::ir::Attr;
        let dtype = self.attrs.dtype().ok_or(RuleError::Attribute { op: self.kind, key: AttrKey::DType })?;
        let fits = match self.attrs.get(AttrKey::Value) {
            Some(Attr::Int(_)) => dtype.is_integer(),
            Some(Attr::Float(_)) => dtype.is_float(),
            Some(Attr::Bool(_)) => dtype == DType::Bool,
            _ => false,
        };
        if !fits {
            return Err(RuleError::Attribute { op: self.kind, key: AttrKey::Value });
        }
        Ok(Outcome::Exact(Type::Scalar(dtype)))
    }

    fn wrong_kind(&self, operand: usize, expected: &'static str) -> RuleError {
        RuleError::OperandKind { op: self.kind, operand, expected, found: self.types[operand].clone() }
    }

    fn tile(&self, operand: usize) -> Result<&'a crate::ir::TileType, RuleError> {
        self.types[operand].as_tile().ok_or_else(|| self.wrong_kind(operand, "a tile"))
    }

    fn tensor(&self, operand: usize) -> Result<&'a crate::ir::TensorType, RuleError> {
        self.types[operand].as_tensor().ok_or_else(|| self.wrong_kind(operand, "a tensor"))
    }

    fn scalar(&self, operand: usize) -> Result<DType, RuleError> {
        match self.types[operand] {
            Type::Scalar(d) => Ok(*d),
            _ => Err(self.wrong_kind(operand, "a scalar")),
        }
    }

    /// The element type must be one that the op table lists.
    fn supported(&self, operand: usize, dtype: DType) -> Result<DType, RuleError> {
        let accepted = self.kind.info().dtypes;
        if accepted.contains(dtype) {
            return Ok(dtype);
        }
        Err(RuleError::UnsupportedDType { op: self.kind, operand, dtype, accepted })
    }

    fn same_dtype(&self, left: usize, right: usize) -> Result<(), RuleError> {
        match (self.types[left].dtype(), self.types[right].dtype()) {
            (Some(a), Some(b)) if a != b => {
                Err(RuleError::DTypesDiffer { op: self.kind, left, right, left_dtype: a, right_dtype: b })
            }
            _ => Ok(()),
        }
    }

    /// Operands from `first` on: `count` scalars of the index type.
    fn indices(&self, first: usize, count: usize) -> Result<&'a [ValueId], RuleError> {
        if self.operands.len() != first + count {
            let expected = (first + count).to_string();
            return Err(RuleError::OperandCount { op: self.kind, expected, found: self.operands.len() });
        }
        for operand in first..self.operands.len() {
            if *self.types[operand] != Type::INDEX {
                return Err(self.wrong_kind(operand, "an `i64` scalar"));
            }
        }
        Ok(&self.operands[first..])
    }

    /// The requested extents, checked for rank and sign.
    fn requested(&self, rank: Option<usize>) -> Result<Vec<Extent>, RuleError> {
        let dims = self.request.dims.clone().unwrap_or_default();
        let given = self.request.dims.is_some() && rank.is_none_or(|r| r == dims.len());
        if !given {
            let expected = rank.map_or("its".to_owned(), |r| r.to_string());
            return Err(RuleError::ResultExtents { op: self.kind, expected, found: dims.len() });
        }
        for (axis, dim) in dims.iter().enumerate() {
            if let Some(extent) = dim.constant().filter(|n| *n < 0) {
                return Err(RuleError::NegativeExtent { op: self.kind, axis, extent });
            }
        }
        Ok(dims)
    }

    /// Requested valid extents as bounds, `dims` where none were requested.
    fn requested_valid(&self, dims: &[Extent]) -> Result<Vec<Bound>, RuleError> {
        let Some(valid) = &self.request.valid else {
            return Ok(dims.iter().map(|d| Bound::Is(*d)).collect());
        };
        if valid.len() != dims.len() {
            let expected = dims.len().to_string();
            return Err(RuleError::ResultExtents { op: self.kind, expected, found: valid.len() });
        }
        for (axis, (v, d)) in valid.iter().zip(dims).enumerate() {
            if let (Extent::Const(valid), Extent::Const(dim)) = (*v, *d)
                && !(0..=dim).contains(&valid)
            {
                return Err(RuleError::ValidExceeds { op: self.kind, axis, valid, dim });
            }
        }
        Ok(valid.iter().map(|v| Bound::Is(*v)).collect())
    }

    /// `offset .. offset + size` within `extent`, where all are known; a known negative offset is always wrong.
    fn in_bounds(&self, operand: usize, axis: usize, at: ValueId, size: Extent, dim: Extent) -> Result<(), RuleError> {
        let Some(offset) = (self.constant)(at) else { return Ok(()) };
        let (size, extent) = (size.constant(), dim.constant());
        let outside = match (size, extent) {
            (Some(size), Some(extent)) => offset.checked_add(size).is_none_or(|end| end > extent),
            (None, Some(extent)) => offset > extent,
            _ => false,
        };
        if offset < 0 || outside {
            let (size, extent) = (size.unwrap_or(0), extent.unwrap_or(i64::MAX));
            return Err(RuleError::OutOfBounds { op: self.kind, operand, axis, offset, size, extent });
        }
        Ok(())
    }
}
