//! Replacing values by others throughout a function.

use std::collections::HashMap;

use crate::ir::{Block, Extent, Function, Op, ValueId};

/// Which value stands for which from now on. Chains are followed.
#[derive(Clone, Debug, Default)]
pub struct Replacements {
    values: HashMap<ValueId, ValueId>,
    /// Values that types name by their constant.
    constants: HashMap<ValueId, i64>,
}

impl Replacements {
    /// From now on `new` stands for `old`.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        let new = self.get(new);
        if old != new {
            self.values.insert(old, new);
        }
    }

    /// Types name `value` by its constant.
    pub fn constant(&mut self, value: ValueId, n: i64) {
        self.constants.insert(value, n);
    }

    /// Whether anything is replaced; constants in types do not count.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What stands for a value.
    pub fn get(&self, value: ValueId) -> ValueId {
        let mut value = value;
        while let Some(next) = self.values.get(&value) {
            value = *next;
        }
        value
    }

    /// What stands for a value in a type.
    pub fn extent(&self, value: ValueId) -> Extent {
        let value = self.get(value);
        self.constants.get(&value).map_or(Extent::Value(value), |n| Extent::Const(*n))
    }

    /// Replaces the operands of an operation; not what is nested in it.
    pub fn operands(&self, op: &mut Op) {
        op.operands.iter_mut().for_each(|v| *v = self.get(*v));
    }

    /// Replaces in the type of a value.
    pub fn type_of(&self, value: ValueId, function: &mut Function) {
        function.values[value.0 as usize].ty.map_values(|v| self.extent(v));
    }

    /// Replaces in operands, yields and types of a whole function.
    pub fn apply(&self, function: &mut Function) {
        for info in &mut function.values {
            info.ty.map_values(|v| self.extent(v));
        }
        if !self.is_empty() {
            self.apply_block(&mut function.body);
        }
    }

    fn apply_block(&self, block: &mut Block) {
        for op in &mut block.ops {
            self.operands(op);
            op.regions.iter_mut().for_each(|region| self.apply_block(region));
        }
        block.yields.iter_mut().for_each(|v| *v = self.get(*v));
    }
}
