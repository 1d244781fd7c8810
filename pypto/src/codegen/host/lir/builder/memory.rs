//! Memory accesses: base pointer plus element index, optionally strided over lanes and masked.

use super::super::module::{Inst, Value};
use super::super::op::{Access, CacheLevel, Op};
use super::super::types::{Elem, Type};
use super::Builder;

impl Builder<'_> {
    /// The address `index` elements of `elem` after `base`.
    pub fn addr(&mut self, base: Value, elem: Elem, index: Value) -> Value {
        match self.as_const(index) {
            Some(0) => base,
            _ => self.emit(Op::Addr(elem), &[base, index], Type::Ptr),
        }
    }

    /// Loads a scalar or W consecutive elements starting at `base[index]`.
    pub fn load(&mut self, ty: Type, base: Value, index: Value) -> Value {
        self.emit(Op::Load(Access::default()), &[base, index], ty)
    }

    /// Loads one element and puts it in every lane.
    pub fn load_splat(&mut self, elem: Elem, base: Value, index: Value) -> Value {
        let scalar = self.load(Type::Scalar(elem), base, index);
        self.splat(scalar)
    }

    /// Loads W elements, lane i from `base[index + i * stride]`; only lanes of the mask are touched, the others are 0.
    pub fn load_vec(
        &mut self,
        elem: Elem,
        base: Value,
        index: Value,
        stride: Option<Value>,
        mask: Option<Value>,
    ) -> Value {
        let stride = stride.filter(|&s| self.as_const(s) != Some(1));
        let access = Access { strided: stride.is_some(), masked: mask.is_some(), loose: false };
        let args = [base, index].into_iter().chain(stride).chain(mask).collect::<Vec<_>>();
        self.emit(Op::Load(access), &args, Type::Vector(elem))
    }

    /// Loads W consecutive words of several elements of a narrower type each, wherever they begin.
    pub fn load_words(&mut self, word: Elem, base: Value, index: Value, mask: Option<Value>) -> Value {
        let access = Access { strided: false, masked: mask.is_some(), loose: true };
        let args = [base, index].into_iter().chain(mask).collect::<Vec<_>>();
        self.emit(Op::Load(access), &args, Type::Vector(word))
    }

    /// Stores a scalar or W consecutive elements to `base[index]`.
    pub fn store(&mut self, value: Value, base: Value, index: Value) {
        self.store_inst(Access::default(), vec![value, base, index]);
    }

    /// Stores W elements, lane i to `base[index + i * stride]`; only lanes of the mask are touched.
    pub fn store_vec(&mut self, value: Value, base: Value, index: Value, stride: Option<Value>, mask: Option<Value>) {
        let stride = stride.filter(|&s| self.as_const(s) != Some(1));
        let access = Access { strided: stride.is_some(), masked: mask.is_some(), loose: false };
        self.store_inst(access, [value, base, index].into_iter().chain(stride).chain(mask).collect());
    }

    /// The mask of the lanes whose number is below `remaining` (an index, which may exceed W or be negative).
    pub fn tail_mask(&mut self, remaining: Value) -> Value {
        match self.as_const(remaining) {
            Some(n) if n >= self.lanes() as i64 => self.constant(Type::MASK, 1),
            _ => self.emit(Op::TailMask, &[remaining], Type::MASK),
        }
    }

    /// Fetches the line at `base` + `index` bytes into the nearest cache.
    pub fn prefetch(&mut self, base: Value, index: Value) {
        self.prefetch_to(CacheLevel::First, base, index);
    }

    /// Fetches the line at `base` + `index` bytes.
    pub fn prefetch_to(&mut self, cache: CacheLevel, base: Value, index: Value) {
        self.push(Inst { results: vec![], op: Op::Prefetch(cache), args: vec![base, index], blocks: vec![] });
    }

    /// Records failure `site` in the status word when the condition holds (in any lane).
    pub fn fail_if(&mut self, condition: Value, site: u32) {
        self.fail_showing(condition, site, &[]);
    }

    /// [`fail_if`](Self::fail_if) that leaves scalars behind the status word, 16 bytes from it, 8 bytes each.
    pub fn fail_showing(&mut self, condition: Value, site: u32, values: &[Value]) {
        if self.as_const(condition) == Some(0) {
            return;
        }
        let (condition, status) = (self.any(condition), self.status());
        if self.levels.iter().any(|level| level.failing.contains(&condition)) {
            // It would have left the kernel before.
            return;
        }
        if let Some(level) = self.levels.last_mut() {
            level.failing.insert(condition);
        }
        self.learn_failed(condition);
        let args = [&[condition, status], values].concat();
        let mut inst = Inst { results: vec![], op: Op::Fail(site), args, blocks: vec![] };
        if let Some(merged) = self.merged(&inst) {
            inst.args[0] = merged;
        }
        self.push(inst);
    }

    /// Hands the values that `words` describe to whoever takes reports, as those of place `site`.
    pub fn report(&mut self, words: Value, site: u32) {
        let status = self.status();
        self.push(Inst { results: vec![], op: Op::Report(site), args: vec![words, status], blocks: vec![] });
    }

    /// Turns W vectors of 32-bit elements over: lane j of result i is lane i of operand j.
    pub fn transpose(&mut self, rows: &[Value]) -> Vec<Value> {
        debug_assert_eq!(rows.len(), self.lanes());
        let results = rows.iter().map(|&row| self.function.new_value(self.function.ty(row))).collect::<Vec<_>>();
        self.push(Inst { results: results.clone(), op: Op::Transpose, args: rows.to_vec(), blocks: vec![] });
        results
    }

    fn store_inst(&mut self, access: Access, args: Vec<Value>) {
        self.push(Inst { results: vec![], op: Op::Store(access), args, blocks: vec![] });
    }
}
