//! Element types, and the rounding modes of conversions between them.

use std::fmt;
use std::str::FromStr;

/// Element type of a scalar, tile or tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// One byte in memory, 0 or 1.
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    /// IEEE binary16; arithmetic is done in f32 and rounded back.
    F16,
    /// bfloat16; arithmetic is done in f32 and rounded back.
    BF16,
    F32,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [DType; 11] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::F16,
        DType::BF16,
        DType::F32,
    ];

    /// The Rust spelling, which is also the one in the IR text.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
        }
    }

    /// Size of one element in memory, in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 => 8,
        }
    }

    /// Size of one element in bits; 8 for `bool`, which is stored as a byte.
    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    /// `f16`, `bf16` or `f32`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32)
    }

    /// Any integer type; `bool` is none.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    /// A signed integer type.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// An unsigned integer type.
    pub const fn is_unsigned_integer(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32)
    }

    /// The type that `matmul` accumulates and returns for operands of this type: `f32` for floats, `i32` for integers.
    pub const fn accumulator(self) -> DType {
        if self.is_float() { DType::F32 } else { DType::I32 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        DType::ALL.into_iter().find(|d| d.name() == text).ok_or_else(|| UnknownName(text.to_owned()))
    }
}

/// A name that is none of the listed ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown name `{0}`")]
pub struct UnknownName(pub String);

/// Rounding of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    /// What Rust's `as` does: towards zero for float to integer, to nearest even between floats.
    None,
    /// To nearest, ties to even.
    Rint,
    /// To nearest, ties away from zero.
    Round,
    /// Towards negative infinity.
    Floor,
    /// Towards positive infinity.
    Ceil,
    /// Towards zero.
    Trunc,
    /// To the neighbour whose last bit is one, unless exact (round to odd).
    Odd,
}

impl Round {
    /// Every mode, in declaration order.
    pub const ALL: [Round; 7] =
        [Round::None, Round::Rint, Round::Round, Round::Floor, Round::Ceil, Round::Trunc, Round::Odd];

    /// The spelling in the IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Round::None => "none",
            Round::Rint => "rint",
            Round::Round => "round",
            Round::Floor => "floor",
            Round::Ceil => "ceil",
            Round::Trunc => "trunc",
            Round::Odd => "odd",
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Round {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Round::ALL.into_iter().find(|r| r.name() == text).ok_or_else(|| UnknownName(text.to_owned()))
    }
}
