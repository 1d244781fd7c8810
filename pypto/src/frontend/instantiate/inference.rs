//! Element types that Rust infers from a later use.
//!
//! An expression without an element type of its own gives a value of a default type, remembered as a guess with the
//! expression's place. Where a guess meets a value of a known type, the type is noted for the place and the walk is
//! repeated. Every place is settled at most once, so repetitions end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Walker;
use crate::ir::{Attrs, DType, Loc, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::rules::Request;

/// What previous walks found out.
#[derive(Default)]
pub(super) struct Inference {
    known: HashMap<Loc, DType>,
    changed: bool,
}

impl Inference {
    /// Begins a walk.
    pub fn start(&mut self) {
        self.changed = false;
    }

    /// Whether the present walk found a type that it did not know from its start.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Whether the place has been settled.
    pub fn is_settled(&self, place: Loc) -> bool {
        self.known.contains_key(&place)
    }

    /// Notes a type for the next walk; the first one found for a place stays.
    pub fn settle(&mut self, place: Loc, dtype: DType) {
        if let Entry::Vacant(entry) = self.known.entry(place) {
            entry.insert(dtype);
            self.changed = true;
        }
    }

    /// The type to use at a place.
    pub fn dtype(&self, place: Loc, default: DType) -> DType {
        self.known.get(&place).copied().unwrap_or(default)
    }
}

impl Walker<'_> {
    /// Remembers that a value's element type was not written.
    pub fn guessed(&mut self, value: ValueId, place: Loc) {
        if !self.unit.inference.is_settled(place) {
            self.guesses.insert(value, place);
        }
    }

    /// Where `value` is a guess of another type: notes `dtype` for the next walk. Gives a value of that type, with which
    /// the present walk can go on.
    pub fn infer(&mut self, value: ValueId, dtype: DType) -> Option<ValueId> {
        let place = *self.guesses.get(&value)?;
        if self.builder.ty(value).dtype() == Some(dtype) || self.unit.inference.is_settled(place) {
            return None;
        }
        self.unit.inference.settle(place, dtype);
        if self.builder.tensor_type(value).is_some() {
            return None;
        }
        self.builder.cast(value, dtype, Round::None, place).ok()
    }

    /// An operation that keeps the element type: its result is a guess if all of its operands of that type are.
    pub fn propagate(&mut self, result: ValueId, operands: &[ValueId]) {
        let dtype = self.builder.ty(result).dtype();
        let mut origin = None;
        for operand in operands.iter().filter(|v| self.builder.ty(**v).dtype() == dtype) {
            match self.guesses.get(operand) {
                Some(place) => origin = origin.or(Some(*place)),
                // Literals have been given their type for the operation's sake and tell nothing.
                None if self.builder.literal(*operand).is_some() => {}
                None => return,
            }
        }
        if let Some(place) = origin
            && self.builder.literal(result).is_none()
        {
            self.guesses.insert(result, place);
        }
    }

    /// Builds an operation with one result, whose type is a guess if those of its operands are.
    pub fn emit(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        attrs: Attrs,
        site: &super::Site,
    ) -> super::Flow<ValueId> {
        let outcome = self.builder.emit(kind, operands, attrs, &Request::none(), site.loc);
        let result = self.check(outcome, site)?;
        self.propagate(result, operands);
        Ok(result)
    }
}
