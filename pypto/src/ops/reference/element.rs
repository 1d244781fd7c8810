//! The element types as Rust types, and the typed storage of an array.

use std::fmt::{Debug, Display};

use half::{bf16, f16};

use super::error::{Error, Result};
use super::shape::Shape;
use crate::ir::DType;

mod sealed {
    pub trait Sealed {}
}

/// An element type of tensors and tiles: `bool`, `i8`, `i16`, `i32`, `i64`, `u8`, `u16`, `u32`, `f16`, `bf16`, `f32`.
///
/// ```
/// use pypto::prelude::*;
/// fn name<T: Element>() -> String {
///     T::DTYPE.to_string()
/// }
/// assert_eq!(name::<bf16>(), "bf16");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a PyPTO element type",
    label = "not an element type",
    note = "element types are f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32 and bool"
)]
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + PartialOrd + Debug + Display + Send + Sync + 'static
{
    /// The type as data.
    const DTYPE: DType;
    /// What `matmul` accumulates and returns: `f32` for floats, `i32` for the rest.
    type Acc: Element;

    /// The bits of the value, zero-extended.
    #[doc(hidden)]
    fn to_bits64(self) -> u64;
    /// The value of the low bits; a `bool` is whether the low byte differs from 0.
    #[doc(hidden)]
    fn from_bits64(bits: u64) -> Self;
    /// Typed storage that holds the elements.
    #[doc(hidden)]
    fn wrap(elements: Vec<Self>) -> Data;
    /// The elements, if they are of this type.
    #[doc(hidden)]
    fn slice(data: &Data) -> Option<&[Self]>;
    /// The elements, if they are of this type.
    #[doc(hidden)]
    fn slice_mut(data: &mut Data) -> Option<&mut [Self]>;
}

macro_rules! elements {
    ($($t:ty, $variant:ident, $acc:ty, |$x:ident| $to:expr, |$bits:ident| $from:expr;)*) => {
        /// Elements of one type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Data { $( $variant(Vec<$t>), )* }

        impl Data {
            /// The element type.
            pub fn dtype(&self) -> DType {
                match self { $( Data::$variant(_) => DType::$variant, )* }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self { $( Data::$variant(v) => v.len(), )* }
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        $(
            impl sealed::Sealed for $t {}

            impl Element for $t {
                const DTYPE: DType = DType::$variant;
                type Acc = $acc;

                #[inline]
                fn to_bits64(self) -> u64 {
                    let $x = self;
                    $to
                }

                #[inline]
                fn from_bits64($bits: u64) -> Self {
                    $from
                }

                fn wrap(elements: Vec<Self>) -> Data {
                    Data::$variant(elements)
                }

                #[inline]
                fn slice(data: &Data) -> Option<&[Self]> {
                    match data {
                        Data::$variant(v) => Some(v),
                        _ => None,
                    }
                }

                #[inline]
                fn slice_mut(data: &mut Data) -> Option<&mut [Self]> {
                    match data {
                        Data::$variant(v) => Some(v),
                        _ => None,
                    }
                }
            }
        )*
    };
}

elements! {
    bool, Bool, i32, |x| u64::from(x), |bits| bits as u8 != 0;
    i8, I8, i32, |x| u64::from(x as u8), |bits| bits as i8;
    i16, I16, i32, |x| u64::from(x as u16), |bits| bits as i16;
    i32, I32, i32, |x| u64::from(x as u32), |bits| bits as i32;
    i64, I64, i32, |x| x as u64, |bits| bits as i64;
    u8, U8, i32, |x| u64::from(x), |bits| bits as u8;
    u16, U16, i32, |x| u64::from(x), |bits| bits as u16;
    u32, U32, i32, |x| u64::from(x), |bits| bits as u32;
    f16, F16, f32, |x| u64::from(x.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16, BF16, f32, |x| u64::from(x.to_bits()), |bits| bf16::from_bits(bits as u16);
    f32, F32, f32, |x| u64::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
}

/// Evaluates an expression with a type name bound to the Rust type of a [`DType`].
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use $crate::ir::DType as D;
        match $dtype {
            D::Bool => {
                type $T = bool;
                $body
            }
            D::I8 => {
                type $T = i8;
                $body
            }
            D::I16 => {
                type $T = i16;
                $body
            }
            D::I32 => {
                type $T = i32;
                $body
            }
            D::I64 => {
                type $T = i64;
                $body
            }
            D::U8 => {
                type $T = u8;
                $body
            }
            D::U16 => {
                type $T = u16;
                $body
            }
            D::U32 => {
                type $T = u32;
                $body
            }
            D::F16 => {
                type $T = half::f16;
                $body
            }
            D::BF16 => {
                type $T = half::bf16;
                $body
            }
            D::F32 => {
                type $T = f32;
                $body
            }
        }
    }};
}
pub(crate) use with_element;

/// `count` zeros, or an error where memory does not suffice.
pub fn zeros<T: Element>(shape: Shape, count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| Error::TooLarge(shape))?;
    elements.resize(count, T::default());
    Ok(elements)
}
