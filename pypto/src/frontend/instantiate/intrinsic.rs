//! The free functions of the language, by name.

use super::coerce::Operand;
use super::operator::bare_literal;
use super::value::Value;
use super::{Flow, Walker};
use crate::diagnostics::codes;
use crate::frontend::generic::Expr;
use crate::ir::{DType, Loc, LoopKind};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

impl Walker<'_> {
    /// A call of a function of the language.
    pub fn intrinsic(&mut self, name: &str, exprs: &'static [Expr], loc: Loc) -> Flow<Value> {
        let args = self.operands(exprs)?;
        match name {
            "grid" => self.grid(&args, exprs, loc),
            "spmd" => {
                let [count] = self.exactly(name, args, loc)?;
                self.spmd(&count, &exprs[0], loc)
            }
            "tiles" => {
                let [extents, tile] = self.exactly(name, args, loc)?;
                self.tiles(&extents, &tile, loc)
            }
            "range" => {
                let args: [Operand; 3] = self.exactly(name, args, loc)?;
                self.range_by(&args, loc)
            }
            "parallel" | "unroll" => {
                let [iterator] = self.exactly(name, args, loc)?;
                let kind = if name == "parallel" { LoopKind::Parallel } else { LoopKind::Unroll };
                self.with_kind(&iterator, kind, loc)
            }
            "pipeline" => {
                let [iterator, depth] = self.exactly(name, args, loc)?;
                self.pipeline(&iterator, &depth, loc)
            }
            "matmul" => {
                let [a, b] = self.exactly(name, args, loc)?;
                self.matmul(&a, &b, loc)
            }
            "matmul_bias" => {
                let [a, b, bias] = self.exactly(name, args, loc)?;
                self.matmul_bias(&a, &b, &bias, loc)
            }
            "select" => {
                let [mask, a, b] = self.exactly(name, args, loc)?;
                self.select(&mask, &a, &b, loc)
            }
            "ceil_div" => {
                let [a, b] = self.exactly(name, args, loc)?;
                self.ceil_div(&a, &b, loc)
            }
            "max" | "min" => {
                let [a, b] = self.exactly(name, args, loc)?;
                let kind = if name == "max" { OpKind::Max } else { OpKind::Min };
                self.binary(kind, name, &a, &b, loc)
            }
            _ => Err(self.error(codes::UNKNOWN_NAME, loc, format!("`{name}` is not a function of kernels"), "")),
        }
    }

    /// The arguments, if there are as many as the function takes.
    pub fn exactly<const N: usize>(&mut self, name: &str, args: Vec<Operand>, loc: Loc) -> Flow<[Operand; N]> {
        let found = args.len();
        args.try_into().map_err(|_| {
            let title = format!("`{name}` takes {N} arguments, got {found}");
            self.error(codes::OPERAND, loc, title, "")
        })
    }

    /// `select(mask, a, b)` and `mask.select(a, b)`.
    pub fn select(&mut self, mask: &Operand, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        let condition = match &mask.value {
            Value::Scalar(value) => *value,
            _ => self.tile_of(mask)?,
        };
        let open = bare_literal(&a.value).zip(bare_literal(&b.value));
        let (x, y) = match open {
            // Two literals take their type from the use of the result.
            Some(literals) => {
                let guess = if let (Literal::Int(_), Literal::Int(_)) = literals { DType::I64 } else { DType::F32 };
                let dtype = Some(self.unit.inference.dtype(loc, guess));
                (self.scalar_of(a, dtype)?, self.scalar_of(b, dtype)?)
            }
            None => self.unified(OpKind::Select, a, b)?,
        };
        let site = self.site("select", loc, &[(mask, condition), (a, x), (b, y)]);
        let result = self.builder.select(condition, x, y, loc);
        let result = self.check(result, &site)?;
        match open {
            Some(_) => self.guessed(result, loc),
            None => self.propagate(result, &[x, y]),
        }
        Ok(self.scalar_or_tile(result))
    }

    /// `ceil_div(a, b)` on integers that are not negative.
    fn ceil_div(&mut self, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        let (x, y) = (self.scalar_of(a, Some(DType::I64))?, self.scalar_of(b, Some(DType::I64))?);
        let site = self.site("ceil_div", loc, &[(a, x), (b, y)]);
        let result = self.builder.ceil_div(x, y, loc);
        self.check(result, &site).map(Value::Scalar)
    }
}
