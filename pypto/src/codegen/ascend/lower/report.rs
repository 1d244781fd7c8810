//! Values that a kernel shows, for the simulator: an instruction that the assembler reads as a comment.

use super::tile::Tile;
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Kind, Value};
use crate::ir::report::site_number;
use crate::ir::{DType, Op, Type, ValueId};

impl Lowering<'_> {
    pub(super) fn report(&mut self, op: &Op) -> Outcome<()> {
        let mut values = Vec::new();
        for operand in &op.operands {
            values.push(match self.source.ty(*operand) {
                Type::Tile(ty) if ty.dtype == DType::Bool => return Err(self.refuse(op, "of masks")),
                Type::Tile(_) => self.shown_tile(*operand)?,
                Type::Tensor(_) => self.shown_tensor(op, *operand)?,
                _ => self.scalar(*operand)?,
            });
        }
        let site = site_number(self.source, op).ok_or_else(|| self.internal("a report is not of its kernel"))?;
        self.push(Kind::Report { site, values });
        Ok(())
    }

    fn shown_tile(&mut self, value: ValueId) -> Outcome<Value> {
        let tile = self.tile(value)?;
        let Some(ty) = self.source.ty(value).as_tile().cloned() else {
            return Err(self.internal("a shown tile is none"));
        };
        let (_, _, valid) = self.extents(&ty)?;
        let tile = Tile { valid, ..tile };
        let handle = self.data(&tile)?;
        self.with_valid(handle, tile.valid)
    }

    /// The pointer of a parameter; of a part of one there is no address.
    fn shown_tensor(&mut self, op: &Op, value: ValueId) -> Outcome<Value> {
        let Some(Held::Tensor(tensor)) = self.held.get(&value).cloned() else {
            return Err(self.internal("a tensor is missing"));
        };
        let whole = tensor.dropped == 0 && tensor.origin.iter().all(|at| self.known(*at) == Some(0));
        if whole { Ok(tensor.pointer) } else { Err(self.refuse(op, "of a part of a tensor that the kernel writes")) }
    }
}
