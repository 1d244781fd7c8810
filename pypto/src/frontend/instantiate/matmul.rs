//! Products of matrices. An operand that is a transposed tile is read transposed instead of being rearranged.

use super::coerce::Operand;
use super::value::Value;
use super::{Flow, Walker};
use crate::ir::{DType, Loc, ValueId};
use crate::ops::OpKind;

impl Walker<'_> {
    /// `matmul(a, b)`.
    pub fn matmul(&mut self, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        let (x, y) = self.factors(a, b)?;
        self.product(OpKind::Matmul, "matmul", &[(a, x), (b, y)], loc)
    }

    /// `acc.mma(a, b)`.
    pub fn mma(&mut self, acc: &Operand, a: &Operand, b: &Operand, loc: Loc) -> Flow<Value> {
        let (x, y) = self.factors(a, b)?;
        let sum = self.tile_typed(acc, self.accumulator(x))?;
        self.product(OpKind::MatmulAcc, "mma", &[(acc, sum), (a, x), (b, y)], loc)
    }

    /// `matmul_bias(a, b, bias)`.
    pub fn matmul_bias(&mut self, a: &Operand, b: &Operand, bias: &Operand, loc: Loc) -> Flow<Value> {
        let (x, y) = self.factors(a, b)?;
        let offset = self.tile_typed(bias, self.accumulator(x))?;
        self.product(OpKind::MatmulBias, "matmul_bias", &[(a, x), (b, y), (bias, offset)], loc)
    }

    fn factors(&mut self, a: &Operand, b: &Operand) -> Flow<(ValueId, ValueId)> {
        let (x, y) = (self.tile_of(a), self.tile_of(b));
        let (mut x, mut y) = (x?, y?);
        if let (Some(p), Some(q)) = (self.builder.ty(x).dtype(), self.builder.ty(y).dtype())
            && p != q
        {
            if let Some(other) = self.infer(y, p) {
                y = other;
            } else if let Some(other) = self.infer(x, q) {
                x = other;
            }
        }
        Ok((x, y))
    }

    fn accumulator(&self, factor: ValueId) -> DType {
        self.builder.ty(factor).dtype().map_or(DType::F32, DType::accumulator)
    }

    fn product(&mut self, kind: OpKind, spelled: &str, operands: &[(&Operand, ValueId)], loc: Loc) -> Flow<Value> {
        let site = self.site(spelled, loc, operands);
        let mut values: Vec<ValueId> = operands.iter().map(|(_, v)| *v).collect();
        let first = usize::from(kind == OpKind::MatmulAcc);
        let mut transposes = [false; 2];
        for (value, transpose) in values[first..first + 2].iter_mut().zip(&mut transposes) {
            if let Some(source) = self.transposed.get(value) {
                *value = *source;
                *transpose = true;
            }
        }
        let result = self.builder.matmul(kind, &values, transposes[0], transposes[1], loc);
        self.check(result, &site).map(Value::Tile)
    }
}
