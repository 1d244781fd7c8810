//! Tensors of numbers that are the same in every run, for kernels whose inputs nobody gave.

use crate::ir::DType;
use crate::language::{DynamicTensor, TensorError};
use crate::ops::reference::{Element, with_element};

/// Numbers between -1 and 1; integers from 0 to 3, which are small enough for most indices. `seed` tells tensors apart.
///
/// ```
/// use pypto::golden::generated;
/// use pypto::ir::DType;
/// let x = generated(DType::F32, &[2, 3], 0)?;
/// assert!(x.elements::<f32>().is_some_and(|all| all.iter().all(|x| x.abs() <= 1.0)));
/// assert_eq!(x, generated(DType::F32, &[2, 3], 0)?);
/// assert_ne!(x, generated(DType::F32, &[2, 3], 1)?);
/// # Ok::<(), pypto::language::TensorError>(())
/// ```
///
/// # Errors
/// A rank above 8, a negative extent, more elements than memory holds.
pub fn generated(dtype: DType, dims: &[i64], seed: usize) -> Result<DynamicTensor, TensorError> {
    // A linear congruence, whose high bits look random enough.
    let number = |i: u64| (i + 1 + ((seed as u64) << 32)).wrapping_mul(6_364_136_223_846_793_005) >> 40;
    let mut tensor = DynamicTensor::zeros(dtype, dims)?;
    with_element!(dtype, T => {
        let elements = tensor.elements_mut::<T>().unwrap_or_default().iter_mut();
        elements.zip(0..).for_each(|(element, i)| *element = T::from_bits64(bits_of(dtype, number(i))));
    });
    Ok(tensor)
}

/// The bits of an element that stands for a number of 24 bits.
fn bits_of(dtype: DType, number: u64) -> u64 {
    let real = number as f32 / (1u32 << 23) as f32 - 1.0;
    match dtype {
        DType::F32 => u64::from(real.to_bits()),
        DType::F16 => u64::from(half::f16::from_f32(real).to_bits()),
        DType::BF16 => u64::from(half::bf16::from_f32(real).to_bits()),
        DType::Bool => number & 1,
        _ => number & 3,
    }
}
