//! Several steps of the inner dimension at a time, for factors whose elements take 16 bits or fewer.
//!
//! Packed factors are then words of two or four elements, and what the micro-kernel does in a step is [`Op::PairDot`] or [`Op::QuadDot`]: the
//! blocks are those of other products with fewer steps. Where the steps do not fill the last word, B has zeros there.
//!
//! Sums of integers wrap, so that their order does not matter. Of four bytes, those of the left factor are unsigned: signed ones get 128
//! added, and sums begin with what that makes too much, which packing B finds for every column.
//!
//! A product of bf16 is exact in f32, and the instruction adds that of the upper halves first: with the earlier step there, sums are rounded
//! as everywhere else, but for one thing. The instruction takes subnormal numbers as zero. Packing finds the smallest magnitude in each
//! factor; where these show that no sum can be subnormal, the instruction is used, and otherwise arithmetic on the halves. A step that is
//! missing in A is a negative zero, so that the product does not change the sign of a sum that is one.
//!
//! [`Op::PairDot`]: crate::codegen::host::lir::Op::PairDot
//! [`Op::QuadDot`]: crate::codegen::host::lir::Op::QuadDot

mod join;
mod left;
mod right;

use super::pack::{Layout, Order};
use super::{I, KC, Kind, P};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Reduce, Type, Value};

/// What a word of a packed factor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// One element, in the accumulator's type.
    One,
    /// Two elements of 16 bits.
    Pairs,
    /// Four elements of 8 bits; those of the left factor are signed, and packed with 128 added, or not.
    Quads { raised: bool },
}

/// Added to every signed byte of a left factor.
const RAISED: i64 = 0x8080_8080;

impl Packing {
    /// How products of these factors are done.
    pub(super) fn of(target: Target, a: Layout, b: Layout) -> Packing {
        let is_byte = |factor: &Layout| factor.elem == Elem::I8;
        let is_short = |factor: &Layout| is_byte(factor) || factor.elem == Elem::I16 && factor.signed;
        let factors = [a, b];
        if target.byte_quads && factors.iter().all(is_byte) && b.signed {
            return Packing::Quads { raised: a.signed };
        }
        let pairs = match factors.map(|factor| factor.elem) {
            [Elem::BF16, Elem::BF16] => target.bf16_pairs,
            _ => target.integer_pairs && factors.iter().all(is_short),
        };
        if pairs { Packing::Pairs } else { Packing::One }
    }

    /// Elements of a word.
    pub(super) fn elements(self) -> i64 {
        match self {
            Packing::One => 1,
            Packing::Pairs => 2,
            Packing::Quads { .. } => 4,
        }
    }

    /// Steps of a block of the inner dimension: as many words for integers, whose sums may be of any length.
    pub(super) fn depth(self, acc: Elem) -> i64 {
        if acc == Elem::I32 { KC * self.elements() } else { KC }
    }

    /// The words of so many steps.
    pub(super) fn words(self, b: &mut Builder<'_>, depth: Value) -> Value {
        let up = b.index(self.elements() - 1);
        let depth = b.add(depth, up);
        self.whole_words(b, depth)
    }

    /// The words that so many steps fill.
    fn whole_words(self, b: &mut Builder<'_>, depth: Value) -> Value {
        let bits = b.index(i64::from(self.elements().ilog2()));
        b.lshr(depth, bits)
    }

    /// The rows of a panel of B of so many words.
    pub(super) fn panel(self, b: &mut Builder<'_>, words: Value) -> Value {
        let more = b.index(i64::from(self == Packing::Quads { raised: true }));
        b.add(words, more)
    }

    /// The part of a function's name that says so.
    fn name(self) -> &'static str {
        match self {
            Packing::One => "ones",
            Packing::Pairs => "pairs",
            Packing::Quads { raised: false } => "quads",
            Packing::Quads { raised: true } => "raised_quads",
        }
    }
}

/// What a step of the micro-kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// One multiplication and addition in this type.
    One(Elem),
    /// A pair, with sums of this type.
    Pair(Elem),
    /// A pair of bf16 whose subnormal sums count.
    ExactPair,
    /// Four bytes, where the sums begin with the first row of a panel of B or not.
    Quad { raised: bool },
}

impl Step {
    pub(super) fn of(kind: Kind) -> Step {
        match kind.packing {
            Packing::One => Step::One(kind.acc),
            Packing::Pairs => Step::Pair(kind.acc),
            Packing::Quads { raised } => Step::Quad { raised },
        }
    }

    /// The type of the sums.
    pub(super) fn acc(self) -> Elem {
        match self {
            Step::One(acc) | Step::Pair(acc) => acc,
            Step::ExactPair => Elem::F32,
            Step::Quad { .. } => Elem::I32,
        }
    }

    /// The type of what is packed.
    pub(super) fn word(self) -> Elem {
        if let Step::One(acc) = self { acc } else { Elem::I32 }
    }

    /// The part of a function's name that says so.
    pub(super) fn name(self) -> String {
        match self {
            Step::One(acc) => acc.to_string(),
            Step::Pair(acc) => format!("{acc}_pairs"),
            Step::ExactPair => "f32_exact_pairs".to_string(),
            Step::Quad { raised: false } => "i32_quads".to_string(),
            Step::Quad { raised: true } => "i32_raised_quads".to_string(),
        }
    }

    /// Whether a panel of B begins with what the sums begin with.
    pub(super) fn has_first_sums(self) -> bool {
        self == Step::Quad { raised: true }
    }

    /// Steps that the micro-kernel writes out; few where code is rarely run.
    pub(super) fn written_out(self) -> i64 {
        if self == Step::ExactPair { 1 } else { super::kernel::STEPS }
    }

