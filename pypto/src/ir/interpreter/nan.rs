//! Where NaNs come from.

use half::{bf16, f16};

use super::machine::Frame;
use super::value::Value;
use crate::ir::{DType, Op};
use crate::ops::Class;
use crate::ops::reference::{Array, Scalar};

impl Frame<'_> {
    /// Whether the result has a NaN though no operand has. Operations that only move elements make none.
    pub(super) fn makes_nan(&self, op: &Op, result: &Value) -> bool {
        let moves = matches!(op.kind.class(), Class::Constant | Class::Create | Class::Layout | Class::Permute);
        if moves || op.kind == crate::ops::OpKind::Bitcast || !has_nan(result) {
            return false;
        }
        !(0..op.operands.len()).any(|n| self.operand(op, n).is_ok_and(has_nan))
    }
}

fn has_nan(value: &Value) -> bool {
    match value {
        Value::Scalar(scalar) => is_nan(*scalar),
        Value::Tile(array) => of_array(array),
        _ => false,
    }
}

/// Whether a valid element is a NaN.
fn of_array(array: &Array) -> bool {
    match array.dtype() {
        DType::F32 => array.valid_elements::<f32>().into_iter().any(f32::is_nan),
        DType::F16 => array.valid_elements::<f16>().into_iter().any(f16::is_nan),
        DType::BF16 => array.valid_elements::<bf16>().into_iter().any(bf16::is_nan),
        _ => false,
    }
}

fn is_nan(scalar: Scalar) -> bool {
    match scalar.dtype {
        DType::F32 => scalar.get::<f32>().is_nan(),
        DType::F16 => scalar.get::<f16>().is_nan(),
        DType::BF16 => scalar.get::<bf16>().is_nan(),
        _ => false,
    }
}
