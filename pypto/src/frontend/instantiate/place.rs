//! Offsets and extents of accesses: evaluated, and proved to lie inside or checked at run time.

use super::coerce::Operand;
use super::rule_message::out_of_bounds;
use super::value::{At, Value};
use super::{Flow, Reported, Site, Walker};
use crate::diagnostics::codes;
use crate::ir::{Extent, Loc, ValueId};
use crate::ops::OpKind;

/// Elements that a tile may have. An address space holds no more, and below it no arithmetic on extents overflows.
const MOST_ELEMENTS: i64 = 1 << 47;

/// An access to be proved or checked.
pub(super) struct Access<'a> {
    /// What is accessed, as messages call it.
    pub name: &'a str,
    /// The method.
    pub spelled: &'a str,
    pub loc: Loc,
}

impl Walker<'_> {
    /// The elements of an array expression.
    fn elements(&mut self, operand: &Operand) -> Flow<Vec<Operand>> {
        match &operand.value {
            Value::Array(parts) => {
                Ok(parts.iter().map(|value| Operand { value: value.clone(), ..operand.clone() }).collect())
            }
            _ => Err(self.unexpected("an array", operand)),
        }
    }

    /// Offsets or indices: one `i64` scalar a dimension.
    pub fn offsets(&mut self, operand: &Operand) -> Flow<Vec<ValueId>> {
        self.elements(operand)?.iter().map(|e| self.index_of(e)).collect()
    }

    /// Extents, known or not.
    pub fn extents(&mut self, operand: &Operand) -> Flow<Vec<Extent>> {
        let values = self.offsets(operand)?;
        Ok(values.into_iter().map(|v| self.builder.extent(v)).collect())
    }

    /// Extents that decide what code is generated, so must be known; `what` names one in errors.
    pub fn known_extents(&mut self, operand: &Operand, what: &str) -> Flow<Vec<i64>> {
        let mut extents = Vec::new();
        for element in self.elements(operand)? {
            let extent = self.constant_of(&element, what)?;
            if extent < 0 {
                let title = format!("{what} must not be negative, got {extent}");
                return Err(self.error(codes::PARAMETER_RANGE, operand.loc, title, ""));
            }
            extents.push(extent);
        }
        if extents.iter().fold(1i64, |n, extent| n.saturating_mul((*extent).max(1))) > MOST_ELEMENTS {
            let title = format!("{what} is out of range: {extents:?} is more than memory can hold");
            return Err(self.error(codes::PARAMETER_RANGE, operand.loc, title, ""));
        }
        Ok(extents)
    }

    /// A place: an `At`, or an array of offsets.
    pub fn place(&mut self, operand: &Operand) -> Flow<Result<std::rc::Rc<At>, Vec<ValueId>>> {
        match &operand.value {
            Value::At(at) => Ok(Ok(at.clone())),
            Value::Array(_) => self.offsets(operand).map(Err),
            _ => Err(self.unexpected("a place or an array of offsets", operand)),
        }
    }

    /// `0 <= offset` and `offset + size <= extent`: known, an error, or checked at run time.
    pub fn within(&mut self, access: &Access<'_>, axis: usize, offset: ValueId, size: Extent, dim: Extent) -> Flow<()> {
        let site = Site::new(access.spelled, access.loc);
        let loc = access.loc;
        let zero = self.builder.index(0, loc);
        let starts = self.builder.binary(OpKind::CmpLe, zero, offset, loc);
        let starts = self.check(starts, &site)?;
        let limit = self.builder.extent_value(dim, loc);
        if self.is_rest(size, offset, limit) {
            return self.holds(&[starts], access, axis, (offset, size, dim));
        }
        let ends = if size == Extent::Const(1) {
            self.builder.binary(OpKind::CmpLt, offset, limit, loc)
        } else {
            let size = self.builder.extent_value(size, loc);
            let end = self.builder.binary(OpKind::Add, offset, size, loc);
            let end = self.check(end, &site)?;
            self.builder.binary(OpKind::CmpLe, end, limit, loc)
        };
        let ends = self.check(ends, &site)?;
        self.holds(&[starts, ends], access, axis, (offset, size, dim))
    }

    /// Conditions of an access: known to be true, known to be false and an error, or checked at run time.
    fn holds(
        &mut self,
        conditions: &[ValueId],
        access: &Access<'_>,
        axis: usize,
        (offset, size, dim): (ValueId, Extent, Extent),
    ) -> Flow<()> {
        let (message, values) = self.outside_message(access, axis, (offset, size, dim));
        for holds in conditions {
            if !self.require_showing(*holds, &message, &values, access.loc)? {
                let (offset, extent) = (self.builder.fact(offset).lo, dim.constant().unwrap_or(0));
                let size = size.constant().unwrap_or(0);
                let site = Site::new(access.spelled, access.loc);
                let diagnostic = out_of_bounds(&site, access.name, axis, offset, size, extent);
                return Err(self.report(diagnostic));
            }
        }
        Ok(())
    }

    /// What a run-time check of an access says, with placeholders for what is known at run time only.
    fn outside_message(
        &self,
        access: &Access<'_>,
        axis: usize,
        (offset, size, dim): (ValueId, Extent, Extent),
    ) -> (String, Vec<ValueId>) {
        let mut values = Vec::new();
        let mut shown = |extent: Extent| match extent {
            Extent::Const(n) => n.to_string(),
            Extent::Value(value) => {
                values.push(value);
                "{}".to_owned()
            }
        };
        let offset = self.builder.extent(offset);
        let part = match size {
            Extent::Const(0) if access.spelled == "set_valid" => shown(offset),
            Extent::Const(0) => format!("offset {}", shown(offset)),
            Extent::Const(1) => format!("index {}", shown(offset)),
            size => format!("{} from {} on", shown(size), shown(offset)),
        };
        let name = access.name.replace('{', "{{").replace('}', "}}");
        let dim = shown(dim);
        (format!("`{}` reaches outside {name} in dimension {axis}: {part} of {dim}", access.spelled), values)
    }

    /// Whether `size` is `limit - offset` or the minimum of that and something: then the access ends inside.
    fn is_rest(&self, size: Extent, offset: ValueId, limit: ValueId) -> bool {
        let Extent::Value(size) = size else { return false };
        match self.builder.definition(size) {
            Some((OpKind::Sub, operands)) => operands == [limit, offset],
            Some((OpKind::Min, operands)) => operands.iter().any(|v| self.is_rest(Extent::Value(*v), offset, limit)),
            _ => false,
        }
    }

    /// Every dimension of an access within a container.
    pub fn all_within(
        &mut self,
        access: &Access<'_>,
        offsets: &[ValueId],
        sizes: &[Extent],
        dims: &[Extent],
    ) -> Flow<()> {
        if offsets.len() != dims.len() || sizes.len() != dims.len() {
            let found = if offsets.len() != dims.len() { offsets.len() } else { sizes.len() };
            let title = format!("`{}` needs {} numbers for {}, got {found}", access.spelled, dims.len(), access.name);
            return Err(self.error(codes::RANK, access.loc, title, ""));
        }
        let mut outcome = Ok(());
        for axis in 0..dims.len() {
            if self.within(access, axis, offsets[axis], sizes[axis], dims[axis]).is_err() {
                outcome = Err(Reported);
            }
        }
        outcome
    }

    /// A tile may start anywhere in a tensor; what reaches beyond its end is not valid.
    pub fn starts_within(&mut self, access: &Access<'_>, offsets: &[ValueId], dims: &[Extent]) -> Flow<()> {
        let sizes = vec![Extent::Const(0); offsets.len()];
        self.all_within(access, offsets, &sizes, dims)
    }
}
