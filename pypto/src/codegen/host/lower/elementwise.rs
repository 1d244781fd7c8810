//! One elementwise operation on registers, scalar or vector alike.
//!
//! Operands and results are in computing form (see [`super::access`]). Every result of an `f16` or `bf16` operation is rounded to its type,
//! except where it is representable anyway.

use super::access::{computing, from_stored, to_stored};
use super::cast::{bitcast, cast, half_away};
use super::remainder::remainder;
use crate::codegen::host::lir::{Bin, Builder, Cmp, Value};
use crate::ir::{DType, Op};
use crate::ops::OpKind;
use crate::ops::math::MathFn;

/// What is known of an operation beside its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The failure site, for operations that can fail.
    pub site: u32,
    /// The lanes that count; `None` for all.
    pub active: Option<Value>,
    /// Whether the first operand is at most 0, or NaN.
    pub at_most_zero: bool,
}

/// Whether the operation on that type can fail, and so needs a site.
pub(super) fn can_fail(kind: OpKind, dtype: DType) -> bool {
    matches!(kind, OpKind::Div | OpKind::Rem) && dtype.is_integer()
}

/// What a failure of it says.
pub(super) fn failure(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Rem => "remainder by zero, or of the smallest integer by -1",
        _ => "division by zero, or of the smallest integer by -1",
    }
}

/// The result of the operation. `dtype` is the element type of the operands (of the last operand for `select`).
pub(super) fn apply(b: &mut Builder<'_>, op: &Op, dtype: DType, args: &[Value], known: Known) -> Option<Value> {
    use OpKind as K;
    Some(match (op.kind, args) {
        (K::Cast, &[x]) => cast(b, x, dtype, cast_target(op, dtype), op.attrs.round()),
        (K::Bitcast, &[x]) => bitcast(b, x, dtype, cast_target(op, dtype)),
        (K::Select, &[mask, x, y]) => b.select(mask, x, y),
        (K::CmpEq | K::CmpNe | K::CmpLt | K::CmpLe | K::CmpGt | K::CmpGe, &[x, y]) => compare(b, op.kind, dtype, x, y),
        (K::And, &[x, y]) => b.and(x, y),
        (K::Or, &[x, y]) => b.or(x, y),
        (K::Xor, &[x, y]) => b.xor(x, y),
        (K::Not, &[x]) => b.not(x),
        (_, &[x]) if dtype.is_float() => float_unary(b, op.kind, dtype, x, known)?,
        (_, &[x, y]) if dtype.is_float() => float_binary(b, op.kind, dtype, x, y)?,
        (_, &[x]) => integer_unary(b, op.kind, x)?,
        (_, &[x, y]) => integer_binary(b, op.kind, dtype, x, y, known)?,
        _ => return None,
    })
}

/// The element type that a cast produces.
pub(super) fn cast_target(op: &Op, default: DType) -> DType {
    match op.attrs.get(crate::ir::AttrKey::DType) {
        Some(crate::ir::Attr::DType(dtype)) => *dtype,
        _ => default,
    }
}

/// The nearest value of the type, still in computing form.
pub(super) fn round_to(b: &mut Builder<'_>, value: Value, dtype: DType) -> Value {
    match dtype {
        DType::F16 | DType::BF16 => {
            let narrow = to_stored(b, value, dtype);
            from_stored(b, narrow, dtype)
        }
        _ => value,
    }
}

fn compare(b: &mut Builder<'_>, kind: OpKind, dtype: DType, x: Value, y: Value) -> Value {
    let cmp = match kind {
        OpKind::CmpEq => Cmp::Eq,
        OpKind::CmpNe => Cmp::Ne,
        OpKind::CmpLt => Cmp::Lt,
        OpKind::CmpLe => Cmp::Le,
        OpKind::CmpGt => Cmp::Gt,
        _ => Cmp::Ge,
    };
    match (dtype, cmp) {
        (DType::Bool, Cmp::Ne) => b.xor(x, y),
        (DType::Bool, _) => {
            let differs = b.xor(x, y);
            b.not(differs)
        }
        _ if dtype.is_unsigned_integer() => b.ucmp(cmp, x, y),
        _ => b.cmp(cmp, x, y),
    }
}

