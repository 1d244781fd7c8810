//! What is known of integers where code is written: the range of a loop's index, and what must hold since the kernel has not been left.
//!
//! A level keeps what holds in its block; what nested blocks learn is forgotten when they close.

use super::super::module::{Inst, Value};
use super::super::op::{Bin, Cmp, Op, Un};
use super::super::types::Type;
use super::Builder;
use std::collections::{HashMap, HashSet};

/// Facts of one block.
#[derive(Default)]
pub(super) struct Facts {
    /// Least and greatest that a value can be.
    ranges: HashMap<Value, (i64, i64)>,
    /// Pairs of which the first is less than the second.
    below: HashSet<(Value, Value)>,
}

/// How far back an operation is looked for: conditions are written shortly before they are used, and kernels can be long.
const RECENT: usize = 32;

impl Builder<'_> {
    /// Whether an index is known to be in `0..extent`.
    pub fn is_inside(&self, index: Value, extent: Value) -> bool {
        let (low, high) = self.range(index);
        let is_below = self.as_const(extent).is_some_and(|extent| high < extent);
        low >= 0 && (is_below || self.levels.iter().any(|level| level.facts.below.contains(&(index, extent))))
    }

    /// Whether an index is known to be above 0.
    pub fn is_positive(&self, value: Value) -> bool {
        self.range(value).0 > 0
            || match self.definition(value) {
                Some((Op::Bin(Bin::Min), &[a, b])) => self.is_positive(a) && self.is_positive(b),
                Some((Op::Bin(Bin::Sub), &[a, b])) => {
                    self.levels.iter().any(|level| level.facts.below.contains(&(b, a)))
                }
                _ => false,
            }
    }

    /// Least and greatest that an index can be, as far as known.
    fn range(&self, value: Value) -> (i64, i64) {
        let all = self.as_const(value).map_or((i64::MIN, i64::MAX), |value| (value, value));
        let known = self.levels.iter().filter_map(|level| level.facts.ranges.get(&value));
        known.fold(all, |(low, high), &(least, most)| (low.max(least), high.min(most)))
    }

    /// Notes that a loop's index goes from `lo` to below `hi`, in the block of the loop.
    pub(super) fn learn_index(&mut self, index: Value, lo: Value, hi: Value) {
        let ((low, _), (_, high)) = (self.range(lo), self.range(hi));
        self.narrow(index, low, high.saturating_sub(1));
        self.learn_below(index, hi);
    }

    /// Notes what follows from a condition that does not hold, as the kernel would have been left.
    pub(super) fn learn_failed(&mut self, condition: Value) {
        match self.recent(condition) {
            Some((Op::Un(Un::Not), args)) => {
                let held = args[0];
                self.learn(held, true);
            }
            _ => self.learn(condition, false),
        }
    }

    fn learn(&mut self, condition: Value, holds: bool) {
        let Some((op, &[a, b])) = self.recent(condition) else { return };
        match (op, holds) {
            (Op::Cmp(cmp), true) => self.learn_order(*cmp, a, b),
            (Op::Cmp(cmp), false) => self.learn_order(opposite(*cmp), a, b),
            (Op::Ucmp(Cmp::Lt), true) => {
                if let Some(extent) = self.as_const(b).filter(|extent| *extent > 0) {
                    self.narrow(a, 0, extent - 1);
                }
            }
            (Op::Bin(Bin::And), true) => [a, b].into_iter().for_each(|condition| self.learn(condition, true)),
            _ => {}
        }
    }

    fn learn_order(&mut self, cmp: Cmp, a: Value, b: Value) {
        if self.ty(a) != Type::INDEX {
            return;
        }
        let ((low_a, high_a), (low_b, high_b)) = (self.range(a), self.range(b));
        match cmp {
            Cmp::Lt => {
                self.narrow(a, i64::MIN, high_b.saturating_sub(1));
                self.narrow(b, low_a.saturating_add(1), i64::MAX);
                self.learn_below(a, b);
            }
            Cmp::Le => {
                self.narrow(a, i64::MIN, high_b);
                self.narrow(b, low_a, i64::MAX);
            }
            Cmp::Gt => self.learn_order(Cmp::Lt, b, a),
            Cmp::Ge => self.learn_order(Cmp::Le, b, a),
            Cmp::Eq => {
                self.narrow(a, low_b, high_b);
                self.narrow(b, low_a, high_a);
            }
            Cmp::Ne => {}
        }
    }

    fn learn_below(&mut self, a: Value, b: Value) {
        if let Some(level) = self.levels.last_mut() {
            level.facts.below.insert((a, b));
        }
    }

    fn narrow(&mut self, value: Value, low: i64, high: i64) {
        if (low, high) == (i64::MIN, i64::MAX) || self.as_const(value).is_some() {
            return;
        }
        if let Some(level) = self.levels.last_mut() {
            let range = level.facts.ranges.entry(value).or_insert((i64::MIN, i64::MAX));
            *range = (range.0.max(low), range.1.min(high));
        }
    }

    /// How a value was computed, if that was not long ago.
    fn recent(&self, value: Value) -> Option<(&Op, &[Value])> {
        let made = self.levels.iter().rev().flat_map(|level| level.insts.iter().rev().take(RECENT));
        made.filter(|inst| inst.results == [value]).map(|inst| (&inst.op, inst.args.as_slice())).next()
    }

    /// The condition of the last operation with an effect and the one of `next` as one, where both leave the kernel in the same way, because an
    /// index is negative and because it is not below a known extent. The former is removed.
    pub(super) fn merged(&mut self, next: &Inst) -> Option<Value> {
        let insts = &self.levels.last()?.insts;
        let (position, _) = insts.iter().enumerate().rev().take(RECENT).find(|(_, inst)| !inst.op.is_pure())?;
        let last = &insts[position];
        if last.op != next.op || last.args[1..] != next.args[1..] {
            return None;
        }
        let (first, second) = (self.order_that_held(last.args[0])?, self.order_that_held(next.args[0])?);
        let (negative, below) = if self.as_const(first.1) == Some(0) { (first, second) } else { (second, first) };
        let (Cmp::Le, zero, index) = negative else { return None };
        let (Cmp::Lt, same, extent) = below else { return None };
        let is_range = self.as_const(zero) == Some(0) && same == index && self.as_const(extent).is_some_and(|n| n > 0);
        if !is_range {
            return None;
        }
        self.levels.last_mut()?.insts.remove(position);
        let inside = self.ucmp(Cmp::Lt, index, extent);
        Some(self.not(inside))
    }

    /// The comparison that must hold where a kernel is left unless it does.
    fn order_that_held(&self, condition: Value) -> Option<(Cmp, Value, Value)> {
        let (Op::Un(Un::Not), &[held]) = self.recent(condition)? else { return None };
        let (Op::Cmp(cmp), &[a, b]) = self.recent(held)? else { return None };
        (self.ty(a) == Type::INDEX).then_some((*cmp, a, b))
    }
}

