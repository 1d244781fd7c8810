//! The operations of LIR and their mnemonics.
//!
//! Each operation takes values only; whatever is not a value (a lane number, a callee) is part of the operation. The mnemonic is the whole
//! printed form of an operation, so one table serves the printer and the parser.

use super::types::Elem;

/// Two operands of one type, a result of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bin {
    /// Sum; integers wrap.
    Add,
    /// Difference; integers wrap.
    Sub,
    /// Product; integers wrap.
    Mul,
    /// Floating-point quotient.
    Div,
    /// Signed quotient, truncating; the divisor must not be 0 nor the quotient overflow.
    Sdiv,
    /// Unsigned quotient; the divisor must not be 0.
    Udiv,
    /// Signed remainder with the sign of the dividend; conditions as `Sdiv`.
    Srem,
    /// Unsigned remainder; the divisor must not be 0.
    Urem,
    /// Smaller (floats: NaN if either is NaN, the first operand on ties; integers: signed).
    Min,
    /// Larger (floats: NaN if either is NaN, the first operand on ties; integers: signed).
    Max,
    /// Smaller of unsigned integers.
    Umin,
    /// Larger of unsigned integers.
    Umax,
    /// Smaller of 64-bit integers whose upper 12 bits are those of 1.0: floats order as they do.
    PairMin,
    /// Larger of such integers.
    PairMax,
    /// The first times two to the power of the second, a vector of integral f32, rounded once; for targets that have it.
    Scale,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left; the amount is taken modulo the width.
    Shl,
    /// Arithmetic shift right; the amount is taken modulo the width.
    Ashr,
    /// Logical shift right; the amount is taken modulo the width.
    Lshr,
}

/// Where a line is fetched to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheLevel {
    /// The nearest cache.
    First,
    /// The one behind it, where lines that are at distances of powers of two do not push each other out.
    Second,
}

/// One operand, a result of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Un {
    /// Negation: sign flip for floats, wrapping for integers.
    Neg,
    /// Magnitude: sign cleared for floats, wrapping for signed integers.
    Abs,
    /// IEEE square root (f32).
    Sqrt,
    /// Bitwise complement.
    Not,
    /// Number of zeros below the lowest bit that is set; the width of 0.
    TrailingZeros,
    /// To integral, ties to even (f32).
    Rint,
    /// Down to integral (f32).
    Floor,
    /// Up to integral (f32).
    Ceil,
    /// Towards zero to integral (f32).
    Trunc,
}

/// Comparison; floats are ordered, except `Ne`, which is true for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Conversions between element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cvt {
    /// Integer to narrower integer: the low bits.
    Narrow,
    /// Integer to wider integer with the sign.
    Sext,
    /// Integer to wider integer with zeros; also from `i1` (0 or 1).
    Zext,
    /// Signed integer to f32, ties to even.
    FromSigned,
    /// Unsigned integer to f32, ties to even.
    FromUnsigned,
    /// f32 to signed integer: towards zero, saturating, NaN to 0.
    ToSigned,
    /// f32 to unsigned integer: towards zero, saturating, NaN to 0.
    ToUnsigned,
    /// f16 or bf16 to f32, exact.
    Widen,
    /// f32 to f16 or bf16, ties to even.
    Round,
}

/// Reduction over the lanes of a vector by halves: `lane[i] op lane[i + h]` for h = W/2, .., 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Maximum as [`Bin::Max`].
    Max,
    /// Minimum as [`Bin::Min`].
    Min,
    /// Unsigned maximum.
    Umax,
    /// Unsigned minimum.
    Umin,
}

/// Shape of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Access {
    /// An operand gives the distance between lanes, in elements (otherwise 1).
    pub strided: bool,
    /// The last operand is a lane mask: masked-off lanes are not touched and load as 0.
    pub masked: bool,
    /// Each element is several of a narrower type: the address may be that of any of them.
    pub loose: bool,
}

