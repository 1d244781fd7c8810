//! What tile operations compute: the language's own definitions, on the valid part of tiles.

use super::chip::Stop;
use crate::codegen::ascend::dialect::TileAttr;
use crate::ir::{DType, Round};
use crate::ops::OpKind;
use crate::ops::reference::{Array, Shape, elementwise};

/// The rounding of an attribute.
pub(super) fn round(attr: TileAttr) -> Round {
    match attr {
        TileAttr::Round("RINT") => Round::Rint,
        TileAttr::Round("ROUND") => Round::Round,
        TileAttr::Round("FLOOR") => Round::Floor,
        TileAttr::Round("CEIL") => Round::Ceil,
        TileAttr::Round("TRUNC") => Round::Trunc,
        TileAttr::Round("ODD") => Round::Odd,
        _ => Round::None,
    }
}

/// The comparison of an attribute.
pub(super) fn comparison(attr: TileAttr) -> Result<OpKind, Stop> {
    match attr {
        TileAttr::Compare("eq") => Ok(OpKind::CmpEq),
        TileAttr::Compare("ne") => Ok(OpKind::CmpNe),
        TileAttr::Compare("lt") => Ok(OpKind::CmpLt),
        TileAttr::Compare("le") => Ok(OpKind::CmpLe),
        TileAttr::Compare("gt") => Ok(OpKind::CmpGt),
        TileAttr::Compare("ge") => Ok(OpKind::CmpGe),
        _ => Err(Stop::Malformed("a comparison has no mode")),
    }
}

/// Truth values as the bytes of a mask.
pub(super) fn as_mask(truths: &Array) -> Array {
    let bytes: Vec<i8> = truths.elements::<bool>().iter().map(|b| i8::from(*b)).collect();
    Array::from_vec(bytes, truths.dims)
}

/// The bytes of a mask as truth values.
pub(super) fn of_mask(mask: &Array) -> Array {
    let truths: Vec<bool> = mask.elements::<i8>().iter().map(|b| *b != 0).collect();
    Array::from_vec(truths, mask.dims)
}

/// An f32 rounded to integral, with its sign where the result is zero.
pub(super) fn integral(x: &Array, round: Round) -> Array {
    let rounded = x.elements::<f32>().iter().map(|x| match round {
        Round::Floor => x.floor(),
        Round::Ceil => x.ceil(),
        Round::Trunc => x.trunc(),
        Round::Round => x.round(),
        _ => x.round_ties_even(),
    });
    Array::from_vec(rounded.collect(), x.dims)
}

/// Amounts of a shift, as the type of what is shifted.
pub(super) fn amounts(amount: Array, dtype: DType) -> Result<Array, Stop> {
    Ok(if amount.dtype() == dtype { amount } else { crate::ops::reference::cast::cast(&amount, dtype, Round::None)? })
}

/// Repeats rows or columns of extent 1.
pub(super) fn repeated(x: &Array, extents: [i64; 2]) -> Result<Array, Stop> {
    Ok(crate::ops::reference::layout::broadcast_to(x, Shape::from(extents))?)
}

/// `a op b`, extents of 1 repeated.
pub(super) fn binary(kind: OpKind, a: &Array, b: &Array) -> Result<Array, Stop> {
    Ok(elementwise::binary(kind, a, b)?)
}