fn opposite(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Le => Cmp::Gt,
        Cmp::Gt => Cmp::Le,
        Cmp::Ge => Cmp::Lt,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Module, print_module, verify};
    use super::*;
    use crate::codegen::host::cpu::{Isa, Target};

    fn kernel(body: impl FnOnce(&mut Builder<'_>)) -> String {
        let mut module = Module::new(Target::of(Isa::Avx2));
        module.kernel("k", body);
        verify(&module).unwrap();
        print_module(&module)
    }

    #[test]
    fn the_index_of_a_loop_is_between_its_bounds() {
        kernel(|b| {
            let (start, n, zero, ten) = (b.arg_i64(0), b.arg_i64(1), b.index(0), b.index(10));
            let nine = b.index(9);
            b.for_each(zero, ten, 3, |b, i| {
                assert!(b.is_inside(i, ten) && !b.is_inside(i, nine) && !b.is_inside(i, n));
            });
            b.for_each(zero, n, 1, |b, i| {
                assert!(b.is_inside(i, n) && !b.is_inside(i, ten));
                b.for_each(i, ten, 1, |b, j| assert!(b.is_inside(j, ten)));
            });
            b.for_each(start, ten, 1, |b, i| assert!(!b.is_inside(i, ten)));
            b.for_each(ten, n, 1, |b, i| assert!(b.is_inside(i, n)));
            assert!(b.is_inside(nine, ten) && !b.is_inside(ten, ten));
        });
    }

    #[test]
    fn what_is_left_of_a_loop_is_positive() {
        kernel(|b| {
            let (n, zero, ten) = (b.arg_i64(1), b.index(0), b.index(10));
            assert!(b.is_positive(ten) && !b.is_positive(zero) && !b.is_positive(n));
            b.for_each(zero, n, 10, |b, i| {
                let (left, before) = (b.sub(n, i), b.sub(i, n));
                let (block, least) = (b.min(left, ten), b.min(left, zero));
                assert!(b.is_positive(left) && b.is_positive(block) && !b.is_positive(before) && !b.is_positive(least));
            });
        });
    }

    #[test]
    fn what_would_have_left_the_kernel_does_not_hold() {
        kernel(|b| {
            let (x, n, zero, ten) = (b.arg_i64(0), b.arg_i64(1), b.index(0), b.index(10));
            b.for_each(zero, n, 1, |b, _| {
                let inside = b.ucmp(Cmp::Lt, x, ten);
                let outside = b.not(inside);
                b.fail_if(outside, 1);
                assert!(b.is_inside(x, ten));
            });
            assert!(!b.is_inside(x, ten), "the loop may not have run");
            let negative = b.cmp(Cmp::Lt, x, zero);
            b.fail_if(negative, 1);
            assert!(!b.is_inside(x, n));
            let below = b.cmp(Cmp::Gt, n, x);
            let beyond = b.not(below);
            b.fail_if(beyond, 2);
            assert!(b.is_inside(x, n) && !b.is_inside(n, n));
        });
    }

    #[test]
    fn two_failures_that_say_the_same_are_one() {
        let checks = |same: bool| {
            kernel(|b| {
                let (x, zero, ten) = (b.arg_i64(0), b.index(0), b.index(10));
                let (least, most) = (b.cmp(Cmp::Le, zero, x), b.cmp(Cmp::Lt, x, ten));
                let fails = b.not(least);
                b.fail_showing(fails, 1, &[x]);
                let fails = b.not(most);
                b.fail_showing(fails, 1, &[if same { x } else { ten }]);
                assert!(b.is_inside(x, ten));
            })
        };
        assert_eq!(checks(true).matches("fail").count(), 1);
        assert_eq!(checks(false).matches("fail").count(), 2);
    }
}