/// An operation. Operands in order are given for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `(a, b)`.
    Bin(Bin),
    /// `(a)`.
    Un(Un),
    /// `(a, b, c)`: a * b + c, one rounding where the target has the instruction.
    Fma,
    /// `(a, ...)`: the [`Bin::Min`] or [`Bin::Max`] of all, vectors of `f32`; NaN is looked for at once.
    Extreme(Bin),
    /// `(a, b, c)`: the products of both 16-bit halves of a and b, vectors of `i32`, added to c. Signed integers where c is `i32`, wrapping;
    /// bf16 where it is `f32`, the upper halves first and with one rounding for each. What is subnormal may count as zero there.
    PairDot,
    /// `(a, b, c)`: the products of the four bytes of a, unsigned, and of b, signed, added to c; vectors of `i32`, wrapping.
    QuadDot,
    /// `(a, b)`: signed integers or floats; result `i1` or a mask.
    Cmp(Cmp),
    /// `(a, b)`: unsigned integers; result `i1` or a mask.
    Ucmp(Cmp),
    /// `(condition, a, b)`: a where the condition holds; the condition may be scalar for vectors.
    Select,
    /// `(a)`.
    Cvt(Cvt),
    /// `(a)`: same bits, another type of the same width.
    Bitcast,
    /// `(scalar)`: in every lane.
    Splat,
    /// `()`: lane numbers 0, 1, ...
    Iota,
    /// `(vector)`: one lane.
    Extract(u32),
    /// `(vector)`: a scalar.
    Reduce(Reduce),
    /// `(mask)`: whether any lane is set.
    Any,
    /// `(mask)`: bit i of the integer (i64) is lane i.
    MaskBits,
    /// `(vector)`: lane i of the result is lane `i ^ n`.
    Swap(u32),
    /// `(remaining)`: the mask of lanes with number below `remaining` (i64).
    TailMask,
    /// `(W vectors of 32-bit elements)`: W results, lane j of result i = lane i of operand j.
    Transpose,
    /// `(ptr, index)`: the address `index` elements further.
    Addr(Elem),
    /// `(ptr, index[, stride][, mask])`.
    Load(Access),
    /// `(value, ptr, index[, stride][, mask])`.
    Store(Access),
    /// `(ptr, index)` in bytes: fetch into a cache.
    Prefetch(CacheLevel),
    /// `(condition, status, value...)`: stores the site number to `status`, the scalars from 16 bytes behind it on, 8 bytes each, and
    /// returns when the condition holds.
    Fail(u32),
    /// `(words, status)`: calls what takes reports, whose address lies 8 bytes behind `status`, with the place's number.
    Report(u32),
    /// Arguments of a helper of the same module.
    Call(String),
    /// `(lo, hi, step, init..)`; the block has `(index, carried..)` and yields the next carried values.
    For,
    /// `(condition)`; two blocks that yield the results.
    If,
    /// `(init..)`; block 0 has `(carried..)` and yields the condition, block 1 sees them too and yields the next carried values.
    While,
}

macro_rules! mnemonics {
    ($ty:ident: $($variant:ident $name:literal),* $(,)?) => {
        impl $ty {
            /// Every variant, with its mnemonic.
            pub const TABLE: &'static [($ty, &'static str)] = &[$(($ty::$variant, $name)),*];

            /// The name in LIR text.
            pub fn mnemonic(self) -> &'static str {
                match self { $($ty::$variant => $name),* }
            }

            fn from_mnemonic(name: &str) -> Option<$ty> {
                match name { $($name => Some($ty::$variant),)* _ => None }
            }
        }
    };
}

mnemonics!(Bin: Add "add", Sub "sub", Mul "mul", Div "div", Sdiv "sdiv", Udiv "udiv", Srem "srem", Urem "urem", Min "min", Max "max",
    Umin "umin", Umax "umax", PairMin "pair_min", PairMax "pair_max", Scale "scale", And "and", Or "or", Xor "xor", Shl "shl", Ashr "ashr", Lshr "lshr");