    pub(super) fn mul_add(self, b: &mut Builder<'_>, x: Value, y: Value, sum: Value) -> Value {
        match self {
            Step::One(acc) => super::kernel::mul_add(b, acc, x, y, sum),
            Step::Pair(_) => b.pair_dot(x, y, sum),
            Step::Quad { .. } => b.quad_dot(x, y, sum),
            Step::ExactPair => {
                let (upper, sixteen) = (b.vint(Elem::I32, -0x1_0000), b.vint(Elem::I32, 16));
                let first = [x, y].map(|word| {
                    let bits = b.and(word, upper);
                    b.bitcast(bits, Elem::F32)
                });
                let second = [x, y].map(|word| {
                    let bits = b.shl(word, sixteen);
                    b.bitcast(bits, Elem::F32)
                });
                let sum = b.fma(first[0], first[1], sum);
                b.fma(second[0], second[1], sum)
            }
        }
    }
}

/// Bits of the magnitude of a bf16 in the upper half of a word, and the least one that is not zero.
const MAGNITUDE: i64 = 0x7fff_0000;
const LEAST: i64 = 0x1_0000;

/// The range of no elements: see [`narrow`].
fn whole_range(b: &mut Builder<'_>) -> Value {
    b.vint(Elem::I32, -1)
}

/// The range with these pairs of bf16 in it: the smallest of their magnitudes less one, which lets zeros count as the largest.
fn narrow(b: &mut Builder<'_>, range: Value, words: Value) -> Value {
    let (magnitude, least, sixteen) = (b.vint(Elem::I32, MAGNITUDE), b.vint(Elem::I32, LEAST), b.vint(Elem::I32, 16));
    let raised = b.shl(words, sixteen);
    [words, raised].into_iter().fold(range, |range, half| {
        let size = b.and(half, magnitude);
        let size = b.sub(size, least);
        b.umin(range, size)
    })
}

/// The smallest biased exponent of a factor, from the vector that [`narrow`] gave.
fn least_exponent(b: &mut Builder<'_>, range: Value) -> Value {
    let least = b.reduce_lanes(Reduce::Umin, range);
    let (sixteen, one, seven) = (b.int(Elem::I32, 16), b.int(Elem::I32, 1), b.int(Elem::I32, 7));
    let size = b.lshr(least, sixteen);
    let size = b.add(size, one);
    b.lshr(size, seven)
}

/// Whether a sum of products can be subnormal, given the smallest exponents of both factors: elements are multiples of their exponent less
/// 7, so that all sums are multiples of 2^-126 where the exponents add up to -112 or more. Subnormal elements count as well.
pub(super) fn may_be_subnormal(b: &mut Builder<'_>, x: Option<Value>, y: Option<Value>) -> Option<Value> {
    const BIAS: i64 = 127;
    let (x, y) = (x?, y?);
    let (zero, enough) = (b.int(Elem::I32, 0), b.int(Elem::I32, 2 * BIAS - 112));
    let least = b.umin(x, y);
    let (sum, is_subnormal) = (b.add(x, y), b.cmp(Cmp::Eq, least, zero));
    let is_small = b.ucmp(Cmp::Lt, sum, enough);
    Some(b.or(is_subnormal, is_small))
}

/// The range of what is packed, where that is asked for: one vector, or none.
type Range = Vec<Value>;

/// Packs a block of A; `args` = source, strides, rows, depth, where to. Gives the smallest exponent of bf16.
pub(super) fn pack_a(b: &mut Builder<'_>, kind: Kind, args: &[Value; 6]) -> Option<Value> {
    let of = kind.of_panels(b.target());
    let name = format!("gemm_pack_a_{}_{}{of}", kind.packing.name(), kind.a.name());
    helper(b, kind, &name, args, |b, p, range| left::pack(b, kind, p, &range))
}

/// Packs a block of B; `args` = source, strides, columns, depth, where to. Gives the smallest exponent of bf16.
pub(super) fn pack_b(b: &mut Builder<'_>, kind: Kind, args: &[Value; 6]) -> Option<Value> {
    let whole = if kind.known.whole_columns && kind.b.order() != Order::Columns { "_n" } else { "" };
    let name = format!("gemm_pack_b_{}_{}{whole}", kind.packing.name(), kind.b.name());
    helper(b, kind, &name, args, |b, p, range| right::pack(b, kind, p, range))
}

/// A function of the module that packs, and gives the smallest exponent of what it packed where that is asked for.
fn helper(
    b: &mut Builder<'_>,
    kind: Kind,
    name: &str,
    args: &[Value; 6],
    body: impl FnOnce(&mut Builder<'_>, &[Value], Range) -> Range,
) -> Option<Value> {
    let is_float = kind.acc == Elem::F32;
    let results: &[Type] = if is_float { &[Type::Scalar(Elem::I32)] } else { &[] };
    let given = b.call(name, &[P, I, I, I, I, P], results, args, |b, p| {
        let range = if is_float { vec![whole_range(b)] } else { Vec::new() };
        let range = body(b, p, range);
        range.iter().map(|&range| least_exponent(b, range)).collect()
    });
    given.first().copied()
}

/// What is done where the steps do not fill the last word: the body gets how many are left.
fn last(
    b: &mut Builder<'_>,
    packing: Packing,
    depth: Value,
    carried: Vec<Value>,
    body: impl FnOnce(&mut Builder<'_>, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let (zero, mask) = (b.index(0), b.index(packing.elements() - 1));
    let rest = b.and(depth, mask);
    let has_rest = b.cmp(Cmp::Ne, rest, zero);
    b.if_else(has_rest, |b| body(b, rest, &carried), |_| carried.clone())
}
