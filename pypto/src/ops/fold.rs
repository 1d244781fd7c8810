//! Folding of scalar operations on constants, with the semantics that the operations have at run time.
//!
//! What cannot be folded exactly (transcendental functions, unusual roundings) stays an operation. Integer overflow and
//! division by zero are reported, never computed: at specialization they are mistakes in the kernel.

use crate::ir::{Attr, AttrKey, Attrs, DType, Round};
use crate::ops::OpKind;

/// A scalar constant. Integers hold the value, whatever their width; floats are exact in `f64`.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.bits() == other.bits()
    }
}

/// Why constants do not fold although all operands are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldError {
    Overflow,
    DivisionByZero,
}

impl Literal {
    /// The value of a constant operation's attributes.
    pub fn of(attrs: &Attrs) -> Option<Literal> {
        match attrs.get(AttrKey::Value)? {
            Attr::Int(n) => Some(Literal::Int(*n)),
            Attr::Float(x) => Some(Literal::Float(*x)),
            Attr::Bool(b) => Some(Literal::Bool(*b)),
            _ => None,
        }
    }

    /// The attributes of a constant operation of this value.
    pub fn attrs(self, dtype: DType) -> Attrs {
        let value = match self {
            Literal::Int(n) => Attr::Int(n),
            Literal::Float(x) => Attr::Float(x),
            Literal::Bool(b) => Attr::Bool(b),
        };
        Attrs::new().with(AttrKey::Value, value).with(AttrKey::DType, Attr::DType(dtype))
    }

    /// Identifies the value, floats by their bits, together with which variant it is.
    pub fn bits(self) -> (u8, u64) {
        match self {
            Literal::Int(n) => (0, n as u64),
            Literal::Float(x) => (1, x.to_bits()),
            Literal::Bool(b) => (2, u64::from(b)),
        }
    }

    /// The value as `dtype` holds it, where it has a value of that kind: integers in range, floats rounded.
    pub fn fit(self, dtype: DType) -> Option<Literal> {
        match self {
            Literal::Int(n) if dtype.is_integer() => in_range(n as i128, dtype).map(Literal::Int),
            Literal::Float(x) if dtype.is_float() => Some(Literal::Float(round_float(x as f32, dtype))),
            Literal::Bool(_) if dtype == DType::Bool => Some(self),
            _ => None,
        }
    }
}

/// Smallest and largest value of an integer type.
pub fn integer_range(dtype: DType) -> (i64, i64) {
    let bits = dtype.bits();
    if dtype.is_unsigned_integer() {
        (0, (1i64 << bits) - 1)
    } else {
        (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
    }
}

fn in_range(value: i128, dtype: DType) -> Option<i64> {
    let (lo, hi) = integer_range(dtype);
    (i128::from(lo)..=i128::from(hi)).contains(&value).then_some(value as i64)
}

/// The low bits of `value` as an integer of type `dtype`.
pub fn wrap(value: i128, dtype: DType) -> i64 {
    match dtype {
        DType::I8 => i64::from(value as i8),
        DType::I16 => i64::from(value as i16),
        DType::I32 => i64::from(value as i32),
        DType::U8 => i64::from(value as u8),
        DType::U16 => i64::from(value as u16),
        DType::U32 => i64::from(value as u32),
        _ => value as i64,
    }
}

/// An `f32` result rounded to a float type, to nearest even.
fn round_float(x: f32, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_f32(x).to_f64(),
        DType::BF16 => half::bf16::from_f32(x).to_f64(),
        _ => f64::from(x),
    }
}

