//! Values of the reference semantics: [`Array`], which a tile is, and [`Scalar`].

use super::element::{Data, Element, with_element, zeros};
use super::error::{Error, Result};
use super::region::{Row, Rows};
use super::shape::Shape;
use crate::ir::DType;

/// A tile's value: row-major elements of the physical extents, of which the leading `valid` of each dimension count.
///
/// Invariants: `data.len()` is the product of `dims`, and `0 <= valid <= dims`.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub dims: Shape,
    pub valid: Shape,
    pub data: Data,
}

impl Array {
    /// Zeros, all valid.
    pub fn zeros(dtype: DType, dims: Shape) -> Result<Array> {
        let count = dims.count()?;
        let data = with_element!(dtype, T => T::wrap(zeros::<T>(dims, count)?));
        Ok(Array { dims, valid: dims, data })
    }

    /// The elements in row-major order, all valid; `elements.len()` must be the product of `dims`.
    pub fn from_vec<T: Element>(elements: Vec<T>, dims: Shape) -> Array {
        debug_assert_eq!(dims.count(), Ok(elements.len()));
        Array { dims, valid: dims, data: T::wrap(elements) }
    }

    /// A scalar as an array without dimensions, which broadcasts against every other.
    pub fn scalar(value: Scalar) -> Array {
        let data = with_element!(value.dtype, T => T::wrap(vec![value.get::<T>()]));
        Array { dims: Shape::scalar(), valid: Shape::scalar(), data }
    }

    /// The same elements with another valid extent, `0 <= valid <= dims`.
    pub fn with_valid(mut self, valid: Shape) -> Array {
        self.valid = valid;
        self
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// The elements. The caller has matched the type: another one gives no elements.
    #[inline]
    pub fn elements<T: Element>(&self) -> &[T] {
        debug_assert_eq!(T::DTYPE, self.dtype());
        T::slice(&self.data).unwrap_or(&[])
    }

    /// The elements, to change. As [`Array::elements`].
    #[inline]
    pub fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        debug_assert_eq!(T::DTYPE, self.dtype());
        T::slice_mut(&mut self.data).unwrap_or(&mut [])
    }

    /// Whether every element counts.
    pub fn is_full(&self) -> bool {
        self.dims == self.valid
    }

    /// The element at an index inside the physical extents.
    pub fn get(&self, index: &[i64]) -> Result<Scalar> {
        let position = self.position(index)?;
        Ok(with_element!(self.dtype(), T => Scalar::new(self.elements::<T>()[position])))
    }

    fn position(&self, index: &[i64]) -> Result<usize> {
        if index.len() != self.dims.len() {
            return Err(Error::Rank { op: "extract", a: self.dims, b: Shape::new(index) });
        }
        let mut position = 0;
        for (index, extent) in index.iter().zip(self.dims.iter()) {
            if !(0..*extent).contains(index) {
                return Err(Error::Index { index: *index, extent: *extent });
            }
            position = position * extent + index;
        }
        Ok(position as usize)
    }

    /// The valid elements in row-major order.
    pub fn valid_elements<T: Element>(&self) -> Vec<T> {
        let elements = self.elements::<T>();
        if self.is_full() {
            return elements.to_vec();
        }
        let mut result = Vec::new();
        let strides = self.dims.row_major_strides();
        for Row { starts: [start], len, steps: [step] } in Rows::new(self.valid, [strides]) {
            result.extend((0..len).map(|i| elements[start + i * step]));
        }
        result
    }
}

/// One element with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub dtype: DType,
    /// The bits of the value, zero-extended.
    pub bits: u64,
}

impl Scalar {
    /// A value with its type.
    #[inline]
    pub fn new<T: Element>(value: T) -> Scalar {
        Scalar { dtype: T::DTYPE, bits: value.to_bits64() }
    }

    /// The value as a `T`, whose type the caller has matched.
    #[inline]
    pub fn get<T: Element>(self) -> T {
        debug_assert_eq!(T::DTYPE, self.dtype);
        T::from_bits64(self.bits)
    }

    /// The value as an index, where it is an integer or a `bool`.
    #[inline]
    pub fn index(self) -> Option<i64> {
        Some(match self.dtype {
            DType::I64 => self.bits as i64,
            DType::I32 => i64::from(self.bits as i32),
            DType::I16 => i64::from(self.bits as i16),
            DType::I8 => i64::from(self.bits as i8),
            DType::U8 | DType::U16 | DType::U32 | DType::Bool => self.bits as i64,
            DType::F16 | DType::BF16 | DType::F32 => return None,
        })
    }

    /// An integer constant of any type, as the front end writes it: wrapped, or rounded to a float.
    pub fn from_int(value: i64, dtype: DType) -> Scalar {
        match dtype {
            DType::F16 | DType::BF16 | DType::F32 => Scalar::from_float(value as f64, dtype),
            DType::Bool => Scalar::new(value != 0),
            _ => with_element!(dtype, T => Scalar::new(T::from_bits64(value as u64))),
        }
    }

    /// A float constant of any type, rounded once.
    pub fn from_float(value: f64, dtype: DType) -> Scalar {
        match dtype {
            DType::F16 => Scalar::new(half::f16::from_f64(value)),
            DType::BF16 => Scalar::new(half::bf16::from_f64(value)),
            DType::F32 => Scalar::new(value as f32),
            DType::Bool => Scalar::new(value != 0.0),
            _ => Scalar::from_int(value as i64, dtype),
        }
    }
}
