//! Elementwise operations: unary, binary, comparison and selection, over any mix of tiles and scalars.

use super::array::Array;
use super::element::with_element;
use super::error::{Error, Result};
use super::half_float::{is_half, narrow, widen};
use super::map::{self, Function, map_f32, map1, map2, map2_f32, try_map2};
use super::number::{Integer, max_f32, min_f32, with_integer};
use crate::ir::DType;
use crate::ops::OpKind;
use crate::ops::math::{self, ScalarMath};

/// An error unless the operation takes elements of this type.
pub fn check_dtype(kind: OpKind, dtype: DType) -> Result<()> {
    if kind.info().dtypes.contains(dtype) { Ok(()) } else { Err(Error::DType { op: kind.name(), dtype }) }
}

fn check_same(kind: OpKind, a: &Array, b: &Array) -> Result<DType> {
    let (a, b) = (a.dtype(), b.dtype());
    if a != b {
        return Err(Error::MixedDTypes { op: kind.name(), a, b });
    }
    check_dtype(kind, a)?;
    Ok(a)
}

/// An operation on each element.
pub fn unary(kind: OpKind, x: &Array) -> Result<Array> {
    let dtype = x.dtype();
    check_dtype(kind, dtype)?;
    match dtype {
        DType::F32 => float_unary(kind, x),
        DType::F16 | DType::BF16 => narrow(float_unary(kind, &widen(x)?)?, dtype),
        DType::Bool => map1(x, |x: bool| !x),
        _ => with_integer!(dtype, T => integer_unary::<T>(kind, x), else unsupported(kind, dtype)),
    }
}

fn unsupported(kind: OpKind, dtype: DType) -> Result<Array> {
    Err(Error::DType { op: kind.name(), dtype })
}

/// Math functions as types, so that their bodies are inlined into the vectorized loop.
macro_rules! math_functions {
    ($($name:ident => $function:ident;)*) => { $(
        #[derive(Clone, Copy)]
        struct $name;

        impl Function<f32, f32> for $name {
            #[inline(always)]
            fn apply(self, x: f32) -> f32 {
                math::$function(&mut ScalarMath, x)
            }
        }
    )* };
}

math_functions! {
    Exp => exp;
    Exp2 => exp2;
    Expm1 => expm1;
    Log => log;
    Log2 => log2;
    Log1p => log1p;
    Rsqrt => rsqrt;
    Tanh => tanh;
    Erf => erf;
    Sigmoid => sigmoid;
    Sin => sin;
    Cos => cos;
}

fn float_unary(kind: OpKind, x: &Array) -> Result<Array> {
    match kind {
        OpKind::Neg => map_f32(x, |x: f32| -x),
        OpKind::Abs => map_f32(x, |x: f32| x.abs()),
        OpKind::Recip => map_f32(x, |x: f32| 1.0 / x),
        OpKind::Sqrt => map_f32(x, |x: f32| x.sqrt()),
        OpKind::Relu => map_f32(x, |x: f32| max_f32(x, 0.0)),
        OpKind::Floor => map_f32(x, |x: f32| x.floor()),
        OpKind::Ceil => map_f32(x, |x: f32| x.ceil()),
        OpKind::Trunc => map_f32(x, |x: f32| x.trunc()),
        OpKind::Round => map_f32(x, |x: f32| x.round()),
        OpKind::RoundTiesEven => map_f32(x, |x: f32| x.round_ties_even()),
        OpKind::Exp => map_f32(x, Exp),
        OpKind::Exp2 => map_f32(x, Exp2),
        OpKind::Expm1 => map_f32(x, Expm1),
        OpKind::Log => map_f32(x, Log),
        OpKind::Log2 => map_f32(x, Log2),
        OpKind::Log1p => map_f32(x, Log1p),
        OpKind::Rsqrt => map_f32(x, Rsqrt),
        OpKind::Tanh => map_f32(x, Tanh),
        OpKind::Erf => map_f32(x, Erf),
        OpKind::Sigmoid => map_f32(x, Sigmoid),
        OpKind::Sin => map_f32(x, Sin),
        OpKind::Cos => map_f32(x, Cos),
        _ => unsupported(kind, x.dtype()),
    }
}

fn integer_unary<T: Integer>(kind: OpKind, x: &Array) -> Result<Array> {
    match kind {
        OpKind::Neg => map1(x, |x: T| x.wrapping_neg()),
        OpKind::Abs => map1(x, |x: T| x.wrapping_abs()),
        OpKind::Relu => map1(x, |x: T| x.max(T::default())),
        OpKind::Not => map1(x, |x: T| x.bit_not()),
        _ => unsupported(kind, x.dtype()),
    }
}

