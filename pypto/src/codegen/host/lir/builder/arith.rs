//! Arithmetic, comparison and selection. Each method takes scalars or vectors; a scalar next to a vector is splatted.

use super::super::fold::{fold_bin, fold_cmp, identity};
use super::super::module::Value;
use super::super::op::{Bin, Cmp, Op, Un};
use super::super::types::{Elem, Type};
use super::Builder;

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        impl Builder<'_> {
            $($(#[$doc])* pub fn $name(&mut self, a: Value, b: Value) -> Value {
                self.bin(Bin::$op, a, b)
            })*
        }
    };
}

binary! {
    /// a + b.
    add = Add;
    /// a - b.
    sub = Sub;
    /// a * b.
    mul = Mul;
    /// a / b, floating-point.
    div = Div;
    /// a / b, signed integers; see [`Builder::checked_div`] for divisors that may be 0.
    sdiv = Sdiv;
    /// a / b, unsigned integers.
    udiv = Udiv;
    /// a % b, signed integers.
    srem = Srem;
    /// a % b, unsigned integers.
    urem = Urem;
    /// Smaller of floats (NaN wins) or signed integers.
    min = Min;
    /// Larger of floats (NaN wins) or signed integers.
    max = Max;
    /// Smaller of unsigned integers.
    umin = Umin;
    /// Larger of unsigned integers.
    umax = Umax;
    /// Smaller of pairs, see [`Bin::PairMin`].
    pair_min = PairMin;
    /// Larger of pairs, see [`Bin::PairMin`].
    pair_max = PairMax;
    /// a * 2^b, see [`Bin::Scale`].
    scale = Scale;
    /// Bitwise and; conjunction of masks.
    and = And;
    /// Bitwise or; disjunction of masks.
    or = Or;
    /// Bitwise exclusive or.
    xor = Xor;
    /// a << (b mod width).
    shl = Shl;
    /// a >> (b mod width), copies of the sign move in.
    ashr = Ashr;
    /// a >> (b mod width), zeros move in.
    lshr = Lshr;
}

