//! Extents: valid extents out of bounds, and strides of tensors.

use super::super::Loc;
use super::super::nodes::ValueId;
use super::super::types::{Extent, contiguous_strides};
use super::Builder;
use crate::ops::OpKind;
use crate::ops::rules::{Bound, Request, RuleError};

impl Builder {
    /// The smaller of two extents.
    pub fn min_extent(&mut self, a: Extent, b: Extent, loc: Loc) -> Result<Extent, RuleError> {
        match (a, b) {
            (a, b) if a == b => Ok(a),
            (Extent::Const(a), Extent::Const(b)) => Ok(Extent::Const(a.min(b))),
            (a, b) => {
                let (a, b) = (self.extent_value(a, loc), self.extent_value(b, loc));
                let least = self.binary(OpKind::Min, a, b, loc)?;
                Ok(self.extent(least))
            }
        }
    }

    /// The product of two extents.
    pub fn mul_extent(&mut self, a: Extent, b: Extent, loc: Loc) -> Result<Extent, RuleError> {
        let (a, b) = (self.extent_value(a, loc), self.extent_value(b, loc));
        let product = self.binary(OpKind::Mul, a, b, loc)?;
        Ok(self.extent(product))
    }

    /// `limit - offset`, not below 0.
    pub fn remaining(&mut self, limit: Extent, offset: ValueId, loc: Loc) -> Result<Extent, RuleError> {
        let limit = self.extent_value(limit, loc);
        let rest = self.binary(OpKind::Sub, limit, offset, loc)?;
        let zero = self.index(0, loc);
        let rest = self.binary(OpKind::Max, rest, zero, loc)?;
        Ok(self.extent(rest))
    }

    /// Builds the index arithmetic of a bound.
    pub(super) fn bound(&mut self, bound: &Bound, loc: Loc) -> Result<Extent, RuleError> {
        match bound {
            Bound::Is(extent) => Ok(*extent),
            Bound::Min(list) => {
                let mut least = self.bound(&list[0], loc)?;
                for other in &list[1..] {
                    let other = self.bound(other, loc)?;
                    least = self.min_extent(least, other, loc)?;
                }
                Ok(least)
            }
            Bound::Repeat { valid, dim } => self.mul_extent(*valid, *dim, loc),
            Bound::Remaining { limit, offset } => self.remaining(*limit, *offset, loc),
        }
    }

    /// The request with strides where `alloc` or `view` were asked without: contiguous, or those of the source.
    pub(super) fn with_strides(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        request: &Request,
        loc: Loc,
    ) -> Result<Option<Request>, RuleError> {
        let (Some(dims), None) = (&request.dims, &request.strides) else { return Ok(None) };
        let strides = match kind {
            OpKind::Alloc => self.row_major_strides(dims, loc)?,
            OpKind::View => match operands.first().and_then(|v| self.tensor_type(*v)) {
                Some(source) => source.strides[source.rank().saturating_sub(dims.len())..].to_vec(),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Request { strides: Some(strides), ..request.clone() }))
    }

    /// Strides of a contiguous row-major tensor.
    pub fn row_major_strides(&mut self, dims: &[Extent], loc: Loc) -> Result<Vec<Extent>, RuleError> {
        if let Some(strides) = contiguous_strides(dims) {
            return Ok(strides);
        }
        let mut strides = vec![Extent::Const(1); dims.len()];
        for axis in (0..dims.len().saturating_sub(1)).rev() {
            strides[axis] = self.mul_extent(strides[axis + 1], dims[axis + 1], loc)?;
        }
        Ok(strides)
    }
}
