//! The intrinsics that make and modify iterators: `tiles`, `grid`, `range`, `parallel`, `pipeline`, `unroll`, `spmd`.

use std::rc::Rc;

use super::coerce::Operand;
use super::value::{Item, Iteration, Span, Value};
use super::{Flow, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{BinaryOp, Expr, ExprKind};
use crate::ir::{DType, Loc, LoopKind, Round, ValueId};
use crate::ops::OpKind;

/// How many loads ahead `pipeline` may start.
const PIPELINE_DEPTH: std::ops::RangeInclusive<i64> = 1..=4;

impl Walker<'_> {
    /// `tiles(extents, tile)`: the places of a tiling, the last ones cut at the extents.
    pub fn tiles(&mut self, extents: &Operand, tile: &Operand, loc: Loc) -> Flow<Value> {
        let (uppers, shape) = (self.offsets(extents), self.known_extents(tile, "a tile extent"));
        let (uppers, mut shape) = (uppers?, shape?);
        if uppers.len() != shape.len() {
            let title = format!("`tiles` gets {} extents and a tile of rank {}", uppers.len(), shape.len());
            return Err(self.error(codes::RANK, loc, title, "ranks differ"));
        }
        for (extent, upper) in shape.iter_mut().zip(&uppers) {
            if *extent > 0 {
                continue;
            }
            // Nothing is iterated over where the extent is 0 as well: `tiles([M, N], [TM, N])` with N = 0.
            if self.builder.constant(*upper) != Some(0) {
                return Err(self.error(
                    codes::PARAMETER_RANGE,
                    tile.loc,
                    "a tile extent must be at least 1, got 0",
                    "",
                ));
            }
            *extent = 1;
        }
        let lower = self.builder.index(0, loc);
        let dims =
            uppers.iter().zip(&shape).map(|(upper, n)| (*upper, self.builder.index(*n, loc))).collect::<Vec<_>>();
        let dims = dims.into_iter().map(|(upper, step)| Span { lower, upper, step }).collect();
        let item = Item::Place { shape, written: tile.loc };
        Ok(Value::Iterator(Rc::new(Iteration { kind: LoopKind::Auto, dims, item, loc })))
    }

    /// `grid(n, m)`: pairs of indices.
    pub fn grid(&mut self, args: &[Operand], exprs: &'static [Expr], loc: Loc) -> Flow<Value> {
        for (operand, expr) in args.iter().zip(exprs) {
            self.check_remainder(expr, operand)?;
        }
        let uppers: Vec<Flow<ValueId>> = args.iter().map(|a| self.index_of(a)).collect();
        let uppers: Vec<ValueId> = uppers.into_iter().collect::<Flow<_>>()?;
        let (lower, step) = (self.builder.index(0, loc), self.builder.index(1, loc));
        let dims = uppers.into_iter().map(|upper| Span { lower, upper, step }).collect();
        Ok(Value::Iterator(Rc::new(Iteration { kind: LoopKind::Auto, dims, item: Item::Indices, loc })))
    }

    /// A number of tiles written as a quotient must not drop a remainder.
    pub fn check_remainder(&mut self, expr: &'static Expr, operand: &Operand) -> Flow<()> {
        let ExprKind::Binary(BinaryOp::Div, total, part) = &expr.kind else { return Ok(()) };
        let (ExprKind::Local(total_name), ExprKind::Local(_) | ExprKind::Int(..) | ExprKind::Constant { .. }) =
            (&total.kind, &part.kind)
        else {
            return Ok(());
        };
        let (n, d) = (self.operand(total)?, self.operand(part)?);
        let (n, d) = (self.index_of(&n)?, self.index_of(&d)?);
        let (Some(n), Some(d)) = (self.builder.constant(n), self.builder.constant(d)) else { return Ok(()) };
        if d == 0 || n % d == 0 {
            return Ok(());
        }
        let divisor = match &part.kind {
            ExprKind::Local(name) => (*name).to_owned(),
            _ => d.to_string(),
        };
        let title = format!("`{total_name} / {divisor}` drops a remainder: {n} = {} * {d} + {}", n / d, n % d);
        let label = format!("the last {} would not be visited", n % d);
        let diagnostic = Diagnostic::error(codes::DROPPED_REMAINDER, operand.loc, title, label).help(format!(
            "`tiles([{total_name}, ..], [{divisor}, ..])` ends with a partly valid tile; `ceil_div` rounds up"
        ));
        Err(self.report(diagnostic))
    }

    /// `range(lower, upper, step)`.
    pub fn range_by(&mut self, args: &[Operand; 3], loc: Loc) -> Flow<Value> {
        let dtype = args.iter().find_map(|a| self.dtype_of(&a.value)).unwrap_or(DType::I64);
        let bounds: Vec<Flow<ValueId>> = args.iter().map(|a| self.bound(a, dtype)).collect();
        let bounds: Vec<ValueId> = bounds.into_iter().collect::<Flow<_>>()?;
        self.positive_step(bounds[2], args[2].loc)?;
        let dims = vec![Span { lower: bounds[0], upper: bounds[1], step: bounds[2] }];
        Ok(Value::Iterator(Rc::new(Iteration { kind: LoopKind::Sequential, dims, item: Item::Index { dtype }, loc })))
    }

    /// A bound of a range as an index value.
    pub fn bound(&mut self, operand: &Operand, dtype: DType) -> Flow<ValueId> {
        let value = self.scalar_of(operand, Some(dtype))?;
        if dtype == DType::I64 {
            return Ok(value);
        }
        let cast = self.builder.cast(value, DType::I64, Round::None, operand.loc);
        self.check(cast, &Site::new("as", operand.loc))
    }

    fn positive_step(&mut self, step: ValueId, loc: Loc) -> Flow<()> {
        let zero = self.builder.index(0, loc);
        let positive = self.builder.binary(OpKind::CmpLt, zero, step, loc);
        let positive = self.check(positive, &Site::new("range", loc))?;
        if self.require_showing(positive, "the step of a range must be positive, got {}", &[step], loc)? {
            return Ok(());
        }
        let found = self.builder.fact(step).hi;
        let title = format!("the step of a range must be positive, got {found}");
        Err(self.error(codes::PARAMETER_RANGE, loc, title, ""))
    }

    /// `(a..b).step_by(n)`.
    pub fn step_by(&mut self, iteration: &Iteration, step: &Operand, loc: Loc) -> Flow<Value> {
        let [span] = iteration.dims[..] else {
            return Err(self.unsupported(
                loc,
                "`step_by` on an iterator of several dimensions",
                "use `range` or `tiles`",
            ));
        };
        let value = match self.dtype_of(&step.value) {
            Some(dtype) => self.bound(step, dtype)?,
            None => self.index_of(step)?,
        };
        self.positive_step(value, step.loc)?;
        let product = self.builder.binary(OpKind::Mul, span.step, value, loc);
        let step = self.check(product, &Site::new("step_by", loc))?;
        let dims = vec![Span { step, ..span }];
        Ok(Value::Iterator(Rc::new(Iteration { dims, ..iteration.clone() })))
    }

    /// `(a..b).rev()`: the same indices, the last one first.
    pub fn reversed(&mut self, iteration: &Iteration, loc: Loc) -> Flow<Value> {
        let ([span], Item::Index { dtype }) = (&iteration.dims[..], &iteration.item) else {
            return Err(self.unsupported(loc, "`rev` on an iterator of several dimensions", "use `rev` on a range"));
        };
        if self.builder.constant(span.step) != Some(1) {
            return Err(self.unsupported(loc, "`rev` after `step_by`", "write `(a..b).rev().step_by(n)`"));
        }
        let (site, one) = (Site::new("rev", loc), self.builder.index(1, loc));
        let sum = self.builder.binary(OpKind::Add, span.lower, span.upper, loc);
        let sum = self.check(sum, &site)?;
        let mirror = self.builder.binary(OpKind::Sub, sum, one, loc);
        let item = Item::Falling { dtype: *dtype, sum: self.check(mirror, &site)? };
        Ok(Value::Iterator(Rc::new(Iteration { item, ..iteration.clone() })))
    }

    /// `spmd(n)`: one iteration a core.
    pub fn spmd(&mut self, count: &Operand, expr: &'static Expr, loc: Loc) -> Flow<Value> {
        self.check_remainder(expr, count)?;
        let upper = self.index_of(count)?;
        let (lower, step) = (self.builder.index(0, loc), self.builder.index(1, loc));
        let item = Item::Index { dtype: DType::I64 };
        let dims = vec![Span { lower, upper, step }];
        Ok(Value::Iterator(Rc::new(Iteration { kind: LoopKind::Spmd, dims, item, loc })))
    }

    /// `parallel(iterator)`, `unroll(iterator)`.
    pub fn with_kind(&mut self, iterator: &Operand, kind: LoopKind, loc: Loc) -> Flow<Value> {
        match &iterator.value {
            Value::Iterator(iteration) => {
                Ok(Value::Iterator(Rc::new(Iteration { kind, loc, ..(**iteration).clone() })))
            }
            _ => Err(self.unexpected("an iterator", iterator)),
        }
    }

    /// `pipeline(iterator, depth)`.
    pub fn pipeline(&mut self, iterator: &Operand, depth: &Operand, loc: Loc) -> Flow<Value> {
        let stages = self.constant_of(depth, "the depth of `pipeline`")?;
        if !PIPELINE_DEPTH.contains(&stages) {
            let (least, most) = PIPELINE_DEPTH.into_inner();
            let title = format!("`pipeline` depth must be {least}..={most}, got {stages}");
            return Err(self.error(codes::PARAMETER_RANGE, depth.loc, title, "out of range"));
        }
        self.with_kind(iterator, LoopKind::Pipeline(stages as u32), loc)
    }
}
