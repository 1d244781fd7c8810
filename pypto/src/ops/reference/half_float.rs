//! f16 and bf16 are computed in f32: widened (exactly), computed, and rounded to nearest even.

use half::{bf16, f16};

use super::array::Array;
use super::cast::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::element::{Data, Element, zeros};
use super::error::Result;
use super::map::map_slice;
use crate::ir::DType;

/// Whether arithmetic on the type is done in f32.
pub fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The array in f32 where it is f16 or bf16; others unchanged.
pub fn widen(x: &Array) -> Result<Array> {
    let mut out = zeros::<f32>(x.dims, x.data.len())?;
    match &x.data {
        Data::F16(v) => map_slice(v, &mut out, |x: f16| f16_to_f32(x)),
        Data::BF16(v) => map_slice(v, &mut out, |x: bf16| bf16_to_f32(x)),
        _ => return Ok(x.clone()),
    }
    Ok(Array { dims: x.dims, valid: x.valid, data: Data::F32(out) })
}

/// An f32 array rounded to f16 or bf16; unchanged for other types.
pub fn narrow(x: Array, dtype: DType) -> Result<Array> {
    let source = x.elements::<f32>();
    let data = match dtype {
        DType::F16 => {
            let mut out = zeros::<f16>(x.dims, source.len())?;
            map_slice(source, &mut out, |x: f32| f32_to_f16(x));
            f16::wrap(out)
        }
        DType::BF16 => {
            let mut out = zeros::<bf16>(x.dims, source.len())?;
            map_slice(source, &mut out, |x: f32| f32_to_bf16(x));
            bf16::wrap(out)
        }
        _ => return Ok(x),
    };
    Ok(Array { dims: x.dims, valid: x.valid, data })
}
