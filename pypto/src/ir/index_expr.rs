//! Index arithmetic as data: what the runtime evaluates on the host for given arguments (iterations, scratch sizes,
//! extents of temporaries).

use std::collections::HashMap;
use std::fmt;

use super::dtype::DType;
use super::nodes::{Block, Function, Op, ValueId};
use super::types::{Extent, Type};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// An `i64` expression over the arguments of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum IndexExpr {
    Const(i64),
    /// The argument at that position, as an `i64`.
    Arg(usize),
    Add(Box<IndexExpr>, Box<IndexExpr>),
    Sub(Box<IndexExpr>, Box<IndexExpr>),
    Mul(Box<IndexExpr>, Box<IndexExpr>),
    /// Towards zero; 0 where the divisor is 0.
    Div(Box<IndexExpr>, Box<IndexExpr>),
    /// With the sign of the dividend; 0 where the divisor is 0.
    Rem(Box<IndexExpr>, Box<IndexExpr>),
    Min(Box<IndexExpr>, Box<IndexExpr>),
    Max(Box<IndexExpr>, Box<IndexExpr>),
    /// Rounded up, for operands that are not negative; 0 where the divisor is 0.
    CeilDiv(Box<IndexExpr>, Box<IndexExpr>),
}

impl IndexExpr {
    /// The value for the given arguments; arithmetic wraps. An argument that is not there counts as 0.
    pub fn eval(&self, args: &[i64]) -> i64 {
        use IndexExpr::{Add, Arg, CeilDiv, Const, Div, Max, Min, Mul, Rem, Sub};
        match self {
            Const(n) => *n,
            Arg(i) => args.get(*i).copied().unwrap_or(0),
            Add(a, b) => a.eval(args).wrapping_add(b.eval(args)),
            Sub(a, b) => a.eval(args).wrapping_sub(b.eval(args)),
            Mul(a, b) => a.eval(args).wrapping_mul(b.eval(args)),
            Div(a, b) => divide(a.eval(args), b.eval(args)),
            Rem(a, b) => match b.eval(args) {
                0 => 0,
                by => a.eval(args).wrapping_rem(by),
            },
            Min(a, b) => a.eval(args).min(b.eval(args)),
            Max(a, b) => a.eval(args).max(b.eval(args)),
            CeilDiv(a, b) => {
                let by = b.eval(args);
                divide(a.eval(args).wrapping_add(by.wrapping_sub(1)), by)
            }
        }
    }

    /// The value where no argument is involved.
    pub fn constant(&self) -> Option<i64> {
        match self {
            IndexExpr::Const(n) => Some(*n),
            _ => None,
        }
    }

    /// `a op b`, folded where both are constant or one changes nothing. `None` where `kind` is no index operation.
    pub fn binary(kind: OpKind, a: IndexExpr, b: IndexExpr) -> Option<IndexExpr> {
        let node: fn(Box<IndexExpr>, Box<IndexExpr>) -> IndexExpr = match kind {
            OpKind::Add => IndexExpr::Add,
            OpKind::Sub => IndexExpr::Sub,
            OpKind::Mul => IndexExpr::Mul,
            OpKind::Div => IndexExpr::Div,
            OpKind::Rem => IndexExpr::Rem,
            OpKind::Min => IndexExpr::Min,
            OpKind::Max => IndexExpr::Max,
            _ => return None,
        };
        Some(match (kind, a.constant(), b.constant()) {
            (OpKind::Add | OpKind::Sub, _, Some(0)) | (OpKind::Mul | OpKind::Div, _, Some(1)) => a,
            (OpKind::Add, Some(0), _) | (OpKind::Mul, Some(1), _) => b,
            (_, Some(_), Some(_)) => IndexExpr::Const(node(Box::new(a), Box::new(b)).eval(&[])),
            _ => node(Box::new(a), Box::new(b)),
        })
    }

    /// `a / b` rounded up, folded where both are constant.
    pub fn ceil_div(a: IndexExpr, b: IndexExpr) -> IndexExpr {
        match (a.constant(), b.constant()) {
            (_, Some(1)) => a,
            (Some(_), Some(_)) => IndexExpr::Const(IndexExpr::CeilDiv(Box::new(a), Box::new(b)).eval(&[])),
            _ => IndexExpr::CeilDiv(Box::new(a), Box::new(b)),
        }
    }
}

