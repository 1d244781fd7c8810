//! Parameters, and the parallel loops at the top of a kernel, whose iterations are dealt out to blocks.

use std::collections::HashMap;

use super::{Held, Lowered, Lowering, Outcome, Tensor};
use crate::codegen::ascend::dialect::{Inst, Kind, Ty, Value};
use crate::ir::{Block, DType, IndexExpr, Type};
use crate::passes::flat_loops::{Level, flattened, iterations};

/// The type of an IR scalar: index arithmetic is `index`.
pub(super) fn scalar_ty(dtype: DType) -> Ty {
    if dtype == DType::I64 { Ty::Index } else { Ty::Scalar(dtype) }
}

impl Lowering<'_> {
    pub(super) fn kernel(&mut self) -> Outcome<Lowered> {
        let arguments = self.parameters()?;
        let source = self.source;
        let levels = flattened(source);
        let iterations = iterations(&levels);
        let is_spmd = !levels.is_empty();
        if is_spmd {
            let [block, blocks] = ["__pypto_spmd_block_idx", "__pypto_spmd_block_num"].map(|name| {
                let param = self.fresh(name, Ty::Scalar(DType::I32));
                self.function.params.push(param);
                param
            });
            self.spmd(&levels, &iterations, [block, blocks])?;
        } else {
            self.block(&source.body)?;
        }
        let body = self.bodies.pop().unwrap_or_default();
        let (mut top, views): (Vec<Inst>, Vec<Inst>) =
            std::mem::take(&mut self.prologue).into_iter().partition(|i| matches!(i.kind, Kind::Constant { .. }));
        top.extend(views);
        top.extend(body);
        self.function.body = top;
        Ok(Lowered { function: self.function.clone(), arguments, is_spmd, iterations })
    }

    /// Tensors first, then numbers.
    fn parameters(&mut self) -> Outcome<Vec<usize>> {
        let source = self.source;
        let is_tensor = |i: &usize| matches!(source.ty(source.params[*i].value), Type::Tensor(_));
        let (tensors, numbers): (Vec<usize>, Vec<usize>) = (0..source.params.len()).partition(is_tensor);
        let order: Vec<usize> = tensors.iter().chain(&numbers).copied().collect();
        let mut values = HashMap::new();
        for (position, number) in order.iter().enumerate() {
            let param = &source.params[*number];
            self.at(param.loc);
            let ty = match source.ty(param.value) {
                Type::Tensor(t) => Ty::Pointer(if t.dtype == DType::Bool { DType::U8 } else { t.dtype }),
                Type::Scalar(dtype) => scalar_ty(*dtype),
                _ => return Err(self.refusal(param.loc, &param.name, "as a parameter")),
            };
            let value = self.fresh(&format!("arg{position}"), ty);
            self.function.params.push(value);
            values.insert(*number, value);
        }
        for number in numbers {
            self.bind(source.params[number].value, Held::Scalar(values[&number]));
        }
        for number in tensors {
            let param = &source.params[number];
            let Type::Tensor(ty) = source.ty(param.value) else { continue };
            let mut dims = Vec::new();
            let mut strides = Vec::new();
            for axis in 0..ty.rank() {
                dims.push(self.extent(ty.dims[axis])?);
                strides.push(self.extent(ty.strides[axis])?);
            }
            let origin = vec![self.index(0); ty.rank()];
            let tensor = Tensor { pointer: values[&number], dims, strides, origin, dropped: 0, dtype: ty.dtype };
            self.bind(param.value, Held::Tensor(tensor));
        }
        Ok(order)
    }

    fn spmd(&mut self, levels: &[Level<'_>], iterations: &IndexExpr, [block, blocks]: [Value; 2]) -> Outcome<()> {
        self.at(levels[0].op.loc);
        let first = self.arith_to("index_cast", None, &[block], Ty::Index);
        let step = self.arith_to("index_cast", None, &[blocks], Ty::Index);
        let total = self.expression(iterations)?;
        let index = self.fresh("iteration", Ty::Index);
        self.bodies.push(Vec::new());
        let mut rest = index;
        let mut indices = Vec::new();
        for (depth, level) in levels.iter().enumerate().rev() {
            let mut number = rest;
            if depth > 0 {
                let count = self.expression(&level.count)?;
                number = self.index_op("remsi", rest, count);
                rest = self.index_op("divsi", rest, count);
            }
            let (lower, step) = (self.expression(&level.lower)?, self.expression(&level.step)?);
            let distance = self.index_op("muli", number, step);
            indices.push(self.index_op("addi", lower, distance));
        }
        indices.reverse();
        let source = self.source;
        self.levels(&source.body, levels, &indices)?;
        let body = self.bodies.pop().unwrap_or_default();
        self.at(levels[0].op.loc);
        let carried = Vec::new();
        self.push(Kind::For { index, lower: first, upper: total, step, carried, body, yields: Vec::new() });
        Ok(())
    }

    /// The operations around the loops, and the body of the innermost.
    fn levels(&mut self, block: &Block, levels: &[Level<'_>], indices: &[Value]) -> Outcome<()> {
        let [level, inner @ ..] = levels else { return self.block(block) };
        for op in &block.ops {
            if std::ptr::eq(op, level.op) {
                let region = &op.regions[0];
                self.bind(region.args[0], Held::Scalar(indices[0]));
                self.levels(region, inner, &indices[1..])?;
            } else {
                self.op(op)?;
            }
        }
        Ok(())
    }

    /// The arithmetic of an index expression.
    fn expression(&mut self, expr: &IndexExpr) -> Outcome<Value> {
        use IndexExpr::{Add, Arg, CeilDiv, Const, Div, Max, Min, Mul, Rem, Sub};
        let (op, a, b) = match expr {
            Const(n) => return Ok(self.index(*n)),
            Arg(i) => {
                let value = self.scalar(self.source.params[*i].value)?;
                return Ok(match self.ty(value) {
                    Ty::Index => value,
                    _ => self.arith_to("index_cast", None, &[value], Ty::Index),
                });
            }
            CeilDiv(a, b) => {
                let (a, b) = (self.expression(a)?, self.expression(b)?);
                let one = self.index(1);
                let less = self.index_op("subi", b, one);
                let sum = self.index_op("addi", a, less);
                return Ok(self.index_op("divsi", sum, b));
            }
            Add(a, b) => ("addi", a, b),
            Sub(a, b) => ("subi", a, b),
            Mul(a, b) => ("muli", a, b),
            Div(a, b) => ("divsi", a, b),
            Rem(a, b) => ("remsi", a, b),
            Min(a, b) => ("minsi", a, b),
            Max(a, b) => ("maxsi", a, b),
        };
        let (a, b) = (self.expression(a)?, self.expression(b)?);
        Ok(self.index_op(op, a, b))
    }
}
