//! Arithmetic on numbers.

use super::entry::scalar_ty;
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Ty, Value};
use crate::ir::{Attr, AttrKey, DType, Op, Round};
use crate::ops::{Class, OpKind};

impl Lowering<'_> {
    pub(super) fn constant_op(&mut self, op: &Op) -> Outcome<()> {
        let dtype = op.attrs.dtype().unwrap_or(DType::I64);
        let value = match op.attrs.get(AttrKey::Value) {
            Some(Attr::Int(n)) if dtype.is_float() => self.float(*n as f64, dtype),
            Some(Attr::Int(n)) => self.int(*n, scalar_ty(dtype)),
            Some(Attr::Float(x)) => self.number(*x, dtype),
            Some(Attr::Bool(b)) => self.int(i64::from(*b), Ty::Scalar(DType::Bool)),
            _ => return Err(self.internal("a constant has no value")),
        };
        self.bind(op.result(), Held::Scalar(value));
        Ok(())
    }

    pub(super) fn scalar_op(&mut self, op: &Op) -> Outcome<()> {
        let operands = op.operands.iter().map(|v| self.scalar(*v)).collect::<Outcome<Vec<Value>>>()?;
        let dtype = self.source.ty(op.operands[op.operands.len() - 1]).dtype().unwrap_or(DType::I64);
        let value = match op.kind.class() {
            Class::Cast if op.kind == OpKind::Bitcast => return Err(self.refuse(op, "on numbers")),
            Class::Cast => self.scalar_cast(op, operands[0], dtype)?,
            Class::Select => self.arith("select", &operands),
            Class::Compare => self.scalar_compare(op, &operands, dtype),
            Class::Unary => self.scalar_unary(op, operands[0], dtype)?,
            _ => self.scalar_binary(op, &operands, dtype)?,
        };
        self.bind(op.result(), Held::Scalar(value));
        Ok(())
    }

    fn scalar_binary(&mut self, op: &Op, operands: &[Value], dtype: DType) -> Outcome<Value> {
        let float = dtype.is_float();
        if matches!(dtype, DType::F16 | DType::BF16) {
            // The contract rounds each operation from f32.
            let wide = Ty::Scalar(DType::F32);
            let a = self.arith_to("extf", None, &[operands[0]], wide.clone());
            let b = self.arith_to("extf", None, &[operands[1]], wide);
            let result = self.scalar_binary(op, &[a, b], DType::F32)?;
            return Ok(self.arith_to("truncf", None, &[result], Ty::Scalar(dtype)));
        }
        let unsigned = dtype.is_unsigned_integer();
        let name = match (op.kind, float) {
            (OpKind::Add, true) => "addf",
            (OpKind::Sub, true) => "subf",
            (OpKind::Mul, true) => "mulf",
            (OpKind::Div, true) => "divf",
            (OpKind::Rem, true) => "remf",
            (OpKind::Max, true) => "maximumf",
            (OpKind::Min, true) => "minimumf",
            (OpKind::Add, false) => "addi",
            (OpKind::Sub, false) => "subi",
            (OpKind::Mul, false) => "muli",
            (OpKind::Div, false) if !unsigned => "divsi",
            (OpKind::Rem, false) if !unsigned => "remsi",
            (OpKind::Max, false) => {
                if unsigned {
                    "maxui"
                } else {
                    "maxsi"
                }
            }
            (OpKind::Min, false) => {
                if unsigned {
                    "minui"
                } else {
                    "minsi"
                }
            }
            (OpKind::And, false) => "andi",
            (OpKind::Or, false) => "ori",
            (OpKind::Xor, false) => "xori",
            (OpKind::Shl | OpKind::Shr, false) => {
                // Amounts count modulo the bits of the type.
                let most = self.int(8 * dtype.size() as i64 - 1, scalar_ty(dtype));
                let amount = self.arith("andi", &[operands[1], most]);
                let name = match op.kind {
                    OpKind::Shl => "shli",
                    _ if unsigned => "shrui",
                    _ => "shrsi",
                };
                return Ok(self.arith(name, &[operands[0], amount]));
            }
            _ => return Err(self.refuse(op, &format!("on numbers of `{dtype}`"))),
        };
        Ok(if dtype == DType::I64 { self.index_op(name, operands[0], operands[1]) } else { self.arith(name, operands) })
    }

    fn scalar_unary(&mut self, op: &Op, x: Value, dtype: DType) -> Outcome<Value> {
        match op.kind {
            OpKind::Neg if dtype.is_float() => Ok(self.arith("negf", &[x])),
            OpKind::Neg => {
                let zero = self.int(0, scalar_ty(dtype));
                Ok(self.arith("subi", &[zero, x]))
            }
            OpKind::Not if dtype == DType::Bool => {
                let one = self.int(1, Ty::Scalar(DType::Bool));
                Ok(self.arith("xori", &[x, one]))
            }
            _ => Err(self.refuse(op, "on numbers")),
        }
    }

    fn scalar_compare(&mut self, op: &Op, operands: &[Value], dtype: DType) -> Value {
        let float = dtype.is_float();
        let predicate = match (op.kind, float) {
            (OpKind::CmpEq, true) => "oeq",
            (OpKind::CmpNe, true) => "une",
            (OpKind::CmpLt, true) => "olt",
            (OpKind::CmpLe, true) => "ole",
            (OpKind::CmpGt, true) => "ogt",
            (_, true) => "oge",
            (OpKind::CmpEq, false) => "eq",
            (OpKind::CmpNe, false) => "ne",
            (OpKind::CmpLt, false) => "slt",
            (OpKind::CmpLe, false) => "sle",
            (OpKind::CmpGt, false) => "sgt",
            (_, false) => "sge",
        };
        let name = if float { "cmpf" } else { "cmpi" };
        self.arith_to(name, Some(predicate), operands, Ty::Scalar(DType::Bool))
    }

    fn scalar_cast(&mut self, op: &Op, x: Value, from: DType) -> Outcome<Value> {
        let to = op.attrs.dtype().unwrap_or(from);
        if from == to {
            return Ok(x);
        }
        if let (Some(n), true) = (self.known(x), from.is_signed_integer() && to.is_float()) {
            return Ok(self.float(n as f64, to));
        }
        let name = match (from, to) {
            (DType::I64, to) if to.is_signed_integer() => "index_cast",
            (from, DType::I64) if from.is_signed_integer() => "index_cast",
            (DType::I64, to) if to.is_float() => {
                let wide = self.arith_to("index_cast", None, &[x], Ty::Scalar(DType::I64));
                return Ok(self.arith_to("sitofp", None, &[wide], Ty::Scalar(to)));
            }
            (from, to) if from.is_signed_integer() && to.is_float() => "sitofp",
            (DType::F16 | DType::BF16, DType::F32) => "extf",
            (DType::F32, DType::F16 | DType::BF16) if matches!(op.attrs.round(), Round::None | Round::Rint) => "truncf",
            (from, to) if from.is_signed_integer() && to.is_signed_integer() => {
                if from.size() < to.size() {
                    "extsi"
                } else {
                    "trunci"
                }
            }
            _ => return Err(self.refuse(op, &format!("of a number from `{from}` to `{to}`"))),
        };
        Ok(self.arith_to(name, None, &[x], scalar_ty(to)))
    }
}
