//! What is known of index scalars: a range, a divisor, and a value that they stay below.
//!
//! Facts fold bounds at specialization: with `i` in `0..1024` by steps of 64, `min(64, 1024 - i)` is 64. Every fact is
//! conservative: where arithmetic could wrap, nothing is known.

use super::nodes::ValueId;
use crate::ops::OpKind;

/// What is known of an `i64` scalar `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// `lo <= x`
    pub lo: i64,
    /// `x <= hi`
    pub hi: i64,
    /// `x` is a multiple of it; 0 for the constant 0.
    pub multiple: i64,
    /// `x` is less than this value.
    pub below: Option<ValueId>,
}

/// An extent that a machine can address; bounds facts about extents so that sums of a few do not wrap.
pub const LARGEST_EXTENT: i64 = 1 << 48;

impl Fact {
    /// Nothing is known.
    pub const ANY: Fact = Fact { lo: i64::MIN, hi: i64::MAX, multiple: 1, below: None };

    /// A tensor's extent.
    pub const EXTENT: Fact = Fact { lo: 0, hi: LARGEST_EXTENT, multiple: 1, below: None };

    /// A known value.
    pub const fn constant(n: i64) -> Fact {
        Fact { lo: n, hi: n, multiple: n.saturating_abs(), below: None }
    }

    /// A range.
    pub const fn range(lo: i64, hi: i64) -> Fact {
        Fact { lo, hi, multiple: 1, below: None }
    }

    /// The value, where the range has one element.
    pub fn as_constant(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether the value is a multiple of `n`.
    pub fn is_multiple_of(self, n: i64) -> bool {
        n != 0 && self.multiple % n == 0
    }

    /// The index of a loop over `lower..upper` by steps of `step`, inside the loop's body.
    pub fn loop_index(lower: Fact, upper: Fact, step: Fact, upper_value: ValueId) -> Fact {
        let multiple = gcd(lower.multiple, step.multiple).max(1);
        let mut hi = upper.hi.saturating_sub(1);
        if let (Some(lo), Some(end), Some(by)) = (lower.as_constant(), upper.as_constant(), step.as_constant())
            && by > 0
            && lo < end
            && let Some(span) = end.checked_sub(1).and_then(|last| last.checked_sub(lo))
        {
            hi = lo + span / by * by;
        }
        // The body of a loop without iterations may be assumed to be anything; keep the range well formed.
        Fact { lo: lower.lo, hi: hi.max(lower.lo), multiple, below: Some(upper_value) }
    }

    /// What holds of a value that is one or the other.
    pub fn join(self, other: Fact) -> Fact {
        Fact {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
            multiple: gcd(self.multiple, other.multiple),
            below: self.below.filter(|b| other.below == Some(*b)),
        }
    }

    /// The result of a binary operation on `i64` scalars `a` and `b`.
    pub fn binary(kind: OpKind, (a, x): (ValueId, Fact), (b, y): (ValueId, Fact)) -> Fact {
        match kind {
            OpKind::Add => interval([i128::from(x.lo) + i128::from(y.lo), i128::from(x.hi) + i128::from(y.hi)])
                .with_multiple(gcd(x.multiple, y.multiple)),
            OpKind::Sub => difference((a, x), (b, y)),
            OpKind::Mul => product(x, y),
            OpKind::Min => Fact {
                lo: x.lo.min(y.lo),
                hi: x.hi.min(y.hi),
                multiple: gcd(x.multiple, y.multiple),
                below: x.below.or(y.below),
            },
            OpKind::Max => Fact {
                lo: x.lo.max(y.lo),
                hi: x.hi.max(y.hi),
                multiple: gcd(x.multiple, y.multiple),
                below: x.below.filter(|v| y.below == Some(*v)),
            },
            OpKind::Div => quotient(x, y),
            OpKind::Rem => remainder(x, y),
            _ => Fact::ANY,
        }
    }

    /// The result of a comparison of `i64` scalars, where the facts decide it.
    pub fn compare(kind: OpKind, (a, x): (ValueId, Fact), (b, y): (ValueId, Fact)) -> Option<bool> {
        let less = |(a, x): (ValueId, Fact), (b, y): (ValueId, Fact)| {
            if x.hi < y.lo || x.below == Some(b) {
                Some(true)
            } else if x.lo >= y.hi || a == b || y.below == Some(a) {
                Some(false)
            } else {
                None
            }
        };
        match kind {
            OpKind::CmpLt => less((a, x), (b, y)),
            OpKind::CmpGt => less((b, y), (a, x)),
            OpKind::CmpGe => less((a, x), (b, y)).map(|l| !l),
            OpKind::CmpLe => less((b, y), (a, x)).map(|l| !l),
            OpKind::CmpEq | OpKind::CmpNe => {
                let equal = if a == b || (x.as_constant().is_some() && x.as_constant() == y.as_constant()) {
                    Some(true)
                } else if less((a, x), (b, y)) == Some(true) || less((b, y), (a, x)) == Some(true) {
                    Some(false)
                } else {
                    None
                };
                equal.map(|e| e == (kind == OpKind::CmpEq))
            }
            _ => None,
        }
    }

    fn with_multiple(self, multiple: i64) -> Fact {
        // A range of everything means that the operation may have wrapped: no divisor survives that.
        if self == Fact::ANY { self } else { Fact { multiple, ..self } }
    }
}

/// The range of the given corner values; everything where a corner does not fit.
fn interval<const N: usize>(corners: [i128; N]) -> Fact {
    let (lo, hi) = corners.iter().fold((i128::MAX, i128::MIN), |(lo, hi), c| (lo.min(*c), hi.max(*c)));
    match (i64::try_from(lo), i64::try_from(hi)) {
        (Ok(lo), Ok(hi)) => Fact::range(lo, hi),
        _ => Fact::ANY,
    }
}

fn difference((a, x): (ValueId, Fact), (_, y): (ValueId, Fact)) -> Fact {
    let corners = [i128::from(x.lo) - i128::from(y.hi), i128::from(x.hi) - i128::from(y.lo)];
    let mut fact = interval(corners).with_multiple(gcd(x.multiple, y.multiple));
    // `y < a`, so `a - y` is at least 1, unless it wraps; it cannot where `y` is not negative.
    if y.below == Some(a) && y.lo >= 0 {
        fact.lo = fact.lo.max(1);
        fact.hi = fact.hi.min(x.hi);
    }
    fact
}

fn product(x: Fact, y: Fact) -> Fact {
    let (a, b, c, d) = (i128::from(x.lo), i128::from(x.hi), i128::from(y.lo), i128::from(y.hi));
    let fact = interval([a * c, a * d, b * c, b * d]);
    fact.with_multiple(x.multiple.checked_mul(y.multiple).unwrap_or(1))
}

fn quotient(x: Fact, y: Fact) -> Fact {
    let Some(by) = y.as_constant().filter(|n| *n > 0) else { return Fact::ANY };
    let multiple = if x.multiple % by == 0 { x.multiple / by } else { 1 };
    Fact { lo: x.lo / by, hi: x.hi / by, multiple, below: None }
}

fn remainder(x: Fact, y: Fact) -> Fact {
    let Some(by) = y.as_constant().filter(|n| *n > 0) else { return Fact::ANY };
    if x.multiple % by == 0 {
        return Fact::constant(0);
    }
    let lo = if x.lo >= 0 { 0 } else { 1 - by };
    let hi = if x.hi <= 0 { 0 } else { (by - 1).min(x.hi) };
    Fact { lo, hi, multiple: gcd(x.multiple, by).max(1), below: None }
}

/// Greatest common divisor; 0 is divisible by everything.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const I: ValueId = ValueId(0);
    const M: ValueId = ValueId(1);