/// An operation on pairs of elements of one type, with broadcasting.
pub fn binary(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let dtype = check_same(kind, a, b)?;
    match dtype {
        DType::F32 => float_binary(kind, a, b),
        _ if is_half(dtype) => narrow(float_binary(kind, &widen(a)?, &widen(b)?)?, dtype),
        DType::Bool => bool_binary(kind, a, b),
        _ => with_integer!(dtype, T => integer_binary::<T>(kind, a, b), else unsupported(kind, dtype)),
    }
}

fn float_binary(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let op = kind.name();
    match kind {
        OpKind::Add => map2_f32(op, a, b, |a, b| a + b),
        OpKind::Sub => map2_f32(op, a, b, |a, b| a - b),
        OpKind::Mul => map2_f32(op, a, b, |a, b| a * b),
        OpKind::Div => map2_f32(op, a, b, |a, b| a / b),
        OpKind::Rem => map2_f32(op, a, b, |a, b| a % b),
        OpKind::Pow => map2_f32(op, a, b, |a, b| math::pow(&mut ScalarMath, a, b)),
        OpKind::Max => map2_f32(op, a, b, max_f32),
        OpKind::Min => map2_f32(op, a, b, min_f32),
        _ => unsupported(kind, a.dtype()),
    }
}

fn bool_binary(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let op = kind.name();
    match kind {
        OpKind::And => map2(op, a, b, |a: bool, b| a & b),
        OpKind::Or => map2(op, a, b, |a: bool, b| a | b),
        OpKind::Xor => map2(op, a, b, |a: bool, b| a ^ b),
        _ => unsupported(kind, a.dtype()),
    }
}

fn integer_binary<T: Integer>(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let op = kind.name();
    match kind {
        OpKind::Add => map2(op, a, b, |a: T, b| a.wrapping_add(b)),
        OpKind::Sub => map2(op, a, b, |a: T, b| a.wrapping_sub(b)),
        OpKind::Mul => map2(op, a, b, |a: T, b| a.wrapping_mul(b)),
        OpKind::Div => try_map2(op, a, b, T::divide),
        OpKind::Rem => try_map2(op, a, b, T::remainder),
        OpKind::Max => map2(op, a, b, |a: T, b| a.max(b)),
        OpKind::Min => map2(op, a, b, |a: T, b| a.min(b)),
        OpKind::And => map2(op, a, b, |a: T, b| a.bit_and(b)),
        OpKind::Or => map2(op, a, b, |a: T, b| a.bit_or(b)),
        OpKind::Xor => map2(op, a, b, |a: T, b| a.bit_xor(b)),
        OpKind::Shl => map2(op, a, b, |a: T, b| a.shift_left(b)),
        OpKind::Shr => map2(op, a, b, |a: T, b| a.shift_right(b)),
        _ => unsupported(kind, a.dtype()),
    }
}

/// A comparison of pairs of elements of one type, with broadcasting.
pub fn compare(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let dtype = check_same(kind, a, b)?;
    if is_half(dtype) {
        return compare_as::<f32>(kind, &widen(a)?, &widen(b)?);
    }
    if dtype == DType::F32 {
        return compare_as::<f32>(kind, a, b);
    }
    if dtype == DType::Bool {
        return compare_as::<bool>(kind, a, b);
    }
    with_integer!(dtype, T => compare_as::<T>(kind, a, b), else unsupported(kind, dtype))
}

fn compare_as<T: super::element::Element>(kind: OpKind, a: &Array, b: &Array) -> Result<Array> {
    let op = kind.name();
    match kind {
        OpKind::CmpEq => map2(op, a, b, |a: T, b| a == b),
        OpKind::CmpNe => map2(op, a, b, |a: T, b| a != b),
        OpKind::CmpLt => map2(op, a, b, |a: T, b| a < b),
        OpKind::CmpLe => map2(op, a, b, |a: T, b| a <= b),
        OpKind::CmpGt => map2(op, a, b, |a: T, b| a > b),
        OpKind::CmpGe => map2(op, a, b, |a: T, b| a >= b),
        _ => unsupported(kind, a.dtype()),
    }
}

/// `a` where the mask is true, else `b`; all three broadcast.
pub fn select(mask: &Array, a: &Array, b: &Array) -> Result<Array> {
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op: "select", dtype: mask.dtype() });
    }
    let dtype = check_same(OpKind::Select, a, b)?;
    with_element!(dtype, T => map::select::<T>(mask, a, b))
}
