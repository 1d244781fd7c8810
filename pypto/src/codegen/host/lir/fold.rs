//! Folding of integer constants, so that index arithmetic on known extents leaves no instructions behind.
//!
//! Only integers are folded: floating-point results must come from the same instructions as in the interpreter.

use super::op::{Bin, Cmp};
use super::types::Elem;

/// `bits` cut to the width of the element.
pub(super) fn truncate(elem: Elem, bits: u64) -> u64 {
    match elem.bits() {
        64 => bits,
        width => bits & ((1 << width) - 1),
    }
}

/// The signed value of the low bits.
pub(super) fn signed(elem: Elem, bits: u64) -> i64 {
    let shift = 64 - elem.bits();
    ((bits << shift) as i64) >> shift
}

/// The constant `a op b`; `None` where the operation is undefined.
pub(super) fn fold_bin(op: Bin, elem: Elem, a: u64, b: u64) -> Option<u64> {
    let (sa, sb) = (signed(elem, a), signed(elem, b));
    let amount = (b % elem.bits() as u64) as u32;
    let result = match op {
        Bin::Add => a.wrapping_add(b),
        Bin::Sub => a.wrapping_sub(b),
        Bin::Mul => a.wrapping_mul(b),
        Bin::Div | Bin::Scale => return None,
        Bin::Sdiv => sa.checked_div(sb)? as u64,
        Bin::Srem => sa.checked_rem(sb)? as u64,
        Bin::Udiv => a.checked_div(b)?,
        Bin::Urem => a.checked_rem(b)?,
        Bin::Min | Bin::PairMin => sa.min(sb) as u64,
        Bin::Max | Bin::PairMax => sa.max(sb) as u64,
        Bin::Umin => a.min(b),
        Bin::Umax => a.max(b),
        Bin::And => a & b,
        Bin::Or => a | b,
        Bin::Xor => a ^ b,
        Bin::Shl => a << amount,
        Bin::Ashr => (sa >> amount) as u64,
        Bin::Lshr => a >> amount,
    };
    Some(truncate(elem, result))
}

/// Which operand `x op constant` equals for every x, if it does: `Some(true)` is x, `Some(false)` the constant.
pub(super) fn identity(op: Bin, elem: Elem, constant: u64) -> Option<bool> {
    let ones = truncate(elem, u64::MAX);
    match (op, constant) {
        (Bin::Add | Bin::Sub | Bin::Or | Bin::Xor | Bin::Shl | Bin::Ashr | Bin::Lshr, 0) => Some(true),
        (Bin::Mul | Bin::Sdiv | Bin::Udiv, 1) => Some(true),
        (Bin::Mul | Bin::And, 0) => Some(false),
        (Bin::And, c) if c == ones => Some(true),
        (Bin::Or, c) if c == ones => Some(false),
        _ => None,
    }
}

/// Whether the comparison holds between constants.
pub(super) fn fold_cmp(op: Cmp, elem: Elem, a: u64, b: u64, is_signed: bool) -> bool {
    let order = if is_signed { signed(elem, a).cmp(&signed(elem, b)) } else { a.cmp(&b) };
    match op {
        Cmp::Eq => order.is_eq(),
        Cmp::Ne => order.is_ne(),
        Cmp::Lt => order.is_lt(),
        Cmp::Le => order.is_le(),
        Cmp::Gt => order.is_gt(),
        Cmp::Ge => order.is_ge(),
    }
}
