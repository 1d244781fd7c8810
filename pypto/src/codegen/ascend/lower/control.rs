//! Loops and branches. Numbers are carried as values; a carried tile stays in one place, which every iteration overwrites.

use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Carried, Inst, Kind, Region, TileOp, Value};
use crate::ir::{Block, Op, ValueId};

impl Lowering<'_> {
    pub(super) fn for_op(&mut self, op: &Op) -> Outcome<()> {
        let bounds = [self.scalar(op.operands[0])?, self.scalar(op.operands[1])?, self.scalar(op.operands[2])?];
        let region = &op.regions[0];
        let mut carried: Vec<(Value, Value)> = Vec::new();
        let mut tiles: Vec<Option<(Value, Tile)>> = Vec::new();
        for (initial, argument) in op.operands[3..].iter().zip(&region.args[1..]) {
            if self.is_scalar(*argument) {
                let initial = self.scalar(*initial)?;
                let ty = self.ty(initial).clone();
                let inner = self.fresh(&self.name_of(*argument), ty);
                carried.push((inner, initial));
                self.bind(*argument, Held::Scalar(inner));
                tiles.push(None);
            } else {
                let (place, tile) = self.carried_tile(*initial, *argument)?;
                self.bind(*argument, Held::Tile(tile.clone()));
                tiles.push(Some((place, tile)));
            }
        }
        let index = self.fresh(&self.name_of(region.args[0]), crate::codegen::ascend::dialect::Ty::Index);
        self.bind(region.args[0], Held::Scalar(index));
        self.bodies.push(Vec::new());
        self.block(region)?;
        let yields = self.yield_into(&region.yields, &tiles)?;
        let mut body = self.bodies.pop().unwrap_or_default();
        for place in tiles.iter().flatten() {
            super::super::coalesce::into_place(&mut body, place.0, &self.function);
        }
        self.at(op.loc);
        let mut numbers = carried.into_iter();
        let mut all = Vec::new();
        for (result, tile) in op.results.iter().zip(tiles) {
            match (tile, numbers.next_if_scalar(self.is_scalar(*result))) {
                (Some((_, tile)), _) => self.finish_tile(*result, tile)?,
                (None, Some((argument, initial))) => {
                    let ty = self.ty(initial).clone();
                    let outer = self.fresh(&self.name_of(*result), ty);
                    all.push(Carried { result: outer, argument, initial });
                    self.bind(*result, Held::Scalar(outer));
                }
                (None, None) => return Err(self.internal("a loop loses a value")),
            }
        }
        let [lower, upper, step] = bounds;
        self.push(Kind::For { index, lower, upper, step, carried: all, body, yields });
        Ok(())
    }

    fn finish_tile(&mut self, result: ValueId, tile: Tile) -> Outcome<()> {
        let shape = self.shape_of(result)?;
        self.bind(result, Held::Tile(Tile { valid: shape.valid, name: shape.name, ..tile }));
        Ok(())
    }

    /// The place of a carried tile, holding its initial value.
    fn carried_tile(&mut self, initial: ValueId, argument: ValueId) -> Outcome<(Value, Tile)> {
        let shape = self.shape_of(argument)?;
        if shape.dtype == crate::ir::DType::Bool {
            return Err(self.refusal(self.loc, "tile of `bool`", "carried by control flow"));
        }
        if self.function.core == crate::codegen::ascend::dialect::Core::Cube {
            return self.carried_accumulator(initial, &shape);
        }
        let tile = self.tile(initial)?;
        let (place, held) = self.room(&shape, shape.dtype);
        self.copy_into(&Tile { valid: shape.valid, ..tile }, place)?;
        Ok((place, held))
    }

    /// Writes a tile to the place of another of the same shape.
    fn copy_into(&mut self, tile: &Tile, place: Value) -> Outcome<()> {
        match tile.repr {
            Repr::Fill(number) => {
                self.check_elements(TileOp::Fill, tile.dtype)?;
                let out = self.in_rows(&tile.with(Repr::Data(place), tile.dtype))?;
                self.tile_op(TileOp::Fill, &[number], out);
            }
            Repr::Data(handle) if handle == place => {}
            Repr::Data(handle) => self.tile_op(TileOp::Move, &[handle], place),
            Repr::Mask(_) => return Err(self.refusal(self.loc, "tile of `bool`", "carried by control flow")),
        }
        Ok(())
    }

    /// Copies what a body yields into the places of carried tiles; gives the numbers.
    fn yield_into(&mut self, yields: &[ValueId], tiles: &[Option<(Value, Tile)>]) -> Outcome<Vec<Value>> {
        let mut numbers = Vec::new();
        let mut copies: Vec<(Tile, Value)> = Vec::new();
        let places: Vec<Value> = tiles.iter().flatten().map(|(place, _)| *place).collect();
        for (value, tile) in yields.iter().zip(tiles) {
            let Some((place, _)) = tile else {
                numbers.push(self.scalar(*value)?);
                continue;
            };
            let mut yielded = self.tile(*value)?;
            if let Repr::Data(handle) = yielded.repr
                && handle != *place
                && places.contains(&handle)
            {
                // Another carried tile, which may be overwritten before it is read: through a copy.
                let (copy, held) = self.room(&yielded, yielded.dtype);
                self.tile_op(TileOp::Move, &[handle], copy);
                yielded = held;
            }
            copies.push((yielded, *place));
        }
        for (tile, place) in copies {
            self.copy_into(&tile, place)?;
        }
        Ok(numbers)
    }

    pub(super) fn if_op(&mut self, op: &Op) -> Outcome<()> {
        let condition = self.scalar(op.operands[0])?;
        let mut tiles: Vec<Option<(Value, Tile)>> = Vec::new();
        for result in &op.results {
            if self.is_scalar(*result) {
                tiles.push(None);
                continue;
            }
            let shape = self.shape_of(*result)?;
            if shape.dtype == crate::ir::DType::Bool
                || self.function.core == crate::codegen::ascend::dialect::Core::Cube
            {
                return Err(self.refuse(op, "that gives such a tile"));
            }
            tiles.push(Some(self.room(&shape, shape.dtype)));
        }
        let then = self.branch(op.regions.first(), &tiles)?;
        let otherwise = self.branch(op.regions.get(1), &tiles)?;
        self.at(op.loc);
        let mut results = Vec::new();
        let mut numbers = then.yields.clone().into_iter();
        for (result, tile) in op.results.iter().zip(tiles) {
            match (tile, numbers.next_if_scalar(self.is_scalar(*result))) {
                (Some((_, tile)), _) => self.finish_tile(*result, tile)?,
                (None, Some(number)) => {
                    let ty = self.ty(number).clone();
                    let outer = self.fresh(&self.name_of(*result), ty);
                    results.push(outer);
                    self.bind(*result, Held::Scalar(outer));
                }
                (None, None) => return Err(self.internal("a branch loses a value")),
            }
        }
        self.push(Kind::If { condition, results, then, otherwise });
        Ok(())
    }

    fn branch(&mut self, block: Option<&Block>, tiles: &[Option<(Value, Tile)>]) -> Outcome<Region> {
        let Some(block) = block else { return Ok(Region::default()) };
        self.bodies.push(Vec::new());
        self.block(block)?;
        let yields = self.yield_into(&block.yields, tiles)?;
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        Ok(Region { body, yields })
    }
}

/// Takes the next entry where the value at hand is a number.
trait NextIfScalar: Iterator {
    fn next_if_scalar(&mut self, scalar: bool) -> Option<Self::Item>;
}

impl<I: Iterator> NextIfScalar for I {
    fn next_if_scalar(&mut self, scalar: bool) -> Option<I::Item> {
        if scalar { self.next() } else { None }
    }
}
