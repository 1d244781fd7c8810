//! Two steps of the inner dimension at a time, for factors whose elements take 16 bits or fewer.
//!
//! Packed factors are then words of two elements, and what the micro-kernel does in a step is [`Op::PairDot`]: the blocks are those of other
//! products with half as many steps. Sums of integers wrap, so that their order does not matter. A product of bf16 is exact in f32, and the
//! instruction adds that of the upper halves first: with the earlier step there, sums are rounded as everywhere else, but for one thing.
//! The instruction takes subnormal numbers as zero. Packing finds the smallest magnitude in each factor; where these show that no sum can be
//! subnormal, the instruction is used, and otherwise arithmetic on the halves.
//!
//! Where the number of steps is odd, the last word has a zero for the step that is missing; in A a negative one, so that the product does not
//! change the sign of a sum that is a negative zero.
//!
//! [`Op::PairDot`]: crate::codegen::host::lir::Op::PairDot

mod left;
mod right;
mod words;

use super::pack::{Layout, Order};
use super::{I, Kind, P};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Builder, Cmp, Elem, Reduce, Type, Value};

/// Whether products of these factors are done in pairs.
pub(super) fn fits(target: Target, a: Layout, b: Layout) -> bool {
    let is_short = |factor: &Layout| factor.elem == Elem::I8 || factor.elem == Elem::I16 && factor.signed;
    match [a.elem, b.elem] {
        [Elem::BF16, Elem::BF16] => target.bf16_pairs,
        _ => target.integer_pairs && [a, b].iter().all(is_short),
    }
}

/// The pairs of so many steps.
pub(super) fn count(b: &mut Builder<'_>, depth: Value) -> Value {
    let one = b.index(1);
    let up = b.add(depth, one);
    b.lshr(up, one)
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
}

impl Step {
    pub(super) fn of(kind: Kind) -> Step {
        if kind.pairs { Step::Pair(kind.acc) } else { Step::One(kind.acc) }
    }

    /// The type of the sums.
    pub(super) fn acc(self) -> Elem {
        match self {
            Step::One(acc) | Step::Pair(acc) => acc,
            Step::ExactPair => Elem::F32,
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
        }
    }

    /// Steps that the micro-kernel writes out; few where code is rarely run.
    pub(super) fn written_out(self) -> i64 {
        if self == Step::ExactPair { 1 } else { super::kernel::STEPS }
    }

    pub(super) fn mul_add(self, b: &mut Builder<'_>, x: Value, y: Value, sum: Value) -> Value {
        match self {
            Step::One(acc) => super::kernel::mul_add(b, acc, x, y, sum),
            Step::Pair(_) => b.pair_dot(x, y, sum),
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
    let name = format!("gemm_pack_a_pairs_{}", kind.a.name());
    helper(b, kind, &name, args, |b, p, range| left::pack(b, kind, p, &range))
}

/// Packs a block of B; `args` = source, strides, columns, depth, where to. Gives the smallest exponent of bf16.
pub(super) fn pack_b(b: &mut Builder<'_>, kind: Kind, args: &[Value; 6]) -> Option<Value> {
    let whole = if kind.known.whole_columns && kind.b.order() != Order::Columns { "_n" } else { "" };
    let name = format!("gemm_pack_b_pairs_{}{whole}", kind.b.name());
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

/// What is done where the number of steps is odd.
fn last(
    b: &mut Builder<'_>,
    depth: Value,
    range: Range,
    body: impl FnOnce(&mut Builder<'_>, &[Value]) -> Range,
) -> Range {
    let (zero, one) = (b.index(0), b.index(1));
    let odd = b.and(depth, one);
    let is_odd = b.cmp(Cmp::Ne, odd, zero);
    b.if_else(is_odd, |b| body(b, &range), |_| range.clone())
}

fn whole_pairs(b: &mut Builder<'_>, depth: Value) -> Value {
    let one = b.index(1);
    b.lshr(depth, one)
}

fn with(b: &mut Builder<'_>, range: &[Value], words: Value) -> Range {
    range.iter().map(|&range| narrow(b, range, words)).collect()
}
