//! Reductions over the columns: vectors are combined, one lane for each row, in the order of the numeric contract.

use std::collections::HashMap;

use super::super::access::{Access, computing};
use super::super::elementwise;
use super::super::graph::{NodeId, NodeKind};
use super::super::row_group::identity;
use super::group::{Lanes, TurnedGroup, nothing};
use crate::codegen::host::lir::{Builder, Elem, Reduce, Type, Value};

/// Partial results of a row reduction.
pub(in super::super) const PARTIALS: i64 = 32;
/// Partial results that one step of an unrolled reduction combines; the others follow in further steps.
const COMBINED: i64 = 8;

impl TurnedGroup<'_> {
    /// Combines the columns of a value, in the order of the numeric contract.
    pub(super) fn reduce(&self, b: &mut Builder<'_>, lanes: &mut Lanes<'_>, level: usize, reduction: NodeId) {
        let node = &self.nodes[reduction];
        let NodeKind::Reduce { reduce, arg, .. } = node.kind else { return };
        let source = self.source(arg);
        if source.is_none() {
            self.prepare(b, lanes, level, arg);
        }
        let shared: &Lanes<'_> = lanes;
        let mut leaf = |b: &mut Builder<'_>, column: Value| {
            let value = match source {
                Some(strip) if self.strips.contains_key(&arg) => self.load_strip(b, strip, column),
                Some(access) => self.element(b, shared, access, column),
                None => self.wide(b, shared, &mut HashMap::new(), level, column, arg),
            };
            b.splat(value)
        };
        let total = match (self.partials.get(&reduction), b.as_const(self.columns)) {
            (None, Some(columns)) => {
                let start = b.constant(Type::Vector(computing(node.dtype)), identity(reduce, node.dtype));
                let total = unrolled(b, reduce, columns, start, &mut leaf);
                // The contract starts from the identity: a sum is never the negative zero.
                if reduce == Reduce::Add && b.elem(total) == Elem::F32 { b.add(total, start) } else { total }
            }
            (Some(partials), _) => self.through_memory(b, reduction, reduce, partials, &mut leaf),
            (None, None) => nothing(b, node),
        };
        let total = elementwise::round_to(b, total, node.dtype);
        lanes.narrow.insert(reduction, total);
    }

    /// A reduction over any number of columns: each column goes to its partial result in memory.
    fn through_memory(
        &self,
        b: &mut Builder<'_>,
        reduction: NodeId,
        reduce: Reduce,
        partials: &Access,
        leaf: &mut dyn FnMut(&mut Builder<'_>, Value) -> Value,
    ) -> Value {
        let dtype = self.nodes[reduction].dtype;
        let ty = Type::Vector(computing(dtype));
        let start = b.constant(ty, identity(reduce, dtype));
        let (zero, lanes) = (b.index(0), b.index(b.lanes() as i64));
        let count = b.index(PARTIALS);
        b.for_each(zero, count, 1, |b, i| {
            let at = b.mul(i, lanes);
            b.store(start, partials.base, at);
        });
        b.for_each(zero, self.columns, 1, |b, column| {
            let value = leaf(b, column);
            let count = b.index(PARTIALS);
            let i = b.urem(column, count);
            let at = b.mul(i, lanes);
            let old = b.load(ty, partials.base, at);
            let new = b.bin(reduce.bin(), old, value);
            b.store(new, partials.base, at);
        });
        unrolled(b, reduce, PARTIALS, start, &mut |b, i| {
            let at = b.mul(i, lanes);
            b.load(ty, partials.base, at)
        })
    }
}

/// Combines a known number of columns. Partial result j takes the columns j, j + 32, ..; then partial i takes partial i + h for h = 16, 8, 4,
/// 2, 1. One step does that for every fourth partial result, so that few values are alive.
fn unrolled(
    b: &mut Builder<'_>,
    reduce: Reduce,
    columns: i64,
    start: Value,
    leaf: &mut dyn FnMut(&mut Builder<'_>, Value) -> Value,
) -> Value {
    let steps = PARTIALS / COMBINED;
    let ring = if columns % PARTIALS == 0 && columns > 0 {
        let (zero, end, one) = (b.index(0), b.index(steps), b.index(1));
        b.for_loop(zero, end, one, &vec![start; steps as usize], |b, step, ring| {
            let value = combined(b, reduce, columns, 0, steps, start, &mut |b, offset| {
                let offset = b.index(offset);
                let column = b.add(step, offset);
                leaf(b, column)
            });
            let mut next = ring.to_vec();
            next[0] = value.unwrap_or(start);
            next.rotate_left(1);
            next
        })
    } else {
        let mut at = |b: &mut Builder<'_>, column: i64| {
            let column = b.index(column);
            leaf(b, column)
        };
        (0..steps).map(|step| combined(b, reduce, columns, step, steps, start, &mut at).unwrap_or(start)).collect()
    };
    let even = b.bin(reduce.bin(), ring[0], ring[2]);
    let odd = b.bin(reduce.bin(), ring[1], ring[3]);
    b.bin(reduce.bin(), even, odd)
}

/// The partial results `first`, `first + stride`, .. up to 32 as one; `None` where they have no columns. `start` has their type.
fn combined(
    b: &mut Builder<'_>,
    reduce: Reduce,
    columns: i64,
    first: i64,
    stride: i64,
    start: Value,
    leaf: &mut dyn FnMut(&mut Builder<'_>, i64) -> Value,
) -> Option<Value> {
    let is_extreme = matches!(reduce, Reduce::Max | Reduce::Min) && b.ty(start) == Type::VF32;
    // As many at once as leave registers for the results.
    let together = b.target().registers as i64 / 2;
    if is_extreme && first < columns && (columns - first) / stride <= together {
        let mut order = Vec::new();
        in_order(columns, first, stride, &mut order);
        let values: Vec<Value> = order.into_iter().map(|column| leaf(b, column)).collect();
        return Some(b.extreme(reduce.bin(), &values));
    }
    if stride < PARTIALS {
        let left = combined(b, reduce, columns, first, stride * 2, start, leaf);
        let right = combined(b, reduce, columns, first + stride, stride * 2, start, leaf);
        return match (left, right) {
            (Some(left), Some(right)) => Some(b.bin(reduce.bin(), left, right)),
            (left, right) => left.or(right),
        };
    }
    let mut sum = None;
    for column in (first..columns).step_by(PARTIALS as usize) {
        let value = leaf(b, column);
        sum = Some(sum.map_or(value, |sum| b.bin(reduce.bin(), sum, value)));
    }
    sum
}

/// The columns of those partial results in the order in which they are combined.
fn in_order(columns: i64, first: i64, stride: i64, order: &mut Vec<i64>) {
    if stride < PARTIALS {
        in_order(columns, first, stride * 2, order);
        in_order(columns, first + stride, stride * 2, order);
    } else {
        order.extend((first..columns).step_by(PARTIALS as usize));
    }
}
