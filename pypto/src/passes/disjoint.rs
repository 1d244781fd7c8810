//! Proves that what two accesses touch in different iterations of a loop does not overlap.
//!
//! Along one dimension the accesses are `[c * i + low, c * i + high)` with the loop index `i`, after everything else
//! that changes inside the loop has been replaced by bounds. Where the distance of two iterations, at least
//! `c * step`, exceeds what the intervals span, they are apart. An index taken apart by `i / n` and `i % n` counts as
//! two indices: different iterations differ in one of them.

use super::accesses::{Access, Interval};
use super::affine::Affine;
use super::ranges::{Ranges, Side};
use crate::ir::ValueId;
use crate::ops::OpKind;

/// The loop whose iterations are compared.
pub struct Iterations<'a, 'f> {
    pub ranges: &'a Ranges<'f>,
    pub index: ValueId,
    pub step: Affine,
    /// Whether a value is defined inside the loop, so that it differs between iterations.
    pub inside: &'a dyn Fn(ValueId) -> bool,
}

/// A value that tells iterations apart, and by how much it differs at least.
struct Separator {
    value: ValueId,
    distance: Affine,
    /// Another value that is the same in both iterations.
    fixed: Option<ValueId>,
}

impl Iterations<'_, '_> {
    /// Whether `a` in one iteration and `b` in another never overlap.
    pub fn apart(&self, a: &Access, b: &Access) -> bool {
        let (Some(a), Some(b)) = (&a.region, &b.region) else { return false };
        if a.len() != b.len() {
            return false;
        }
        let index = Separator { value: self.index, distance: self.step.clone(), fixed: None };
        if self.apart_by(a, b, &index) {
            return true;
        }
        self.quotients(a).into_iter().any(|(quotient, remainder)| {
            let one = Affine::constant(1);
            let first = Separator { value: quotient, distance: one.clone(), fixed: None };
            let second = Separator { value: remainder, distance: one, fixed: Some(quotient) };
            self.step.as_constant() == Some(1) && self.apart_by(a, b, &first) && self.apart_by(a, b, &second)
        })
    }

    fn apart_by(&self, a: &[Interval], b: &[Interval], by: &Separator) -> bool {
        // Disjoint along one dimension is disjoint.
        a.iter().zip(b).any(|(x, y)| self.ordered(x, y, by) && self.ordered(y, x, by))
    }

    /// Whether `early` at some value of the separator and `late` at any larger one are apart.
    fn ordered(&self, early: &Interval, late: &Interval, by: &Separator) -> bool {
        let below = |x: &Interval, y: &Interval, rising: bool| {
            self.ends(x, by)
                .iter()
                .any(|end| self.starts(y, by).iter().any(|start| self.before(end, start, by, rising)))
        };
        below(early, late, true) || below(late, early, false)
    }

    /// `end <= start`, with the separator larger in `start` if it rises, else larger in `end`.
    fn before(&self, end: &Affine, start: &Affine, by: &Separator, rising: bool) -> bool {
        let (Some((c, high)), Some((d, low))) = (end.split(by.value), start.split(by.value)) else { return false };
        let zero = Affine::constant(0);
        let factor = if rising { Some(c.clone()) } else { zero.sub(&c) };
        let Some(factor) = factor else { return false };
        let gap = factor.mul(&by.distance).and_then(|reach| reach.add(&low)).and_then(|x| x.sub(&high));
        c == d && self.ranges.not_negative(&factor) && gap.is_some_and(|gap| self.ranges.not_negative(&gap))
    }

    fn varies(&self, v: ValueId, by: &Separator) -> bool {
        v != by.value && Some(v) != by.fixed && (v == self.index || (self.inside)(v))
    }

    fn starts(&self, interval: &Interval, by: &Separator) -> Vec<Affine> {
        self.ranges.bounds_without(&interval.offset, Side::Lower, &|v| self.varies(v, by))
    }

    fn ends(&self, interval: &Interval, by: &Separator) -> Vec<Affine> {
        let ends = interval.extents.iter().filter_map(|extent| interval.offset.add(extent));
        ends.flat_map(|end| self.ranges.bounds_without(&end, Side::Upper, &|v| self.varies(v, by))).collect()
    }

    /// Pairs of `index / n` and `index % n` that the offsets of a region mention.
    fn quotients(&self, region: &[Interval]) -> Vec<(ValueId, ValueId)> {
        let mentioned: Vec<ValueId> = region.iter().flat_map(|i| i.offset.values()).collect();
        let parts = |kind: OpKind| {
            mentioned.iter().filter_map(move |v| {
                let op = self.ranges.definitions.op(*v).filter(|op| op.kind == kind)?;
                let of_index = self.ranges.form(op.operands[0]) == Affine::value(self.index);
                of_index.then(|| (*v, self.ranges.form(op.operands[1])))
            })
        };
        let mut pairs = Vec::new();
        for (quotient, divisor) in parts(OpKind::Div) {
            pairs.extend(parts(OpKind::Rem).filter(|(_, n)| *n == divisor).map(|(remainder, _)| (quotient, remainder)));
        }
        pairs
    }
}