/// The result of an elementwise operation on constants whose element type is `dtype`; `None` where it is not foldable.
pub fn fold(kind: OpKind, dtype: DType, attrs: &Attrs, operands: &[Literal]) -> Option<Result<Literal, FoldError>> {
    use Literal::{Bool, Float, Int};
    match (kind, operands) {
        (OpKind::Select, [Bool(mask), a, b]) => Some(Ok(if *mask { *a } else { *b })),
        (OpKind::Cast, [x]) => cast(*x, attrs.dtype()?, attrs.round()).map(Ok),
        (_, [Int(a), Int(b)]) => compare(kind, a, b).map(Ok).or_else(|| integer(kind, dtype, *a, *b)),
        (_, [Float(a), Float(b)]) => compare(kind, a, b)
            .or_else(|| float(kind, *a as f32, *b as f32).map(|x| Float(round_float(x, dtype))))
            .map(Ok),
        (_, [Bool(a), Bool(b)]) => logic(kind, *a, *b).map(|x| Ok(Bool(x))),
        (_, [Int(x)]) => integer_unary(kind, dtype, *x),
        (_, [Float(x)]) => float_unary(kind, *x as f32).map(|x| Ok(Float(round_float(x, dtype)))),
        (OpKind::Not, [Bool(x)]) => Some(Ok(Bool(!x))),
        _ => None,
    }
}

fn compare<T: PartialOrd>(kind: OpKind, a: &T, b: &T) -> Option<Literal> {
    Some(Literal::Bool(match kind {
        OpKind::CmpEq => a == b,
        OpKind::CmpNe => a != b,
        OpKind::CmpLt => a < b,
        OpKind::CmpLe => a <= b,
        OpKind::CmpGt => a > b,
        OpKind::CmpGe => a >= b,
        _ => return None,
    }))
}

fn logic(kind: OpKind, a: bool, b: bool) -> Option<bool> {
    Some(match kind {
        OpKind::And => a & b,
        OpKind::Or => a | b,
        OpKind::Xor | OpKind::CmpNe => a ^ b,
        OpKind::CmpEq => a == b,
        _ => return None,
    })
}

fn integer(kind: OpKind, dtype: DType, a: i64, b: i64) -> Option<Result<Literal, FoldError>> {
    let (x, y) = (i128::from(a), i128::from(b));
    let exact = match kind {
        OpKind::Add => x + y,
        OpKind::Sub => x - y,
        OpKind::Mul => x * y,
        OpKind::Div | OpKind::Rem if b == 0 => return Some(Err(FoldError::DivisionByZero)),
        // The smallest value by -1 overflows in the remainder as well, as in Rust.
        OpKind::Rem if b == -1 && a == integer_range(dtype).0 && !dtype.is_unsigned_integer() => {
            return Some(Err(FoldError::Overflow));
        }
        OpKind::Div => x / y,
        OpKind::Rem => x % y,
        OpKind::Max => x.max(y),
        OpKind::Min => x.min(y),
        OpKind::And => x & y,
        OpKind::Or => x | y,
        OpKind::Xor => x ^ y,
        OpKind::Shl => i128::from(wrap(x << (b & i64::from(dtype.bits() - 1)), dtype)),
        OpKind::Shr => x >> (b & i64::from(dtype.bits() - 1)),
        _ => return None,
    };
    Some(in_range(exact, dtype).map(Literal::Int).ok_or(FoldError::Overflow))
}

fn integer_unary(kind: OpKind, dtype: DType, x: i64) -> Option<Result<Literal, FoldError>> {
    let exact = match kind {
        OpKind::Neg => -i128::from(x),
        OpKind::Abs => i128::from(x).abs(),
        OpKind::Relu => i128::from(x.max(0)),
        OpKind::Not => return Some(Ok(Literal::Int(wrap(!i128::from(x), dtype)))),
        _ => return None,
    };
    Some(in_range(exact, dtype).map(Literal::Int).ok_or(FoldError::Overflow))
}

fn float(kind: OpKind, a: f32, b: f32) -> Option<f32> {
    Some(match kind {
        OpKind::Add => a + b,
        OpKind::Sub => a - b,
        OpKind::Mul => a * b,
        OpKind::Div => a / b,
        OpKind::Rem => a % b,
        OpKind::Max if a.is_nan() || !(a < b || b.is_nan()) => a,
        OpKind::Min if a.is_nan() || !(a > b || b.is_nan()) => a,
        OpKind::Max | OpKind::Min => b,
        _ => return None,
    })
}

