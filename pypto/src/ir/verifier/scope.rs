//! Which values are defined and visible at a point of the walk.

use crate::ir::{Function, ValueId};

/// Per value whether it was defined at all, and whether it is visible here.
pub(super) struct Scope {
    defined: Vec<bool>,
    visible: Vec<bool>,
    /// Values in the order in which they became visible.
    order: Vec<ValueId>,
}

impl Scope {
    pub(super) fn new(function: &Function) -> Scope {
        let count = function.values.len();
        Scope { defined: vec![false; count], visible: vec![false; count], order: Vec::new() }
    }

    /// Makes a value visible; each may be defined once.
    pub(super) fn define(&mut self, value: ValueId) -> Result<(), String> {
        let index = value.0 as usize;
        match self.defined.get_mut(index) {
            None => Err(format!("value {index} is not in the function's table")),
            Some(true) => Err(format!("value {index} is defined twice")),
            Some(defined) => {
                *defined = true;
                self.visible[index] = true;
                self.order.push(value);
                Ok(())
            }
        }
    }

    pub(super) fn is_visible(&self, value: ValueId) -> bool {
        self.visible.get(value.0 as usize).copied().unwrap_or(false)
    }

    /// A point to return to when a region ends.
    pub(super) fn enter(&self) -> usize {
        self.order.len()
    }

    /// Hides what was defined since.
    pub(super) fn leave(&mut self, entered: usize) {
        for value in self.order.drain(entered..) {
            self.visible[value.0 as usize] = false;
        }
    }
}
