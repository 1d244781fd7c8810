//! Variables that control flow gives new values: as lists of IR values, and back.

use super::Walker;
use super::scope::Slot;
use super::value::Value;
use crate::diagnostics::codes;
use crate::ir::{DType, Loc, ValueId};
use crate::ops::fold::Literal;

/// What an unsuffixed literal becomes when a loop or branch needs a value of a definite type.
const DEFAULT_INT: DType = DType::I64;
const DEFAULT_FLOAT: DType = DType::F32;

impl Walker<'_> {
    /// The variables of these names that have values.
    pub fn slots(&self, names: &[&'static str]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = names.iter().filter_map(|name| self.scope.find(name)).collect();
        slots.sort();
        slots.dedup();
        slots
    }

    /// Gives literals in the variables a definite type, as what a loop carries has. Variables that control flow cannot
    /// carry become poison.
    ///
    /// Returns for each variable whether it is carried.
    pub fn make_carriable(&mut self, slots: &[Slot]) -> Vec<bool> {
        let mut carried = Vec::with_capacity(slots.len());
        for slot in slots {
            let kept = self.check_carriable(*slot);
            let variable = self.scope.get(*slot).clone();
            if let (true, Some(value)) = (kept, variable.value) {
                let value = self.definite(value, variable.loc);
                self.scope.set(*slot, Some(value), variable.loc);
            }
            carried.push(kept);
        }
        carried
    }

    /// Whether the variable has a value that control flow can change; one that it cannot is reported and becomes poison.
    pub fn check_carriable(&mut self, slot: Slot) -> bool {
        let variable = self.scope.get(slot).clone();
        let Some(value) = variable.value.filter(|value| !matches!(value, Value::Poison)) else { return false };
        if is_carriable(&value) {
            return true;
        }
        let title = format!("`{}` is {}, which a loop or branch cannot change", variable.name, value.kind());
        self.unsupported(variable.loc, &title, "assign scalars and tiles; choose tensors by their offsets");
        self.scope.set(slot, Some(Value::Poison), variable.loc);
        false
    }

    /// The value with literals made scalars, of the type that an earlier walk inferred for the place.
    pub fn definite(&mut self, value: Value, place: Loc) -> Value {
        let (literal, default) = match value {
            Value::Int(n) => (Literal::Int(n), DEFAULT_INT),
            Value::Float(x) => (Literal::Float(x), DEFAULT_FLOAT),
            Value::Tuple(parts) => {
                return Value::Tuple(parts.iter().map(|p| self.definite(p.clone(), place)).collect());
            }
            Value::Array(parts) => {
                return Value::Array(parts.iter().map(|p| self.definite(p.clone(), place)).collect());
            }
            other => return other,
        };
        let dtype = self.unit.inference.dtype(place, default);
        self.literal(literal, dtype, place).map_or(Value::Poison, Value::Scalar)
    }

    /// Notes that loop variables that replace literals of no stated type are guesses.
    pub fn guess_literals(&mut self, before: &Value, after: &Value, place: Loc) {
        match (before, after) {
            (Value::Int(_) | Value::Float(_), Value::Scalar(v)) => self.guessed(*v, place),
            (Value::Scalar(a) | Value::Tile(a), Value::Scalar(b) | Value::Tile(b)) => {
                if let Some(origin) = self.guesses.get(a).copied() {
                    self.guessed(*b, origin);
                }
            }
            (Value::Tuple(a) | Value::Array(a), Value::Tuple(b) | Value::Array(b)) => {
                a.iter().zip(b.iter()).for_each(|(x, y)| self.guess_literals(x, y, place));
            }
            _ => {}
        }
    }

    /// Brings a variable's new value to the types of `like`: literals and guesses adapt.
    pub fn adapted(&mut self, value: Value, like: &Value, place: Loc) -> Value {
        match (&value, like) {
            (Value::Int(_) | Value::Float(_), Value::Scalar(other)) => {
                let dtype = self.builder.ty(*other).dtype().unwrap_or(DEFAULT_INT);
                let literal = match value {
                    Value::Float(x) => Literal::Float(x),
                    Value::Int(n) => Literal::Int(n),
                    _ => return value,
                };
                self.literal(literal, dtype, place).map_or(Value::Poison, Value::Scalar)
            }
            (Value::Scalar(v), Value::Scalar(other)) => Value::Scalar(self.same_dtype(*v, *other)),
            (Value::Tile(v), Value::Tile(other)) => Value::Tile(self.same_dtype(*v, *other)),
            (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
                Value::Tuple(a.iter().zip(b.iter()).map(|(x, y)| self.adapted(x.clone(), y, place)).collect())
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                Value::Array(a.iter().zip(b.iter()).map(|(x, y)| self.adapted(x.clone(), y, place)).collect())
            }
            _ => value,
        }
    }

    fn same_dtype(&mut self, value: ValueId, like: ValueId) -> ValueId {
        let (Some(found), Some(wanted)) = (self.builder.ty(value).dtype(), self.builder.ty(like).dtype()) else {
            return value;
        };
        if found == wanted {
            return value;
        }
        if let Some(value) = self.infer(value, wanted) {
            return value;
        }
        // The other one may be the guess; the next walk then starts with the right type.
        match self.infer(like, found) {
            Some(_) => self.builder.cast(value, wanted, crate::ir::Round::None, self.origin(value)).unwrap_or(value),
            None => value,
        }
    }

    /// Reports a variable that control flow leaves with a value of another kind.
    pub fn kind_changed(&mut self, name: &str, loc: Loc) {
        self.error(codes::LOOP_TYPES, loc, format!("`{name}` changes what kind of value it holds"), "assigned here");
    }
}

/// Whether the IR can carry the value: scalars, literals as scalars, tiles, and tuples and arrays of them.
fn is_carriable(value: &Value) -> bool {
    match value {
        Value::Scalar(_) | Value::Int(_) | Value::Float(_) | Value::Tile(_) => true,
        Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(is_carriable),
        _ => false,
    }
}

/// The IR values that a carriable value consists of; `None` if it is not of the same structure as `like`.
pub(super) fn flatten(value: &Value, like: &Value, into: &mut Vec<ValueId>) -> Option<()> {
    match (value, like) {
        (Value::Scalar(v), Value::Scalar(_)) | (Value::Tile(v), Value::Tile(_)) => into.push(*v),
        (Value::Tuple(a), Value::Tuple(b)) | (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (x, y) in a.iter().zip(b.iter()) {
                flatten(x, y, into)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// A value of the structure of `like` with other IR values.
pub(super) fn rebuild(like: &Value, values: &mut impl Iterator<Item = ValueId>) -> Value {
    match like {
        Value::Scalar(old) => Value::Scalar(values.next().unwrap_or(*old)),
        Value::Tile(old) => Value::Tile(values.next().unwrap_or(*old)),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(|p| rebuild(p, values)).collect()),
        Value::Array(parts) => Value::Array(parts.iter().map(|p| rebuild(p, values)).collect()),
        other => other.clone(),
    }
}
