//! Types of LIR values: scalars, pointers, and vectors of one native register of 32-bit lanes.
//!
//! A vector type names only its element. The number of lanes `W` is the target's (8 on AVX2), the same for every element type, so that
//! lane `i` of a mask, an `f32` vector and the `i8` vector it was loaded from all speak of the same element.

use std::fmt;

/// An element type. Integers carry no sign: the operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// A truth value; in vectors, a lane mask.
    I1,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer, also the type of every index.
    I64,
    /// IEEE half; storage only, convert to `F32` before computing.
    F16,
    /// bfloat16; storage only, convert to `F32` before computing.
    BF16,
    /// IEEE single.
    F32,
}

impl Elem {
    /// Every element type, for tables and parsers.
    pub const ALL: [Elem; 8] = [Elem::I1, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F16, Elem::BF16, Elem::F32];

    /// Width of the value in bits.
    pub fn bits(self) -> u32 {
        match self {
            Elem::I1 => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 | Elem::BF16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 => 64,
        }
    }

    /// Bytes of one element in memory.
    pub fn bytes(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// Whether arithmetic on it is floating-point.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16 | Elem::F32)
    }

    /// Whether it may only be loaded, stored and converted.
    pub fn is_storage_only(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16)
    }

    /// The name used in LIR text.
    pub fn name(self) -> &'static str {
        match self {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F16 => "f16",
            Elem::BF16 => "bf16",
            Elem::F32 => "f32",
        }
    }

    /// The element type of that name.
    pub fn from_name(name: &str) -> Option<Elem> {
        Elem::ALL.into_iter().find(|e| e.name() == name)
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of one LIR value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An address; what it points to is the business of each load and store.
    Ptr,
    /// One element.
    Scalar(Elem),
    /// One element in each of the target's `W` lanes.
    Vector(Elem),
}

impl Type {
    /// The index type.
    pub const INDEX: Type = Type::Scalar(Elem::I64);
    /// A scalar truth value.
    pub const BOOL: Type = Type::Scalar(Elem::I1);
    /// A lane mask.
    pub const MASK: Type = Type::Vector(Elem::I1);
    /// A scalar `f32`.
    pub const F32: Type = Type::Scalar(Elem::F32);
    /// A vector of `f32`.
    pub const VF32: Type = Type::Vector(Elem::F32);

    /// The element type; `None` for pointers.
    pub fn elem(self) -> Option<Elem> {
        match self {
            Type::Ptr => None,
            Type::Scalar(e) | Type::Vector(e) => Some(e),
        }
    }

    /// The same shape (scalar or vector) with another element; pointers stay pointers.
    pub fn with_elem(self, elem: Elem) -> Type {
        match self {
            Type::Ptr => Type::Ptr,
            Type::Scalar(_) => Type::Scalar(elem),
            Type::Vector(_) => Type::Vector(elem),
        }
    }

    /// Whether it has one element per lane.
    pub fn is_vector(self) -> bool {
        matches!(self, Type::Vector(_))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Ptr => f.write_str("ptr"),
            Type::Scalar(e) => write!(f, "{e}"),
            Type::Vector(e) => write!(f, "v<{e}>"),
        }
    }
}
