//! Control flow: the nested blocks are written by closures.

use super::super::module::{Block, Inst, Value};
use super::super::op::{Cmp, Op};
use super::super::types::Type;
use super::Builder;

/// Which part of a row [`Builder::lanes_loop`] is writing.
#[derive(Clone, Copy, Debug)]
pub enum Tail {
    /// All lanes are inside.
    Full,
    /// Only the lanes of this mask are.
    Masked(Value),
}

impl Tail {
    /// The mask operand for loads and stores.
    pub fn mask(self) -> Option<Value> {
        match self {
            Tail::Full => None,
            Tail::Masked(mask) => Some(mask),
        }
    }
}

impl Builder<'_> {
    /// `for index in (lo..hi).step_by(step)`; the body gets the index and the carried values, and gives the next carried values. Results are
    /// the last carried values, or `init` when no iteration runs. `step` must be positive.
    pub fn for_loop(
        &mut self,
        lo: Value,
        hi: Value,
        step: Value,
        init: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        if let (Some(l), Some(h)) = (self.as_const(lo), self.as_const(hi))
            && l >= h
        {
            return init.to_vec();
        }
        let types = init.iter().map(|&v| self.ty(v)).collect::<Vec<_>>();
        let index = self.function.new_value(Type::INDEX);
        let carried = self.new_values(&types);
        self.open();
        self.learn_index(index, lo, hi);
        let next = body(self, index, &carried);
        debug_assert_eq!(next.iter().map(|&v| self.ty(v)).collect::<Vec<_>>(), types, "carried values change type");
        let params = [index].into_iter().chain(carried).collect();
        let block = self.close(params, next);
        let results = self.new_values(&types);
        let args = [lo, hi, step].into_iter().chain(init.iter().copied()).collect();
        self.push(Inst { results: results.clone(), op: Op::For, args, blocks: vec![block] });
        results
    }

    /// A loop without carried values.
    pub fn for_each(&mut self, lo: Value, hi: Value, step: i64, body: impl FnOnce(&mut Self, Value)) {
        let step = self.index(step);
        self.for_loop(lo, hi, step, &[], |b, index, _| {
            body(b, index);
            Vec::new()
        });
    }

    /// `if condition { then } else { otherwise }`; both give values of the same types.
    pub fn if_else(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        match self.as_const(condition) {
            Some(0) => return otherwise(self),
            Some(_) => return then(self),
            None => {}
        }
        self.open();
        let yes = then(self);
        let types = yes.iter().map(|&v| self.ty(v)).collect::<Vec<_>>();
        let yes = self.close(Vec::new(), yes);
        self.open();
        let no = otherwise(self);
        debug_assert_eq!(no.iter().map(|&v| self.ty(v)).collect::<Vec<_>>(), types, "branches give different types");
        let no = self.close(Vec::new(), no);
        self.branch(condition, yes, no, &types)
    }

    /// `if` with blocks that are written already, for writers that a closure cannot lend to itself; both yield values of the types.
    pub(in crate::codegen::host::lir) fn branch(
        &mut self,
        condition: Value,
        yes: Block,
        no: Block,
        types: &[Type],
    ) -> Vec<Value> {
        let results = self.new_values(types);
        self.push(Inst { results: results.clone(), op: Op::If, args: vec![condition], blocks: vec![yes, no] });
        results
    }

    /// `if condition { then }`.
    pub fn if_then(&mut self, condition: Value, then: impl FnOnce(&mut Self)) {
        self.if_else(
            condition,
            |b| {
                then(b);
                Vec::new()
            },
            |_| Vec::new(),
        );
    }

    /// `while condition(carried) { carried = body(carried) }`; the results are the carried values at the end.
    pub fn while_loop(
        &mut self,
        init: &[Value],
        condition: impl FnOnce(&mut Self, &[Value]) -> Value,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let types = init.iter().map(|&v| self.ty(v)).collect::<Vec<_>>();
        let carried = self.new_values(&types);
        self.open();
        let holds = condition(self, &carried);
        let test = self.close(carried.clone(), vec![holds]);
        self.open();
        let next = body(self, &carried);
        debug_assert_eq!(next.iter().map(|&v| self.ty(v)).collect::<Vec<_>>(), types, "carried values change type");
        let block = self.close(Vec::new(), next);
        let results = self.new_values(&types);
        self.push(Inst { results: results.clone(), op: Op::While, args: init.to_vec(), blocks: vec![test, block] });
        results
    }

    /// Runs over `lo..hi` a vector at a time: a loop over whole groups of `unroll` vectors, then a masked rest. The body is written
    /// `unroll` times in the main loop and once in the rest; it gets the index of its first lane, which part it is in, and the carried
    /// values, of which it gets and gives the `unroll` groups as one list per call number `k` (vector k of the group). Carried value lists
    /// have the same length for every k: `init[k]`.
    ///
    /// In the rest, vector k of the group has a mask that may be empty.
    pub fn lanes_loop(
        &mut self,
        lo: Value,
        hi: Value,
        unroll: usize,
        init: &[Vec<Value>],
        mut body: impl FnMut(&mut Self, Value, Tail, &[Value]) -> Vec<Value>,
    ) -> Vec<Vec<Value>> {
        let lanes = self.lanes() as i64;
        let step = self.index(lanes * unroll as i64);
        let width = init.first().map_or(0, Vec::len);
        let flat = init.concat();
        // Whole groups end where the rest of fewer than W * unroll elements begins.
        let length = self.sub(hi, lo);
        let zero = self.index(0);
        let length = self.max(length, zero);
        let rest = self.urem(length, step);
        let whole = self.sub(length, rest);
        let middle = self.add(lo, whole);
        let group = |b: &mut Self,
                     index: Value,
                     masked: bool,
                     flat: &[Value],
                     body: &mut dyn FnMut(&mut Self, Value, Tail, &[Value]) -> Vec<Value>| {
            let mut next = Vec::new();
            for k in 0..unroll {
                let offset = b.index(k as i64 * lanes);
                let at = b.add(index, offset);
                let tail = if masked {
                    let remaining = b.sub(hi, at);
                    Tail::Masked(b.tail_mask(remaining))
                } else {
                    Tail::Full
                };
                next.extend(body(b, at, tail, &flat[k * width..(k + 1) * width]));
            }
            next
        };
        let carried =
            self.for_loop(lo, middle, step, &flat, |b, index, carried| group(b, index, false, carried, &mut body));
        let has_rest = self.cmp(Cmp::Lt, middle, hi);
        let done = self.if_else(has_rest, |b| group(b, middle, true, &carried, &mut body), |_| carried.clone());
        (0..init.len()).map(|k| done[k * width..(k + 1) * width].to_vec()).collect()
    }

    fn new_values(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.function.new_value(ty)).collect()
    }
}
