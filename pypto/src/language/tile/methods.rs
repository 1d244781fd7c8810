//! The operations that tiles and whole tensors share as methods, from one list. On a tensor, `x.exp()` is
//! `x.load_all().exp()`.

use super::{Operand, Tile, TileValue, clamped, concatenated, reshaped, sliced};
use crate::language::tensor::Tensor;
use crate::ops::OpKind;
use crate::ops::reference::{Element, Shape, bitcast, cast, elementwise, layout, permute, reduce};

pub use crate::ir::Round;

/// Methods of tiles and of tensors, from one list. The names stand in the call, not in the macro, so that editors find one
/// definition of each.
macro_rules! value_methods {
    ($kind:ident $(to $U:ty)?; $($list:tt)*) => {
        value_methods! { @$kind Tile, "x.load_all()", self, Self, $($U,)? $($list)* }
        value_methods! { @$kind Tensor, "x", self, &Self, $($U,)? $($list)* }
    };
    (@unary $Type:ident, $receiver:literal, $self:ident, $by:ty,
        $( $(#[doc = $doc:literal])* $name:ident = $kind:ident, $x:literal => $out:literal; )*) => {
        // `neg` and `not` stand beside the operators, for symmetry with the other operations.
        #[allow(clippy::should_implement_trait)]
        impl<T: Element, const R: usize> $Type<T, R> { $(
            $(#[doc = $doc])*
            #[doc = concat!("\n```\nuse pypto::prelude::*;\nlet x = Tensor::from_vec(vec!", $x, ", [1, 2]);\n",
                "assert_eq!(", $receiver, ".", stringify!($name), "().to_vec(), ", $out, ");\n```")]
            #[track_caller]
            pub fn $name($self: $by) -> Tile<T, R> {
                Tile::of(elementwise::unary(OpKind::$kind, &$self.operand()))
            }
        )* }
    };
    (@binary $Type:ident, $receiver:literal, $self:ident, $by:ty,
        $( $(#[doc = $doc:literal])* $name:ident = $kind:ident, $x:literal, $y:literal => $out:literal; )*) => {
        impl<T: Element, const R: usize> $Type<T, R> { $(
            $(#[doc = $doc])*
            #[doc = concat!("\n```\nuse pypto::prelude::*;\nlet x = Tensor::from_vec(vec!", $x, ", [1, 2]);\n",
                "assert_eq!(", $receiver, ".", stringify!($name), "(", $y, ").to_vec(), ", $out, ");\n```")]
            #[track_caller]
            pub fn $name<B: Operand<T, R>>($self: $by, other: B) -> Tile<T, R> {
                Tile::of(elementwise::binary(OpKind::$kind, &$self.operand(), &other.operand()))
            }
        )* }
    };
    (@compare $Type:ident, $receiver:literal, $self:ident, $by:ty,
        $( $(#[doc = $doc:literal])* $name:ident = $kind:ident, $x:literal, $y:literal => $out:literal; )*) => {
        impl<T: Element, const R: usize> $Type<T, R> { $(
            $(#[doc = $doc])*
            #[doc = concat!("\n```\nuse pypto::prelude::*;\nlet x = Tensor::from_vec(vec!", $x, ", [1, 2]);\n",
                "assert_eq!(", $receiver, ".", stringify!($name), "(", $y, ").to_vec(), ", $out, ");\n```")]
            #[track_caller]
            pub fn $name<B: Operand<T, R>>($self: $by, other: B) -> Tile<bool, R> {
                Tile::of(elementwise::compare(OpKind::$kind, &$self.operand(), &other.operand()))
            }
        )* }
    };
    (@reduce $Type:ident, $receiver:literal, $self:ident, $by:ty, $U:ty,
        $( $(#[doc = $doc:literal])* $name:ident = $kind:ident, $x:literal => $out:literal; )*) => {
        impl<T: Element, const R: usize> $Type<T, R> { $(
            $(#[doc = $doc])*
            #[doc = concat!("\n```\nuse pypto::prelude::*;\nlet x = Tensor::from_vec(vec!", $x, ", [2, 2]);\n",
                "assert_eq!(", $receiver, ".", stringify!($name), "().to_vec(), ", $out, ");\n```")]
            #[track_caller]
            pub fn $name($self: $by) -> Tile<$U, R> {
                Tile::of(reduce::reduce(OpKind::$kind, &$self.operand()))
            }
        )* }
    };
    (@other $Type:ident, $receiver:literal, $self:ident, $by:ty,
        $( $(#[doc = $doc:literal])* $name:ident [$($generic:tt)*] ($($argument:ident: $of:ty),*) -> $to:ty, $x:literal,
            $example:literal = |$value:ident| $body:expr; )*) => {
        impl<T: Element, const R: usize> $Type<T, R> { $(
            $(#[doc = $doc])*
            #[doc = concat!("\n```\nuse pypto::prelude::*;\nlet x = Tensor::from_vec(vec!", $x, ");\n",
                "assert_eq!(", $receiver, $example, ");\n```")]
            #[track_caller]
            pub fn $name<$($generic)*>($self: $by, $($argument: $of),*) -> $to {
                let $value = $self.operand();
                $body
            }
        )* }
    };
}

value_methods! { unary;
    /// Absolute value; the smallest integer stays.
    abs = Abs, "[-1.5f32, 2.0]" => "[1.5f32, 2.0]";
    /// `1 / x`. Floats.
    recip = Recip, "[2.0f32, -4.0]" => "[0.5f32, -0.25]";
    /// e to the power of x. Floats.
    exp = Exp, "[0.0f32, f32::NEG_INFINITY]" => "[1.0f32, 0.0]";
    /// 2 to the power of x; exact for integers. Floats.
    exp2 = Exp2, "[3.0f32, -1.0]" => "[8.0f32, 0.5]";
    /// e to the power of x, minus 1: accurate near 0, too. Floats.
    expm1 = Expm1, "[0.0f32, 1e-9]" => "[0.0f32, 1e-9]";
    /// Natural logarithm; NaN for negative numbers. Floats.
    log = Log, "[1.0f32, 0.0]" => "[0.0f32, f32::NEG_INFINITY]";
    /// Binary logarithm; exact for powers of two, NaN for negative numbers. Floats.
    log2 = Log2, "[8.0f32, 0.5]" => "[3.0f32, -1.0]";
    /// Natural logarithm of 1 + x, accurate near 0, too; NaN below -1. Floats.
    log1p = Log1p, "[0.0f32, 1e-9]" => "[0.0f32, 1e-9]";
    /// Square root, correctly rounded. Floats.
    sqrt = Sqrt, "[9.0f32, 2.25]" => "[3.0f32, 1.5]";
    /// `1 / sqrt(x)`: two correctly rounded operations. Floats.
    rsqrt = Rsqrt, "[4.0f32, 0.25]" => "[0.5f32, 2.0]";
    /// Hyperbolic tangent. Floats.
    tanh = Tanh, "[0.0f32, 50.0]" => "[0.0f32, 1.0]";
    /// Error function. Floats.
    erf = Erf, "[0.0f32, 50.0]" => "[0.0f32, 1.0]";
    /// `1 / (1 + exp(-x))`. Floats.
    sigmoid = Sigmoid, "[0.0f32, 200.0]" => "[0.5f32, 1.0]";
    /// Sine of an angle in radians, of any size. Floats.
    sin = Sin, "[0.0f32, -0.0]" => "[0.0f32, -0.0]";
    /// Cosine of an angle in radians, of any size. Floats.
    cos = Cos, "[0.0f32, -0.0]" => "[1.0f32, 1.0]";
    /// `max(x, 0)`; NaN stays. Signed types.
    relu = Relu, "[-3i32, 4]" => "[0i32, 4]";
    /// Largest integral value not above x. Floats.
    floor = Floor, "[1.5f32, -1.5]" => "[1.0f32, -2.0]";
    /// Smallest integral value not below x. Floats.
    ceil = Ceil, "[1.5f32, -1.5]" => "[2.0f32, -1.0]";
    /// The integral part: rounded towards zero. Floats.
    trunc = Trunc, "[1.5f32, -1.5]" => "[1.0f32, -1.0]";
    /// Nearest integral value; halves go away from zero, as Rust's `round`. Floats.
    round = Round, "[2.5f32, -0.5]" => "[3.0f32, -1.0]";
    /// Nearest integral value; halves go to the even one. Floats.
    round_ties_even = RoundTiesEven, "[2.5f32, -0.5]" => "[2.0f32, -0.0]";
    /// Negation; integers wrap. Signed types.
    neg = Neg, "[1i8, -128]" => "[-1i8, -128]";
    /// Bitwise not; logical for `bool`. Integers and `bool`.
    not = Not, "[true, false]" => "[false, true]";
}

value_methods! { binary;
    /// The larger of each pair; NaN if either is NaN.
    max = Max, "[1i32, 5]", "3" => "[3i32, 5]";
    /// The smaller of each pair; NaN if either is NaN.
    min = Min, "[1i32, 5]", "3" => "[1i32, 3]";
    /// To the power of the other, within 1.5 units in the last place; NaN for negative numbers to a power that is not integral.
    /// Floats.
    pow = Pow, "[9.0f32, 2.25]", "0.5" => "[3.0f32, 1.5]";
}

value_methods! { compare;
    /// Where the elements are equal.
    eq = CmpEq, "[1i32, 3]", "3" => "[false, true]";
    /// Where the elements differ; true where either is NaN.
    ne = CmpNe, "[1i32, 3]", "3" => "[true, false]";
    /// Where the element is less.
    lt = CmpLt, "[1i32, 3]", "3" => "[true, false]";
    /// Where the element is less or equal.
    le = CmpLe, "[1i32, 3]", "3" => "[true, true]";
    /// Where the element is greater.
    gt = CmpGt, "[1i32, 4]", "3" => "[false, true]";
    /// Where the element is greater or equal.
    ge = CmpGe, "[1i32, 3]", "3" => "[false, true]";
}

value_methods! { reduce to T;
    /// Sum of each row, `[.., M, N]` to `[.., M, 1]`; f16 and bf16 accumulate in f32, integers wrap.
    row_sum = RowSum, "[1i32, 2, 3, 4]" => "[3i32, 7]";
    /// Maximum of each row; NaN if it holds one.
    row_max = RowMax, "[1i32, 2, 3, 4]" => "[2i32, 4]";
    /// Minimum of each row; NaN if it holds one.
    row_min = RowMin, "[1i32, 2, 3, 4]" => "[1i32, 3]";
    /// Product of each row; f16 and bf16 accumulate in f32, integers wrap.
    row_prod = RowProd, "[1i32, 2, 3, 4]" => "[2i32, 12]";
    /// Sum of each column, `[.., M, N]` to `[.., 1, N]`, in order of the rows.
    col_sum = ColSum, "[1i32, 2, 3, 4]" => "[4i32, 6]";
    /// Maximum of each column; NaN if it holds one.
    col_max = ColMax, "[1i32, 2, 3, 4]" => "[3i32, 4]";
    /// Minimum of each column; NaN if it holds one.
    col_min = ColMin, "[1i32, 2, 3, 4]" => "[1i32, 2]";
    /// Product of each column.
    col_prod = ColProd, "[1i32, 2, 3, 4]" => "[3i32, 8]";
}

value_methods! { reduce to i32;
    /// Index of the first maximum of each row; a NaN counts as the maximum.
    row_argmax = RowArgmax, "[1i32, 2, 4, 3]" => "[1i32, 0]";
    /// Index of the first minimum of each row; a NaN counts as the minimum.
    row_argmin = RowArgmin, "[1i32, 2, 4, 3]" => "[0i32, 1]";
    /// Index of the first maximum of each column; a NaN counts as the maximum.
    col_argmax = ColArgmax, "[1i32, 2, 4, 2]" => "[1i32, 0]";
    /// Index of the first minimum of each column; a NaN counts as the minimum.
    col_argmin = ColArgmin, "[1i32, 2, 4, 2]" => "[0i32, 0]";
}

value_methods! { other;
    /// Conversion to another element type, as Rust's `as`: floats to integers towards zero and saturating.
    cast [U: Element] () -> Tile<U, R>, "[1.9f32, -1e9], [1, 2]", ".cast::<i16>().to_vec(), [1i16, i16::MIN]" =
        |x| Tile::of(cast::cast(&x, U::DTYPE, Round::None));
    /// Conversion to another element type with a rounding mode.
    cast_with [U: Element] (round: Round) -> Tile<U, R>, "[1.5f32, -1.5], [1, 2]",
        ".cast_with::<i32>(Round::Floor).to_vec(), [1i32, -2]" = |x| Tile::of(cast::cast(&x, U::DTYPE, round));
    /// `max(least)`, then `min(most)`; NaN stays.
    clamp [L: Operand<T, R>, M: Operand<T, R>] (least: L, most: M) -> Tile<T, R>, "[1i32, 5], [1, 2]",
        ".clamp(2, 4).to_vec(), [2i32, 4]" = |x| clamped(&x, &least.operand(), &most.operand());
    /// The bits of each element as another type of the same width; a NaN gives the bits of `NAN`.
    bitcast [U: Element] () -> Tile<U, R>, "[1.0f32, f32::NAN], [1, 2]",
        ".bitcast::<u32>().to_vec(), [0x3f80_0000u32, 0x7fc0_0000]" = |x| Tile::of(bitcast::bitcast(&x, U::DTYPE));
    /// Elements of each row by index: `[.., M, N]` and `[.., M, K]` give `[.., M, K]`. Leading extents of 1 repeat. An index
    /// outside of the valid part of a row stops the kernel.
    gather [V: TileValue<i32, R>] (index: V) -> Tile<T, R>, "[5i32, 6, 7], [1, 3]",
        ".gather(Tile::iota([1, 2], 1, 1)).to_vec(), [6i32, 7]" = |x| Tile::of(permute::gather(&x, &index.operand()));
    /// For each row the indices that put it in falling order; equal elements keep their order, a NaN counts as the
    /// largest. The first K columns are the indices of the K largest.
    row_argsort [] () -> Tile<i32, R>, "[5i32, 7, 6, 7], [1, 4]", ".row_argsort().to_vec(), [1, 3, 2, 0]" =
        |x| Tile::of(permute::row_argsort(&x));
    /// The last two dimensions exchanged.
    t [] () -> Tile<T, R>, "[1i32, 2, 3, 4], [2, 2]", ".t().to_vec(), [1i32, 3, 2, 4]" =
        |x| Tile::of(layout::transpose(&x));
    /// The same elements in row-major order under other extents. Every element must be valid.
    reshape [const S: usize] (shape: [i64; S]) -> Tile<T, S>, "[1i32, 2, 3, 4], [2, 2]", ".reshape([4, 1]).dim(0), 4" =
        |x| reshaped(x, shape);
    /// The part of extents `shape` at `offset`.
    slice [] (offset: [i64; R], shape: [i64; R]) -> Tile<T, R>, "[1i32, 2, 3, 4], [2, 2]",
        ".slice([0, 1], [2, 1]).to_vec(), [2i32, 4]" = |x| sliced(&x, offset, shape);
    /// This, then another, along `axis`. Both must be valid in full along it.
    concat [V: TileValue<T, R>] (other: V, axis: usize) -> Tile<T, R>, "[1i32, 2], [1, 2]",
        ".concat(&x, 1).to_vec(), [1i32, 2, 1, 2]" = |x| concatenated(&x, &other.operand(), axis);
    /// Extents of 1 repeated to those of `shape`.
    broadcast [] (shape: [i64; R]) -> Tile<T, R>, "[1i32, 2], [2, 1]", ".broadcast([2, 2]).to_vec(), [1i32, 1, 2, 2]" =
        |x| Tile::of(layout::broadcast_to(&x, Shape::from(shape)));
}
