//! Comparison of a tensor with the expected one.

use std::fmt;

use crate::ir::DType;
use crate::language::DynamicTensor;
use crate::ops::reference::{Element, with_element};

/// Differences listed one by one in a report.
const LISTED: usize = 20;

/// How far elements may be apart: `|actual - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
    pub nan: NanPolicy,
}

/// What an expected NaN means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanPolicy {
    /// The actual element is NaN, too.
    #[default]
    Equal,
    /// The actual element may be anything.
    Ignore,
}

impl Tolerance {
    /// The default for an element type: 1e-5 for f32, 1e-3 for f16, 8e-3 for bf16 (both relative and absolute), equality for
    /// all others. The bounds of the half precisions are their unit roundoffs, 2^-11 and 2^-8, twice over.
    pub fn of(dtype: DType) -> Tolerance {
        let bound = match dtype {
            DType::F32 => 1e-5,
            DType::F16 => 1e-3,
            DType::BF16 => 8e-3,
            _ => 0.0,
        };
        Tolerance { rtol: bound, atol: bound, nan: NanPolicy::Equal }
    }

    /// With other bounds where they are given.
    pub fn with(mut self, rtol: Option<f64>, atol: Option<f64>) -> Tolerance {
        self.rtol = rtol.unwrap_or(self.rtol);
        self.atol = atol.unwrap_or(self.atol);
        self
    }
}

/// An element that is too far from the expected one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub index: Vec<i64>,
    pub expected: String,
    pub actual: String,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub name: String,
    pub dtype: DType,
    pub tolerance: Tolerance,
    /// Elements compared.
    pub elements: usize,
    /// Elements too far apart.
    pub mismatches: usize,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// The largest absolute difference of two finite elements, and where it is.
    pub max_error: f64,
    pub max_error_at: Option<Vec<i64>>,
}

/// Tensors that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("`{name}` is {actual}, but {expected} is expected")]
    ElementType { name: String, actual: DType, expected: DType },
    #[error("`{name}` has extents {actual:?}, but {expected:?} is expected")]
    Extents { name: String, actual: Vec<i64>, expected: Vec<i64> },
}