fn float_unary(kind: OpKind, x: f32) -> Option<f32> {
    Some(match kind {
        OpKind::Neg => -x,
        OpKind::Abs => x.abs(),
        OpKind::Recip => 1.0 / x,
        OpKind::Sqrt => x.sqrt(),
        OpKind::Rsqrt => 1.0 / x.sqrt(),
        OpKind::Floor => x.floor(),
        OpKind::Ceil => x.ceil(),
        OpKind::Trunc => x.trunc(),
        OpKind::Round => x.round(),
        OpKind::RoundTiesEven => x.round_ties_even(),
        OpKind::Relu if x < 0.0 => 0.0,
        OpKind::Relu => x,
        _ => return None,
    })
}

fn cast(x: Literal, to: DType, round: Round) -> Option<Literal> {
    match x {
        Literal::Int(n) if to.is_integer() => Some(Literal::Int(wrap(i128::from(n), to))),
        Literal::Bool(b) if to.is_integer() => Some(Literal::Int(i64::from(b))),
        Literal::Bool(b) if to.is_float() => Some(Literal::Float(f64::from(u8::from(b)))),
        Literal::Bool(_) if to == DType::Bool => Some(x),
        // Exact in f32, so that only the last rounding counts.
        Literal::Int(n) if to.is_float() && n.unsigned_abs() <= 1 << 24 && round_to_nearest(round) => {
            Some(Literal::Float(round_float(n as f32, to)))
        }
        Literal::Float(x) if to.is_float() && round_to_nearest(round) => {
            Some(Literal::Float(round_float(x as f32, to)))
        }
        Literal::Float(x) if to.is_integer() => {
            let integral = match round {
                Round::None | Round::Trunc => x.trunc(),
                Round::Rint => x.round_ties_even(),
                Round::Round => x.round(),
                Round::Floor => x.floor(),
                Round::Ceil => x.ceil(),
                Round::Odd => return None,
            };
            let (lo, hi) = integer_range(to);
            Some(Literal::Int((integral as i64).clamp(lo, hi)))
        }
        _ => None,
    }
}

fn round_to_nearest(round: Round) -> bool {
    matches!(round, Round::None | Round::Rint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(kind: OpKind, dtype: DType, a: i64, b: i64) -> Option<Result<Literal, FoldError>> {
        fold(kind, dtype, &Attrs::new(), &[Literal::Int(a), Literal::Int(b)])
    }

    #[test]
    fn integers_fold_as_rust_computes() {
        assert_eq!(ints(OpKind::Div, DType::I64, -7, 2), Some(Ok(Literal::Int(-3))));
        assert_eq!(ints(OpKind::Rem, DType::I64, -7, 2), Some(Ok(Literal::Int(-1))));
        assert_eq!(ints(OpKind::Add, DType::I64, i64::MAX, 1), Some(Err(FoldError::Overflow)));
        assert_eq!(ints(OpKind::Sub, DType::U8, 0, 1), Some(Err(FoldError::Overflow)));
        assert_eq!(ints(OpKind::Rem, DType::I32, i64::from(i32::MIN), -1), Some(Err(FoldError::Overflow)));
        assert_eq!(ints(OpKind::Div, DType::I32, 1, 0), Some(Err(FoldError::DivisionByZero)));
        assert_eq!(ints(OpKind::Shl, DType::I8, 1, 9), Some(Ok(Literal::Int(2))));
    }

    #[test]
    fn floats_round_to_their_type() {
        let third = fold(OpKind::Div, DType::F16, &Attrs::new(), &[Literal::Float(1.0), Literal::Float(3.0)]);
        assert_eq!(third, Some(Ok(Literal::Float(half::f16::from_f32(1.0 / 3.0).to_f64()))));
        let max = fold(OpKind::Max, DType::F32, &Attrs::new(), &[Literal::Float(1.0), Literal::Float(f64::NAN)]);
        assert!(matches!(max, Some(Ok(Literal::Float(x))) if x.is_nan()));
        assert_eq!(fold(OpKind::Exp, DType::F32, &Attrs::new(), &[Literal::Float(1.0)]), None);
    }
}
