//! The variables of a function body: names with their current values. Assignment replaces the value; what that means for
//! loops and branches is up to their builders, which save and compare the values.

use super::value::Value;
use crate::ir::Loc;

/// A local variable.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub name: &'static str,
    /// `None` until initialized.
    pub value: Option<Value>,
    /// Where it got its present value.
    pub loc: Loc,
}

/// Variables in the order of their definition; later ones shadow earlier ones of the same name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    variables: Vec<Variable>,
}

/// A variable, by position; stays valid while its block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(usize);

impl Scope {
    /// Number of variables, for [`Scope::close`].
    pub fn mark(&self) -> usize {
        self.variables.len()
    }

    /// Ends a block: forgets the variables defined since `mark`.
    pub fn close(&mut self, mark: usize) {
        self.variables.truncate(mark);
    }

    /// Defines a variable.
    pub fn define(&mut self, name: &'static str, value: Option<Value>, loc: Loc) {
        self.variables.push(Variable { name, value, loc });
    }

    /// The innermost variable of that name.
    pub fn find(&self, name: &str) -> Option<Slot> {
        self.variables.iter().rposition(|v| v.name == name).map(Slot)
    }

    /// The variable at a position.
    pub fn get(&self, slot: Slot) -> &Variable {
        &self.variables[slot.0]
    }

    /// Gives a variable a new value.
    pub fn set(&mut self, slot: Slot, value: Option<Value>, loc: Loc) {
        let variable = &mut self.variables[slot.0];
        variable.value = value;
        variable.loc = loc;
    }

    /// Names in scope, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.variables.iter().map(|v| v.name)
    }

    /// The present values of the given variables.
    pub fn save(&self, slots: &[Slot]) -> Vec<Variable> {
        slots.iter().map(|s| self.get(*s).clone()).collect()
    }

    /// Brings saved values back.
    pub fn restore(&mut self, slots: &[Slot], saved: &[Variable]) {
        for (slot, variable) in slots.iter().zip(saved) {
            self.variables[slot.0] = variable.clone();
        }
    }
}
