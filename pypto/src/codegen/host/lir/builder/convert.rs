//! Conversions between element types. The same methods serve scalars and vectors.

use super::super::module::Value;
use super::super::op::{Cvt, Op, Un};
use super::super::types::{Elem, Type};
use super::Builder;

impl Builder<'_> {
    /// The operation `cvt` to `elem`; most callers want [`Builder::convert`].
    pub fn cvt(&mut self, cvt: Cvt, a: Value, elem: Elem) -> Value {
        let ty = self.ty(a).with_elem(elem);
        self.emit(Op::Cvt(cvt), &[a], ty)
    }

    /// Converts between any two element types with the default mode: integers wrap or extend by the source's sign, integer to float and
    /// float to narrower float round to nearest even, float to integer truncates and saturates with NaN to 0, `i1` counts as 0 or 1, and to
    /// `i1` means different from 0. f16 and bf16 go through f32.
    pub fn convert(&mut self, a: Value, from_signed: bool, to: Elem, to_signed: bool) -> Value {
        let from = self.elem(a);
        if from == to {
            return a;
        }
        if from.is_storage_only() {
            let wide = self.cvt(Cvt::Widen, a, Elem::F32);
            return self.convert(wide, true, to, to_signed);
        }
        if to.is_storage_only() {
            let single = self.convert(a, from_signed, Elem::F32, true);
            return self.cvt(Cvt::Round, single, to);
        }
        match (from, to) {
            (_, Elem::I1) => {
                let zero = self.constant(self.ty(a), 0);
                self.cmp(super::super::op::Cmp::Ne, a, zero)
            }
            (Elem::I1, Elem::F32) => {
                let wide = self.cvt(Cvt::Zext, a, Elem::I32);
                self.cvt(Cvt::FromSigned, wide, Elem::F32)
            }
            (Elem::F32, _) => self.cvt(if to_signed { Cvt::ToSigned } else { Cvt::ToUnsigned }, a, to),
            (_, Elem::F32) => self.cvt(if from_signed { Cvt::FromSigned } else { Cvt::FromUnsigned }, a, to),
            _ => self.resize(a, to, from_signed && from != Elem::I1),
        }
    }

    /// Integer to integer: the low bits, or an extension with the sign or zeros. Constants fold.
    pub fn resize(&mut self, a: Value, to: Elem, signed: bool) -> Value {
        let from = self.elem(a);
        if let Some(bits) = self.function.constant(a) {
            let value = if signed { super::super::fold::signed(from, bits) as u64 } else { bits };
            let ty = self.ty(a).with_elem(to);
            return self.constant(ty, value);
        }
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.cvt(if signed { Cvt::Sext } else { Cvt::Zext }, a, to),
            std::cmp::Ordering::Equal => a,
            std::cmp::Ordering::Greater => self.cvt(Cvt::Narrow, a, to),
        }
    }

    /// The same bits as another type of the same width.
    pub fn bitcast(&mut self, a: Value, elem: Elem) -> Value {
        let ty = self.ty(a).with_elem(elem);
        match self.function.constant(a) {
            Some(bits) => self.constant(ty, bits),
            None if ty == self.ty(a) => a,
            None => self.emit(Op::Bitcast, &[a], ty),
        }
    }

    /// f32 to the nearest integral f32, ties to even.
    pub fn rint(&mut self, a: Value) -> Value {
        self.un(Un::Rint, a)
    }

    /// f32 rounded down.
    pub fn floor(&mut self, a: Value) -> Value {
        self.un(Un::Floor, a)
    }

    /// f32 rounded up.
    pub fn ceil(&mut self, a: Value) -> Value {
        self.un(Un::Ceil, a)
    }

    /// f32 rounded towards zero.
    pub fn trunc(&mut self, a: Value) -> Value {
        self.un(Un::Trunc, a)
    }

    /// f16 or bf16 to f32; other types stay as they are.
    pub fn widen(&mut self, a: Value) -> Value {
        if self.elem(a).is_storage_only() { self.cvt(Cvt::Widen, a, Elem::F32) } else { a }
    }

    /// Whether the mask or truth value, as a scalar, holds anywhere.
    pub fn any(&mut self, a: Value) -> Value {
        if self.ty(a).is_vector() { self.emit(Op::Any, &[a], Type::BOOL) } else { a }
    }
}
