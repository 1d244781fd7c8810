//! The mathematical functions as LIR.

use super::builder::Builder;
use super::module::Value;
use super::op::{Bin, Cmp, Cvt, Un};
use super::types::{Elem, Type};
use crate::ops::math::{MathBuilder, MathFn};

impl Builder<'_> {
    /// A mathematical function of f32, scalar or vector; the same bits as [`MathFn::eval`] on a CPU with fused multiply-add.
    pub fn math(&mut self, function: MathFn, x: Value) -> Value {
        let shape = self.ty(x);
        function.apply(&mut LirMath { builder: self, shape }, x)
    }

    /// The same bits as [`math`](Self::math) for x that is at most 0, or NaN.
    pub fn math_at_most_zero(&mut self, function: MathFn, x: Value) -> Value {
        let shape = self.ty(x);
        function.apply_at_most_zero(&mut LirMath { builder: self, shape }, x)
    }

    /// `x` to the power of `y`, scalars or vectors of f32 alike.
    pub fn pow(&mut self, x: Value, y: Value) -> Value {
        let shape = self.ty(x);
        crate::ops::math::pow(&mut LirMath { builder: self, shape }, x, y)
    }
}

/// Writes the operations into a builder, for scalars or vectors.
pub struct LirMath<'a, 'm> {
    /// Where instructions go.
    pub builder: &'a mut Builder<'m>,
    /// The type of the f32 operands.
    pub shape: Type,
}

impl LirMath<'_, '_> {
    fn bin(&mut self, op: Bin, a: Value, b: Value) -> Value {
        self.builder.bin(op, a, b)
    }
}

impl MathBuilder for LirMath<'_, '_> {
    type F = Value;
    type I = Value;
    type M = Value;

    fn f(&mut self, value: f32) -> Value {
        self.builder.constant(self.shape, value.to_bits() as u64)
    }
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Add, a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Sub, a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Mul, a, b)
    }
    fn div(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Div, a, b)
    }
    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.builder.fma(a, b, c)
    }
    fn neg(&mut self, a: Value) -> Value {
        self.builder.neg(a)
    }
    fn abs(&mut self, a: Value) -> Value {
        self.builder.abs(a)
    }
    fn sqrt(&mut self, a: Value) -> Value {
        self.builder.sqrt(a)
    }
    fn rint(&mut self, a: Value) -> Value {
        self.builder.un(Un::Rint, a)
    }
    fn lt(&mut self, a: Value, b: Value) -> Value {
        self.builder.cmp(Cmp::Lt, a, b)
    }
    fn eq(&mut self, a: Value, b: Value) -> Value {
        self.builder.cmp(Cmp::Eq, a, b)
    }
    fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.builder.select(condition, a, b)
    }
    fn scaled(&mut self, a: Value, n: Value) -> Option<Value> {
        let has_it = self.builder.target().scales && self.shape.is_vector();
        has_it.then(|| self.builder.scale(a, n))
    }
    fn rarely(&mut self, condition: Value, value: Value, path: impl FnOnce(&mut Self) -> Value) -> Value {
        let any = if self.shape.is_vector() { self.builder.any(condition) } else { condition };
        self.builder.open();
        let other = path(self);
        let chosen = self.builder.select(condition, other, value);
        let taken = self.builder.close(Vec::new(), vec![chosen]);
        self.builder.open();
        let passed = self.builder.close(Vec::new(), vec![value]);
        self.builder.branch(any, taken, passed, &[self.shape])[0]
    }
    fn i(&mut self, value: i32) -> Value {
        self.builder.constant(self.shape.with_elem(Elem::I32), value as u32 as u64)
    }
    fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Add, a, b)
    }
    fn isub(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Sub, a, b)
    }
    fn iand(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::And, a, b)
    }
    fn ior(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Or, a, b)
    }
    fn ixor(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Xor, a, b)
    }
    fn ishl(&mut self, a: Value, amount: i32) -> Value {
        let amount = self.i(amount);
        self.bin(Bin::Shl, a, amount)
    }
    fn ishr(&mut self, a: Value, amount: i32) -> Value {
        let amount = self.i(amount);
        self.bin(Bin::Ashr, a, amount)
    }
    fn ieq(&mut self, a: Value, b: Value) -> Value {
        self.builder.cmp(Cmp::Eq, a, b)
    }
    fn to_f(&mut self, a: Value) -> Value {
        self.builder.cvt(Cvt::FromSigned, a, Elem::F32)
    }
    fn bits(&mut self, a: Value) -> Value {
        self.builder.bitcast(a, Elem::I32)
    }
    fn float_of(&mut self, a: Value) -> Value {
        self.builder.bitcast(a, Elem::F32)
    }
}