fn float_unary(b: &mut Builder<'_>, kind: OpKind, dtype: DType, x: Value, known: Known) -> Option<Value> {
    use OpKind as K;
    let ty = b.ty(x);
    let (zero, one) = (b.constant(ty, 0), b.constant(ty, 1.0f32.to_bits() as u64));
    let value = match kind {
        K::Neg => return Some(b.neg(x)),
        K::Abs => return Some(b.abs(x)),
        K::Relu => return Some(b.max(x, zero)),
        K::Floor => return Some(b.floor(x)),
        K::Ceil => return Some(b.ceil(x)),
        K::Trunc => return Some(b.trunc(x)),
        K::Round => return Some(half_away(b, x)),
        K::RoundTiesEven => return Some(b.rint(x)),
        K::Recip => b.div(one, x),
        K::Sqrt => b.sqrt(x),
        _ if known.at_most_zero => b.math_at_most_zero(math_function(kind)?, x),
        _ => b.math(math_function(kind)?, x),
    };
    Some(round_to(b, value, dtype))
}

fn math_function(kind: OpKind) -> Option<MathFn> {
    Some(match kind {
        OpKind::Rsqrt => MathFn::Rsqrt,
        OpKind::Exp => MathFn::Exp,
        OpKind::Exp2 => MathFn::Exp2,
        OpKind::Expm1 => MathFn::Expm1,
        OpKind::Log => MathFn::Log,
        OpKind::Log2 => MathFn::Log2,
        OpKind::Log1p => MathFn::Log1p,
        OpKind::Tanh => MathFn::Tanh,
        OpKind::Erf => MathFn::Erf,
        OpKind::Sigmoid => MathFn::Sigmoid,
        OpKind::Sin => MathFn::Sin,
        OpKind::Cos => MathFn::Cos,
        _ => return None,
    })
}

fn float_binary(b: &mut Builder<'_>, kind: OpKind, dtype: DType, x: Value, y: Value) -> Option<Value> {
    use OpKind as K;
    let (x, y) = if b.ty(x).is_vector() || b.ty(y).is_vector() { (b.splat(x), b.splat(y)) } else { (x, y) };
    let value = match kind {
        K::Max => return Some(b.max(x, y)),
        K::Min => return Some(b.min(x, y)),
        K::Add => b.add(x, y),
        K::Sub => b.sub(x, y),
        K::Mul => b.mul(x, y),
        K::Div => b.div(x, y),
        K::Rem => remainder(b, x, y),
        K::Pow => b.pow(x, y),
        _ => return None,
    };
    Some(round_to(b, value, dtype))
}

fn integer_unary(b: &mut Builder<'_>, kind: OpKind, x: Value) -> Option<Value> {
    let zero = b.constant(b.ty(x), 0);
    match kind {
        OpKind::Neg => Some(b.neg(x)),
        OpKind::Abs => Some(b.abs(x)),
        OpKind::Relu => Some(b.max(x, zero)),
        _ => None,
    }
}

fn integer_binary(b: &mut Builder<'_>, kind: OpKind, dtype: DType, x: Value, y: Value, known: Known) -> Option<Value> {
    use OpKind as K;
    let unsigned = dtype.is_unsigned_integer();
    debug_assert_eq!(b.elem(x), computing(dtype));
    Some(match kind {
        K::Add => b.add(x, y),
        K::Sub => b.sub(x, y),
        K::Mul => b.mul(x, y),
        K::Max if unsigned => b.umax(x, y),
        K::Max => b.max(x, y),
        K::Min if unsigned => b.umin(x, y),
        K::Min => b.min(x, y),
        K::Shl => b.shl(x, y),
        K::Shr if unsigned => b.lshr(x, y),
        K::Shr => b.ashr(x, y),
        K::Div => b.checked_div(if unsigned { Bin::Udiv } else { Bin::Sdiv }, x, y, known.active, known.site),
        K::Rem => b.checked_div(if unsigned { Bin::Urem } else { Bin::Srem }, x, y, known.active, known.site),
        _ => return None,
    })
}

/// Relative cost in simple vector instructions.
pub(super) fn weight(kind: OpKind, dtype: DType) -> u32 {
    use OpKind as K;
    let rounding = if matches!(dtype, DType::F16 | DType::BF16) { 2 } else { 0 };
    rounding
        + match kind {
            K::Exp | K::Exp2 | K::Log | K::Log2 | K::Sigmoid => 20,
            K::Tanh | K::Erf | K::Expm1 | K::Log1p => 25,
            K::Sin | K::Cos => 35,
            K::Div | K::Recip | K::Sqrt => 5,
            K::Rsqrt => 10,
            K::Rem => 60,
            K::Pow => 80,
            _ => 1,
        }
}
