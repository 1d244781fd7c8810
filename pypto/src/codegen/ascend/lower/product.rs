//! Products on the matrix unit.

use super::tile::Tile;
use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::Value;
use crate::ir::{Op, ValueId};

impl Lowering<'_> {
    pub(super) fn product(&mut self, op: &Op) -> Outcome<()> {
        Err(self.refuse(op, "in a kernel"))
    }

    pub(super) fn store_product(&mut self, op: &Op) -> Outcome<()> {
        Err(self.refuse(op, "in a kernel"))
    }

    pub(super) fn carried_accumulator(&mut self, _initial: ValueId, _shape: &Tile) -> Outcome<(Value, Tile)> {
        Err(self.refusal(self.loc, "accumulator", "carried by a loop"))
    }
}