impl Builder<'_> {
    /// `a op b`, folded when both are integer constants.
    pub fn bin(&mut self, op: Bin, a: Value, b: Value) -> Value {
        let (a, b) = self.same_shape(a, b);
        let ty = self.ty(a);
        let Some(elem) = ty.elem().filter(|e| !e.is_float()) else { return self.emit(Op::Bin(op), &[a, b], ty) };
        let commutes = matches!(
            op,
            Bin::Add | Bin::Mul | Bin::And | Bin::Or | Bin::Xor | Bin::Min | Bin::Max | Bin::Umin | Bin::Umax
        );
        let (ca, cb) = (self.function.constant(a), self.function.constant(b));
        // Constants go second, so that equal sums get one number.
        let (a, b, ca, cb) = if commutes && ca.is_some() { (b, a, cb, ca) } else { (a, b, ca, cb) };
        // Emission relies on constant amounts below the width.
        let (b, cb) = match (op, cb) {
            (Bin::Shl | Bin::Ashr | Bin::Lshr, Some(amount)) if amount >= u64::from(elem.bits()) => {
                let amount = amount % u64::from(elem.bits());
                (self.constant(ty, amount), Some(amount))
            }
            _ => (b, cb),
        };
        if let (Some(x), Some(y)) = (ca, cb)
            && let Some(bits) = fold_bin(op, elem, x, y)
        {
            return self.constant(ty, bits);
        }
        match cb.and_then(|c| identity(op, elem, c)) {
            Some(true) => a,
            Some(false) => b,
            None => self.emit(Op::Bin(op), &[a, b], ty),
        }
    }

    /// `op a`.
    pub fn un(&mut self, op: Un, a: Value) -> Value {
        let ty = self.ty(a);
        self.emit(Op::Un(op), &[a], ty)
    }

    /// -a.
    pub fn neg(&mut self, a: Value) -> Value {
        self.un(Un::Neg, a)
    }

    /// |a|.
    pub fn abs(&mut self, a: Value) -> Value {
        self.un(Un::Abs, a)
    }

    /// Square root of f32.
    pub fn sqrt(&mut self, a: Value) -> Value {
        self.un(Un::Sqrt, a)
    }

    /// Bitwise complement; negation of masks.
    pub fn not(&mut self, a: Value) -> Value {
        self.un(Un::Not, a)
    }

    /// Number of zeros below the lowest bit that is set.
    pub fn trailing_zeros(&mut self, a: Value) -> Value {
        self.un(Un::TrailingZeros, a)
    }

    /// a * b + c with one rounding.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let (a, b) = self.same_shape(a, b);
        let (a, c) = self.same_shape(a, c);
        let (b, c) = self.same_shape(b, c);
        let ty = self.ty(a);
        self.emit(Op::Fma, &[a, b, c], ty)
    }

    /// The least or greatest of vectors of f32, as `bin` of each and the next; there is at least one.
    pub fn extreme(&mut self, bin: Bin, values: &[Value]) -> Value {
        match values {
            [value] => *value,
            _ => self.emit(Op::Extreme(bin), values, Type::VF32),
        }
    }

    /// c plus the products of both halves of the words a and b, see [`Op::PairDot`].
    pub fn pair_dot(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(c);
        self.emit(Op::PairDot, &[a, b, c], ty)
    }

    /// c plus the products of the bytes of the words a and b, see [`Op::QuadDot`].
    pub fn quad_dot(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(c);
        self.emit(Op::QuadDot, &[a, b, c], ty)
    }

    /// Compares floats or signed integers.
    pub fn cmp(&mut self, cmp: Cmp, a: Value, b: Value) -> Value {
        self.compare(cmp, a, b, true)
    }

    /// Compares unsigned integers.
    pub fn ucmp(&mut self, cmp: Cmp, a: Value, b: Value) -> Value {
        self.compare(cmp, a, b, false)
    }

    fn compare(&mut self, cmp: Cmp, a: Value, b: Value, signed: bool) -> Value {
        let (a, b) = self.same_shape(a, b);
        let (ty, elem) = (self.ty(a).with_elem(Elem::I1), self.elem(a));
        if let (Some(x), Some(y), false) = (self.function.constant(a), self.function.constant(b), elem.is_float()) {
            return self.constant(ty, fold_cmp(cmp, elem, x, y, signed) as u64);
        }
        self.emit(if signed { Op::Cmp(cmp) } else { Op::Ucmp(cmp) }, &[a, b], ty)
    }

    /// Whether a is NaN.
    pub fn is_nan(&mut self, a: Value) -> Value {
        self.cmp(Cmp::Ne, a, a)
    }

    /// a where the condition holds, else b. A scalar condition chooses between whole vectors.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let (mut a, mut b) = self.same_shape(a, b);
        if self.ty(condition).is_vector() {
            (a, b) = (self.splat(a), self.splat(b));
        }
        match self.as_const(condition) {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => {
                let ty = self.ty(a);
                self.emit(Op::Select, &[condition, a, b], ty)
            }
        }
    }

    /// The scalar in every lane; vectors stay as they are.
    pub fn splat(&mut self, a: Value) -> Value {
        match self.ty(a) {
            Type::Scalar(e) => match self.function.constant(a) {
                Some(bits) => self.constant(Type::Vector(e), bits),
                None => self.emit(Op::Splat, &[a], Type::Vector(e)),
            },
            _ => a,
        }
    }

    /// Lane numbers 0, 1, .. W-1.
    pub fn iota(&mut self, elem: Elem) -> Value {
        self.emit(Op::Iota, &[], Type::Vector(elem))
    }

    /// Integer quotient (or remainder) by a divisor that may be 0: where `active` lanes divide by 0, or the quotient overflows, the failure
    /// `site` is recorded and the divisor replaced by 1. `active = None` means all lanes.
    pub fn checked_div(&mut self, op: Bin, a: Value, b: Value, active: Option<Value>, site: u32) -> Value {
        let (a, b) = self.same_shape(a, b);
        let (ty, elem) = (self.ty(a), self.elem(a));
        let (zero, one) = (self.constant(ty, 0), self.constant(ty, 1));
        let mut bad = self.cmp(Cmp::Eq, b, zero);
        if matches!(op, Bin::Sdiv | Bin::Srem) {
            let (least, minus_one) = (self.constant(ty, 1 << (elem.bits() - 1)), self.constant(ty, u64::MAX));
            let (is_least, is_minus) = (self.cmp(Cmp::Eq, a, least), self.cmp(Cmp::Eq, b, minus_one));
            let overflow = self.and(is_least, is_minus);
            bad = self.or(bad, overflow);
        }
        let reported = active.map_or(bad, |mask| self.and(bad, mask));
        self.fail_if(reported, site);
        let divisor = self.select(bad, one, b);
        self.bin(op, a, divisor)
    }

    /// Splats the scalar when the other is a vector.
    fn same_shape(&mut self, a: Value, b: Value) -> (Value, Value) {
        match (self.ty(a).is_vector(), self.ty(b).is_vector()) {
            (true, false) => (a, self.splat(b)),
            (false, true) => (self.splat(a), b),
            _ => (a, b),
        }
    }
}