mnemonics!(Un: Neg "neg", Abs "abs", Sqrt "sqrt", Not "not", TrailingZeros "trailing_zeros", Rint "rint", Floor "floor", Ceil "ceil", Trunc "trunc");
mnemonics!(Cmp: Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge");
mnemonics!(Cvt: Narrow "narrow", Sext "sext", Zext "zext", FromSigned "from_signed", FromUnsigned "from_unsigned",
    ToSigned "to_signed", ToUnsigned "to_unsigned", Widen "widen", Round "round");
mnemonics!(Reduce: Add "add", Mul "mul", Max "max", Min "min", Umax "umax", Umin "umin");

impl Reduce {
    /// The operation applied to two partial results.
    pub fn bin(self) -> Bin {
        match self {
            Reduce::Add => Bin::Add,
            Reduce::Mul => Bin::Mul,
            Reduce::Max => Bin::Max,
            Reduce::Min => Bin::Min,
            Reduce::Umax => Bin::Umax,
            Reduce::Umin => Bin::Umin,
        }
    }
}

impl Access {
    fn suffix(self) -> String {
        let part = |is_set: bool, name: &'static str| if is_set { name } else { "" };
        [part(self.loose, ".loose"), part(self.strided, ".stride"), part(self.masked, ".mask")].concat()
    }

    fn from_suffix(suffix: &str) -> Option<Access> {
        let mut parts = suffix.split('.').skip(1).peekable();
        let mut has = |name: &str| parts.next_if_eq(&name).is_some();
        let access = Access { loose: has("loose"), strided: has("stride"), masked: has("mask") };
        parts.next().is_none().then_some(access)
    }
}

impl Op {
    /// The printed form of the operation.
    pub fn mnemonic(&self) -> String {
        match self {
            Op::Bin(b) => b.mnemonic().into(),
            Op::Un(u) => u.mnemonic().into(),
            Op::Fma => "fma".into(),
            Op::Extreme(b) => format!("extreme.{}", b.mnemonic()),
            Op::PairDot => "pair_dot".into(),
            Op::QuadDot => "quad_dot".into(),
            Op::Cmp(c) => format!("cmp.{}", c.mnemonic()),
            Op::Ucmp(c) => format!("ucmp.{}", c.mnemonic()),
            Op::Select => "select".into(),
            Op::Cvt(c) => format!("cvt.{}", c.mnemonic()),
            Op::Bitcast => "bitcast".into(),
            Op::Splat => "splat".into(),
            Op::Iota => "iota".into(),
            Op::Extract(lane) => format!("extract.{lane}"),
            Op::Reduce(r) => format!("reduce.{}", r.mnemonic()),
            Op::Any => "any".into(),
            Op::MaskBits => "mask_bits".into(),
            Op::Swap(distance) => format!("swap.{distance}"),
            Op::TailMask => "tail_mask".into(),
            Op::Transpose => "transpose".into(),
            Op::Addr(e) => format!("addr.{e}"),
            Op::Load(a) => format!("load{}", a.suffix()),
            Op::Store(a) => format!("store{}", a.suffix()),
            Op::Prefetch(CacheLevel::First) => "prefetch".into(),
            Op::Prefetch(CacheLevel::Second) => "prefetch.second".into(),
            Op::Fail(site) => format!("fail.{site}"),
            Op::Report(site) => format!("report.{site}"),
            Op::Call(name) => format!("call.{name}"),
            Op::For => "for".into(),
            Op::If => "if".into(),
            Op::While => "while".into(),
        }
    }

    /// The operation of that printed form.
    pub fn from_mnemonic(text: &str) -> Option<Op> {
        if let Some(b) = Bin::from_mnemonic(text) {
            return Some(Op::Bin(b));
        }
        if let Some(u) = Un::from_mnemonic(text) {
            return Some(Op::Un(u));
        }
        let (head, tail) = text.split_once('.').unwrap_or((text, ""));
        let suffix = &text[head.len()..];
        Some(match head {
            "fma" => Op::Fma,
            "extreme" => Op::Extreme(Bin::from_mnemonic(tail)?),
            "pair_dot" => Op::PairDot,
            "quad_dot" => Op::QuadDot,
            "cmp" => Op::Cmp(Cmp::from_mnemonic(tail)?),
            "ucmp" => Op::Ucmp(Cmp::from_mnemonic(tail)?),
            "select" => Op::Select,
            "cvt" => Op::Cvt(Cvt::from_mnemonic(tail)?),
            "bitcast" => Op::Bitcast,
            "splat" => Op::Splat,
            "iota" => Op::Iota,
            "extract" => Op::Extract(tail.parse().ok()?),
            "reduce" => Op::Reduce(Reduce::from_mnemonic(tail)?),
            "any" => Op::Any,
            "mask_bits" => Op::MaskBits,
            "swap" => Op::Swap(tail.parse().ok()?),
            "tail_mask" => Op::TailMask,
            "transpose" => Op::Transpose,
            "addr" => Op::Addr(Elem::from_name(tail)?),
            "load" => Op::Load(Access::from_suffix(suffix)?),
            "store" => Op::Store(Access::from_suffix(suffix)?),
            "prefetch" if tail.is_empty() => Op::Prefetch(CacheLevel::First),
            "prefetch" if tail == "second" => Op::Prefetch(CacheLevel::Second),
            "fail" => Op::Fail(tail.parse().ok()?),
            "report" => Op::Report(tail.parse().ok()?),
            "call" => Op::Call(tail.into()),
            "for" => Op::For,
            "if" => Op::If,
            "while" => Op::While,
            _ => return None,
        })
    }

    /// Whether equal operands give equal results and nothing else happens, so that one computation may serve several uses.
    pub fn is_pure(&self) -> bool {
        !matches!(
            self,
            Op::Load(_)
                | Op::Store(_)
                | Op::Prefetch(_)
                | Op::Fail(_)
                | Op::Report(_)
                | Op::Call(_)
                | Op::For
                | Op::If
                | Op::While
                | Op::Transpose
        )
    }
}