impl Comparison {
    /// Whether every element is close enough.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { name, dtype, elements, mismatches, tolerance, max_error, .. } = self;
        let verdict = if self.passed() { "ok" } else { "DIFFERS" };
        write!(f, "{name}: {verdict}, {dtype}, {mismatches} of {elements} elements beyond rtol {:e}", tolerance.rtol)?;
        write!(f, ", atol {:e}; max error {max_error:e}", tolerance.atol)?;
        if let Some(at) = &self.max_error_at {
            write!(f, " at {at:?}")?;
        }
        for Difference { index, expected, actual } in &self.differences {
            write!(f, "\n  {index:?}: {actual}, expected {expected}")?;
        }
        match mismatches - self.differences.len() {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// Compares element by element. Infinities are close to themselves alone, whatever the tolerance. Integers and truth values
/// are compared exactly where the tolerance is 0.
///
/// ```
/// use pypto::golden::{Tolerance, compare};
/// use pypto::ir::DType;
/// use pypto::language::DynamicTensor;
/// let expected = DynamicTensor::from_vec(vec![1.0f32, 2.0, f32::NAN], &[3])?;
/// let actual = DynamicTensor::from_vec(vec![1.0f32, 2.1, f32::NAN], &[3])?;
/// let outcome = compare("y", &actual, &expected, Tolerance::of(DType::F32))?;
/// assert_eq!((outcome.mismatches, &outcome.differences[0].index), (1, &vec![1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Other element types or extents.
pub fn compare(
    name: &str,
    actual: &DynamicTensor,
    expected: &DynamicTensor,
    tolerance: Tolerance,
) -> Result<Comparison, CompareError> {
    let name = name.to_owned();
    if actual.dtype() != expected.dtype() {
        return Err(CompareError::ElementType { name, actual: actual.dtype(), expected: expected.dtype() });
    }
    if actual.dims() != expected.dims() {
        let (actual, expected) = (actual.dims().to_vec(), expected.dims().to_vec());
        return Err(CompareError::Extents { name, actual, expected });
    }
    let mut outcome = Comparison {
        name,
        dtype: actual.dtype(),
        tolerance,
        elements: 0,
        mismatches: 0,
        differences: Vec::new(),
        max_error: 0.0,
        max_error_at: None,
    };
    with_element!(actual.dtype(), T => {
        let (a, b) = (actual.elements::<T>().unwrap_or(&[]), expected.elements::<T>().unwrap_or(&[]));
        compare_elements(&mut outcome, actual.dims(), a, b);
    });
    Ok(outcome)
}

fn compare_elements<T: Element>(outcome: &mut Comparison, dims: &[i64], actual: &[T], expected: &[T]) {
    let tolerance = outcome.tolerance;
    for (position, (a, b)) in actual.iter().zip(expected).enumerate() {
        outcome.elements += 1;
        let (wide_a, wide_b) = (wide(*a), wide(*b));
        let error = (wide_a - wide_b).abs();
        if error > outcome.max_error && error.is_finite() {
            outcome.max_error = error;
            outcome.max_error_at = Some(index_of(dims, position));
        }
        // Equality of the elements themselves: f64 cannot tell large integers apart.
        if a == b || is_close(wide_a, wide_b, tolerance) && (error > 0.0 || T::DTYPE.is_float()) {
            continue;
        }
        outcome.mismatches += 1;
        if outcome.differences.len() < LISTED {
            let (expected, actual) = (b.to_string(), a.to_string());
            outcome.differences.push(Difference { index: index_of(dims, position), expected, actual });
        }
    }
}

fn is_close(actual: f64, expected: f64, tolerance: Tolerance) -> bool {
    if expected.is_nan() {
        return actual.is_nan() || tolerance.nan == NanPolicy::Ignore;
    }
    if !expected.is_finite() || !actual.is_finite() {
        return actual == expected;
    }
    (actual - expected).abs() <= tolerance.atol + tolerance.rtol * expected.abs()
}

fn wide<T: Element>(value: T) -> f64 {
    let bits = value.to_bits64();
    match T::DTYPE {
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        DType::I8 => f64::from(bits as i8),
        DType::I16 => f64::from(bits as i16),
        DType::I32 => f64::from(bits as i32),
        DType::I64 => bits as i64 as f64,
        DType::U8 | DType::U16 | DType::U32 | DType::Bool => bits as f64,
    }
}

fn index_of(dims: &[i64], mut position: usize) -> Vec<i64> {
    let mut index = vec![0; dims.len()];
    for (at, extent) in index.iter_mut().zip(dims).rev() {
        let extent = *extent as usize;
        *at = (position % extent) as i64;
        position /= extent;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome<T: Element>(actual: Vec<T>, expected: Vec<T>, tolerance: Tolerance) -> Comparison {
        let of = |elements: Vec<T>| {
            let dims = [2, elements.len() as i64 / 2];
            DynamicTensor::from_vec(elements, &dims).unwrap()
        };
        compare("t", &of(actual), &of(expected), tolerance).unwrap()
    }

    #[test]
    fn special_values_are_close_to_themselves_alone() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let loose = Tolerance { rtol: 1.0, atol: 1e30, nan: NanPolicy::Equal };
        let values = vec![nan, inf, -inf, 0.0];
        assert!(outcome(values.clone(), vec![nan, inf, -inf, -0.0], loose).passed());
        let outcome1 = outcome(values, vec![0.0, -inf, 1.0, nan], loose);
        assert_eq!(outcome1.mismatches, 4);
        assert!(outcome(vec![1.0, 2.0], vec![nan, 2.0], Tolerance { nan: NanPolicy::Ignore, ..loose }).passed());
    }

    #[test]
    fn integers_are_compared_exactly() {
        let big = i64::MAX;
        assert_eq!(outcome(vec![big, 1], vec![big - 1, 1], Tolerance::of(DType::I64)).mismatches, 1);
        assert!(outcome(vec![3i32, 7], vec![4, 7], Tolerance { atol: 1.0, ..Tolerance::of(DType::I32) }).passed());
    }

    #[test]
    fn reports_say_where_and_how_many() {
        let (actual, expected) = (vec![0.5f32; 60], vec![0.0; 60]);
        let text = outcome(actual, expected, Tolerance::of(DType::F32)).to_string();
        assert!(
            text.starts_with(
                "t: DIFFERS, f32, 60 of 60 elements beyond rtol 1e-5, atol 1e-5; max error 5e-1 at [0, 0]"
            )
        );
        assert!(text.contains("\n  [0, 19]: 0.5, expected 0") && text.ends_with("\n  and 40 more"), "{text}");
    }

    #[test]
    fn other_types_and_extents_are_refused() {
        let a = DynamicTensor::zeros(DType::F32, &[2, 3]).unwrap();
        let text = |b: DynamicTensor| compare("y", &a, &b, Tolerance::of(DType::F32)).unwrap_err().to_string();
        assert_eq!(text(DynamicTensor::zeros(DType::F16, &[2, 3]).unwrap()), "`y` is f32, but f16 is expected");
        let other = DynamicTensor::zeros(DType::F32, &[3, 2]).unwrap();
        assert_eq!(text(other), "`y` has extents [2, 3], but [3, 2] is expected");
    }
}
