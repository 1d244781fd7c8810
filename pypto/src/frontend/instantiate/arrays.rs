//! Arrays on core: groups of values, of which an index picks one. With an index that is known this costs nothing;
//! otherwise it is a choice among all elements, which is why arrays are short.

use std::rc::Rc;

use super::coerce::Operand;
use super::method::MethodCall;
use super::value::Value;
use super::{Flow, Site, Walker};
use crate::diagnostics::codes;
use crate::frontend::generic::{BinaryOp, Expr, Ident};
use crate::ir::{Loc, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// The longest array that an index of run time chooses from, and that `[value; LENGTH]` makes; `pypto-macros` has the same limit for
/// literals.
const MAX_ELEMENTS: usize = 64;

impl Walker<'_> {
    /// `[value; LENGTH]`
    pub fn repeat_expression(&mut self, value: &'static Expr, length: &'static Expr) -> Flow<Value> {
        let (value, length) = (self.operand(value), self.operand(length));
        let (value, length) = (value?, length?);
        let count = self.constant_of(&length, "the length of an array")?;
        match usize::try_from(count).ok().filter(|n| *n <= MAX_ELEMENTS) {
            Some(count) => Ok(Value::Array(vec![value.value; count].into())),
            None => {
                let title = format!("an array in a kernel has at most {MAX_ELEMENTS} elements, got {count}");
                Err(self.error(codes::PARAMETER_RANGE, length.loc, title, "use a tile or a tensor"))
            }
        }
    }

    /// Methods of arrays: their length, and what gives their elements to a loop.
    pub fn array_method(&mut self, parts: &Rc<[Value]>, call: &MethodCall) -> Flow<Option<Value>> {
        let value = match call.name {
            "len" => Value::Int(parts.len() as i64),
            "iter" | "into_iter" | "copied" | "cloned" => Value::Array(parts.clone()),
            "rev" => Value::Array(parts.iter().rev().cloned().collect()),
            "enumerate" => {
                let numbered = |(i, part): (usize, &Value)| Value::Tuple([Value::Int(i as i64), part.clone()].into());
                Value::Array(parts.iter().enumerate().map(numbered).collect())
            }
            _ => return Ok(None),
        };
        let [] = self.exactly(call.name, call.args.clone(), call.loc)?;
        Ok(Some(value))
    }

    /// `base[index]`
    pub fn index_expression(&mut self, base: &'static Expr, index: &'static Expr) -> Flow<Value> {
        let (base, index) = (self.operand(base), self.operand(index));
        let (base, index) = (base?, index?);
        let Value::Array(parts) = &base.value else {
            return Err(self.unexpected("an array", &base));
        };
        self.element(parts, &index)
    }

    fn element(&mut self, parts: &Rc<[Value]>, index: &Operand) -> Flow<Value> {
        if let Some(at) = self.known_index(parts.len(), index)? {
            return Ok(parts[at].clone());
        }
        self.short_enough(parts, index)?;
        let at = self.checked_index(parts.len(), index)?;
        let parts = self.scalars(parts, index.loc)?;
        let Some((first, rest)) = parts.split_first() else { return Err(super::Reported) };
        let mut chosen = *first;
        for (position, part) in rest.iter().enumerate() {
            let here = self.is_at(at, position + 1, index.loc)?;
            let outcome = self.builder.select(here, *part, chosen, index.loc);
            chosen = self.check(outcome, &Site::new("index", index.loc))?;
            self.propagate(chosen, &parts);
        }
        Ok(Value::Scalar(chosen))
    }

    /// `target[index] = value` and `target[index] op= value`.
    pub fn assign_element(
        &mut self,
        target: Ident,
        index: &'static Expr,
        op: Option<BinaryOp>,
        value: &'static Expr,
        loc: Loc,
    ) {
        let outcome = self.array_with(target, index, op, value, loc);
        let place = self.loc(value.span);
        match self.scope.find(target.name) {
            Some(slot) => self.scope.set(slot, Some(outcome.unwrap_or(Value::Poison)), place),
            None => {
                let at = self.loc(target.span);
                self.error(codes::UNKNOWN_NAME, at, format!("`{}` is not known in this kernel", target.name), "");
            }
        }
    }

    /// The array with another element.
    fn array_with(
        &mut self,
        target: Ident,
        index: &'static Expr,
        op: Option<BinaryOp>,
        value: &'static Expr,
        loc: Loc,
    ) -> Flow<Value> {
        let place = self.loc(target.span);
        let present = self.scope.find(target.name).and_then(|slot| self.scope.get(slot).value.clone());
        let array = Operand { value: present.ok_or(super::Reported)?, loc: place, name: format!("`{}`", target.name) };
        let Value::Array(parts) = &array.value else { return Err(self.unexpected("an array", &array)) };
        let (index, value) = (self.operand(index), self.operand(value));
        let (index, value) = (index?, value?);
        let value = match op {
            None => value,
            Some(op) => {
                let left = self.element(parts, &index)?;
                let left = Operand { value: left, ..array.clone() };
                Operand { value: self.binary_values(op, &left, &value, loc)?, ..value }
            }
        };
        let mut changed = parts.to_vec();
        if let Some(at) = self.known_index(parts.len(), &index)? {
            changed[at] = self.adapted(value.value, &parts[at], value.loc);
            return Ok(Value::Array(changed.into()));
        }
        self.short_enough(parts, &index)?;
        let at = self.checked_index(parts.len(), &index)?;
        let parts = self.scalars(parts, loc)?;
        for (position, part) in parts.iter().enumerate() {
            let like = Value::Scalar(*part);
            let Value::Scalar(new) = self.adapted(value.value.clone(), &like, value.loc) else {
                return Err(self.unexpected("a scalar", &value));
            };
            let here = self.is_at(at, position, index.loc)?;
            let outcome = self.builder.select(here, new, *part, loc);
            let result = self.check(outcome, &Site::new("index", loc))?;
            self.propagate(result, &[new, *part]);
            changed[position] = Value::Scalar(result);
        }
        Ok(Value::Array(changed.into()))
    }

    /// The index, where it is known; it must lie within the array.
    fn known_index(&mut self, length: usize, index: &Operand) -> Flow<Option<usize>> {
        let at = match index.value {
            Value::Int(n) => Some(n),
            _ => {
                let value = self.index_of(index)?;
                self.builder.constant(value)
            }
        };
        let Some(at) = at else { return Ok(None) };
        match usize::try_from(at).ok().filter(|at| *at < length) {
            Some(at) => Ok(Some(at)),
            None => {
                let title = format!("index {at} lies outside an array of {length} elements");
                Err(self.error(codes::OUT_OF_BOUNDS, index.loc, title, ""))
            }
        }
    }

    /// A choice at run time looks at every element.
    fn short_enough(&mut self, parts: &[Value], index: &Operand) -> Flow<()> {
        if parts.len() <= MAX_ELEMENTS {
            return Ok(());
        }
        let title = format!(
            "an index that is known at run time only chooses from at most {MAX_ELEMENTS} elements, and the array has {}",
            parts.len()
        );
        Err(self.error(codes::PARAMETER_RANGE, index.loc, title, "pass a tensor, and read it with `get`"))
    }

    /// An index that is known at run time only; the kernel stops where it lies outside.
    fn checked_index(&mut self, length: usize, index: &Operand) -> Flow<ValueId> {
        let (at, loc) = (self.index_of(index)?, index.loc);
        let (zero, end) = (self.builder.index(0, loc), self.builder.index(length as i64, loc));
        for (kind, bound) in [(OpKind::CmpGe, zero), (OpKind::CmpLt, end)] {
            let holds = self.builder.binary(kind, at, bound, loc);
            let holds = self.check(holds, &Site::new("index", loc))?;
            let message = format!("index {{}} lies outside the array of {length} elements");
            self.require_showing(holds, &message, &[at], loc)?;
        }
        Ok(at)
    }

    fn is_at(&mut self, at: ValueId, position: usize, loc: Loc) -> Flow<ValueId> {
        let position = self.builder.index(position as i64, loc);
        let here = self.builder.binary(OpKind::CmpEq, at, position, loc);
        self.check(here, &Site::new("index", loc))
    }

    /// The elements as scalars of one type, which a choice at run time needs.
    fn scalars(&mut self, parts: &[Value], loc: Loc) -> Flow<Vec<ValueId>> {
        let dtype = parts.iter().find_map(|part| self.dtype_of(part));
        let mut scalars = Vec::with_capacity(parts.len());
        for part in parts {
            let part = match (part, dtype) {
                (Value::Int(n), Some(dtype)) => self.literal(Literal::Int(*n), dtype, loc).map(Value::Scalar)?,
                (Value::Float(x), Some(dtype)) => self.literal(Literal::Float(*x), dtype, loc).map(Value::Scalar)?,
                (part, _) => self.definite(part.clone(), loc),
            };
            match part {
                Value::Scalar(value) => scalars.push(value),
                Value::Poison => return Err(super::Reported),
                other => {
                    let title = format!("an array of {} with an index that is known at run time only", plural(&other));
                    let help = "arrays of scalars can be indexed so; of others, use `unroll` to make the index known";
                    return Err(self.unsupported(loc, &title, help));
                }
            }
        }
        Ok(scalars)
    }
}

fn plural(value: &Value) -> &'static str {
    match value {
        Value::Tile(_) => "tiles",
        Value::Tensor(_) => "tensors",
        _ => "such values",
    }
}
