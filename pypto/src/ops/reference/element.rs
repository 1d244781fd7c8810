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
    /// The elements, taken over, if they are of this type.
    #[doc(hidden)]
    fn unwrap(data: Data) -> Option<Vec<Self>>;
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

                fn unwrap(data: Data) -> Option<Vec<Self>> {
                    match data {
                        Data::$variant(v) => Some(v),
                        _ => None,
                    }
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

/// A `match` over data types in which each arm binds a type name to its Rust type and evaluates the same expression.
macro_rules! match_dtype {
    ($dtype:expr, $T:ident => $body:expr, [$($name:ident = $rust:ty),+] $(, else $other:expr)?) => {
        match $dtype {
            $($crate::ir::DType::$name => {
                type $T = $rust;
                $body
            })+
            $(_ => $other,)?
        }
    };
}
pub(crate) use match_dtype;

/// Evaluates an expression with a type name bound to the Rust type of a [`DType`].
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::ops::reference::element::match_dtype!($dtype, $T => $body, [
            Bool = bool, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32,
            F16 = half::f16, BF16 = half::bf16, F32 = f32
        ])
    };
}
pub(crate) use with_element;

/// `count` zeros, or an error where memory does not suffice.
pub fn zeros<T: Element>(shape: Shape, count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| Error::TooLarge(shape))?;
    elements.resize(count, T::default());
    Ok(elements)
}