    #[test]
    fn the_tail_of_a_divisible_loop_folds() {
        let m = Fact::constant(1024);
        let i = Fact::loop_index(Fact::constant(0), m, Fact::constant(64), M);
        assert_eq!((i.lo, i.hi, i.multiple), (0, 960, 64));
        let rest = Fact::binary(OpKind::Sub, (M, m), (I, i));
        let valid = Fact::binary(OpKind::Min, (M, Fact::constant(64)), (I, rest));
        assert_eq!(valid.as_constant(), Some(64));
    }

    #[test]
    fn a_ragged_tail_stays() {
        let m = Fact::constant(1000);
        let i = Fact::loop_index(Fact::constant(0), m, Fact::constant(64), M);
        let rest = Fact::binary(OpKind::Sub, (M, m), (I, i));
        assert_eq!((i.hi, rest.lo), (960, 40));
    }

    #[test]
    fn a_run_time_bound_keeps_the_rest_positive() {
        let i = Fact::loop_index(Fact::constant(0), Fact::EXTENT, Fact::constant(64), M);
        assert_eq!(Fact::binary(OpKind::Sub, (M, Fact::EXTENT), (I, i)).lo, 1);
        assert_eq!(Fact::compare(OpKind::CmpLt, (I, i), (M, Fact::EXTENT)), Some(true));
    }

    #[test]
    fn wrapping_loses_all_facts() {
        let big = Fact { multiple: 3, ..Fact::range(0, i64::MAX) };
        assert_eq!(Fact::binary(OpKind::Add, (I, big), (M, big)), Fact::ANY);
    }
}