fn divide(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_div(b) }
}

impl From<i64> for IndexExpr {
    fn from(n: i64) -> IndexExpr {
        IndexExpr::Const(n)
    }
}

impl fmt::Display for IndexExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use IndexExpr::{Add, Arg, CeilDiv, Const, Div, Max, Min, Mul, Rem, Sub};
        match self {
            Const(n) => write!(f, "{n}"),
            Arg(i) => write!(f, "arg{i}"),
            Add(a, b) => write!(f, "({a} + {b})"),
            Sub(a, b) => write!(f, "({a} - {b})"),
            Mul(a, b) => write!(f, "({a} * {b})"),
            Div(a, b) => write!(f, "({a} / {b})"),
            Rem(a, b) => write!(f, "({a} % {b})"),
            Min(a, b) => write!(f, "min({a}, {b})"),
            Max(a, b) => write!(f, "max({a}, {b})"),
            CeilDiv(a, b) => write!(f, "ceil_div({a}, {b})"),
        }
    }
}

/// Where the pure index values of a function come from: parameters, and operations of its top-level block.
pub struct IndexExprs<'a> {
    function: &'a Function,
    params: HashMap<ValueId, usize>,
    definitions: HashMap<ValueId, &'a Op>,
}

impl<'a> IndexExprs<'a> {
    /// Reads the definitions of `function`, also those inside regions.
    pub fn new(function: &'a Function) -> IndexExprs<'a> {
        let params = function.params.iter().enumerate().map(|(i, p)| (p.value, i)).collect();
        let mut exprs = IndexExprs { function, params, definitions: HashMap::new() };
        exprs.collect(&function.body);
        exprs
    }

    fn collect(&mut self, block: &'a Block) {
        for op in &block.ops {
            if let [result] = op.results[..] {
                self.definitions.insert(result, op);
            }
            op.regions.iter().for_each(|region| self.collect(region));
        }
    }

    /// The value as an expression over parameters; `None` where it depends on memory, on a loop, or is no integer
    /// arithmetic.
    pub fn of(&self, value: ValueId) -> Option<IndexExpr> {
        if !self.function.ty(value).dtype().is_some_and(DType::is_integer) {
            return None;
        }
        if let Some(position) = self.params.get(&value) {
            return Some(IndexExpr::Arg(*position));
        }
        let op = self.definitions.get(&value)?;
        match (op.kind, &op.operands[..]) {
            (OpKind::Constant, _) => match Literal::of(&op.attrs)? {
                Literal::Int(n) => Some(IndexExpr::Const(n)),
                _ => None,
            },
            // Widening keeps the value: arguments are passed as `i64` already.
            (OpKind::Cast, [x]) if op.attrs.dtype() == Some(DType::I64) => self.of(*x),
            // Narrower arithmetic wraps elsewhere.
            (kind, [a, b]) if *self.function.ty(value) == Type::INDEX => {
                IndexExpr::binary(kind, self.of(*a)?, self.of(*b)?)
            }
            _ => None,
        }
    }

    /// An extent as an expression.
    pub fn extent(&self, extent: Extent) -> Option<IndexExpr> {
        match extent {
            Extent::Const(n) => Some(IndexExpr::Const(n)),
            Extent::Value(v) => self.of(v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Direction, FileId, FunctionKind, Loc, ParamRole};
    use super::*;

    #[test]
    fn evaluates_what_the_builder_made() {
        let loc = Loc::new(FileId::intern("test.rs"), 1, 1, 1, 2);
        let mut b = Builder::new("f", FunctionKind::InCore, loc);
        let m = b.param("M", Type::INDEX, Direction::In, ParamRole::Scalar, loc);
        let tile = b.index(64, loc);
        let tiles = b.ceil_div(m, tile, loc).unwrap();
        let function = b.finish(vec![tiles]).unwrap();
        let expr = IndexExprs::new(&function).of(tiles).unwrap();
        assert_eq!(expr.to_string(), "((arg0 + 63) / 64)");
        assert_eq!((expr.eval(&[128]), expr.eval(&[129]), expr.eval(&[0])), (2, 3, 0));
    }

    #[test]
    fn division_by_zero_evaluates_to_zero() {
        let by_arg = IndexExpr::ceil_div(IndexExpr::Const(7), IndexExpr::Arg(0));
        assert_eq!(by_arg.eval(&[0]), 0);
    }
}
