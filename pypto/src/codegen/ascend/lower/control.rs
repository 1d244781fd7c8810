//! Loops and branches. Numbers are carried as values; a carried tile stays in one place, which every iteration overwrites.
//!
//! Where the valid extents of a carried tile are themselves carried, the place has the physical extents, and windows over
//! it say how far it is valid.

use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome};
use crate::codegen::ascend::dialect::{Carried, Core, Inst, Kind, Region, TileOp, Ty, Value};
use crate::ir::{Block, DType, Op, ValueId};

/// Where a carried tile lives.
#[derive(Clone)]
struct Place {
    handle: Value,
    /// The tile, without its valid extents where these move.
    tile: Tile,
    /// Whether valid extents are carried too.
    moves: bool,
}

impl Lowering<'_> {
    pub(super) fn for_op(&mut self, op: &Op) -> Outcome<()> {
        let bounds = [self.scalar(op.operands[0])?, self.scalar(op.operands[1])?, self.scalar(op.operands[2])?];
        let region = &op.regions[0];
        let mut from_zeros: Vec<Value> = Vec::new();
        // Before the numbers are bound: a place must not depend on what an iteration is handed.
        let mut places: Vec<Option<Place>> = Vec::new();
        for (initial, argument) in op.operands[3..].iter().zip(&region.args[1..]) {
            places.push(match self.is_scalar(*argument) {
                true => None,
                false => Some(self.carried_place(*initial, *argument, &region.args, &mut from_zeros)?),
            });
        }
        let mut carried: Vec<(Value, Value)> = Vec::new();
        for (initial, argument) in op.operands[3..].iter().zip(&region.args[1..]) {
            if self.is_scalar(*argument) {
                let initial = self.scalar(*initial)?;
                let ty = self.ty(initial).clone();
                let inner = self.fresh(&self.name_of(*argument), ty);
                carried.push((inner, initial));
                self.bind(*argument, Held::Scalar(inner));
            }
        }
        let index = self.fresh(&self.name_of(region.args[0]), Ty::Index);
        self.bind(region.args[0], Held::Scalar(index));
        self.bodies.push(Vec::new());
        for (argument, place) in region.args[1..].iter().zip(&places) {
            if let Some(place) = place {
                self.bind_place(*argument, place)?;
            }
        }
        if !from_zeros.is_empty() {
            self.check_runs(op, &bounds)?;
            let condition = self.arith_to("cmpi", Some("eq"), &[index, bounds[0]], Ty::Scalar(DType::Bool));
            self.first_products.extend(from_zeros.iter().map(|place| (*place, condition)));
        }
        self.block(region)?;
        from_zeros.iter().for_each(|place| {
            self.first_products.remove(place);
        });
        let yields = self.yield_into(&region.yields, &places)?;
        let mut body = self.bodies.pop().unwrap_or_default();
        for place in places.iter().flatten() {
            super::super::coalesce::into_place(&mut body, place.handle, &self.function);
        }
        self.at(op.loc);
        let mut all = Vec::new();
        let mut numbers = carried.into_iter();
        for result in &op.results {
            if self.is_scalar(*result) {
                let Some((argument, initial)) = numbers.next() else {
                    return Err(self.internal("a loop loses a value"));
                };
                let ty = self.ty(initial).clone();
                let outer = self.fresh(&self.name_of(*result), ty);
                all.push(Carried { result: outer, argument, initial });
                self.bind(*result, Held::Scalar(outer));
            }
        }
        let [lower, upper, step] = bounds;
        self.push(Kind::For { index, lower, upper, step, carried: all, body, yields });
        self.bind_results(op, &places)
    }

    /// The first product of a loop overwrites the accumulator, so there has to be one.
    fn check_runs(&self, op: &Op, bounds: &[Value; 3]) -> Outcome<()> {
        match (self.known(bounds[0]), self.known(bounds[1])) {
            (Some(lower), Some(upper)) if lower < upper => Ok(()),
            _ => Err(self.refusal(op.loc, "accumulating loop", "that may not run at all")),
        }
    }

    /// The place of a carried tile, holding its initial value.
    fn carried_place(
        &mut self,
        initial: ValueId,
        argument: ValueId,
        arguments: &[ValueId],
        from_zeros: &mut Vec<Value>,
    ) -> Outcome<Place> {
        let moves = self.extents_among(argument, arguments);
        let shape = self.place_shape(argument, moves)?;
        if self.function.core == Core::Cube {
            let (handle, tile, zeros) = self.carried_accumulator(initial, &shape)?;
            from_zeros.extend(zeros.then_some(handle));
            return Ok(Place { handle, tile, moves });
        }
        let value = self.tile(initial)?;
        let (handle, tile) = self.room(&shape, shape.dtype);
        let place = Place { handle, tile, moves };
        self.copy_into(&value, &place)?;
        Ok(place)
    }

    /// Whether the valid extents of a tile are among the given values.
    fn extents_among(&self, value: ValueId, values: &[ValueId]) -> bool {
        self.source.ty(value).extents().filter_map(|e| e.value()).any(|v| values.contains(&v))
    }

    /// The shape of a carried tile's place: with its physical extents where the valid ones move.
    fn place_shape(&mut self, value: ValueId, moves: bool) -> Outcome<Tile> {
        let Some(mut ty) = self.source.ty(value).as_tile().cloned() else {
            return Err(self.internal("a tile type is missing"));
        };
        if ty.dtype == DType::Bool {
            return Err(self.refusal(self.loc, "tile of `bool`", "carried by control flow"));
        }
        if moves {
            ty.valid = ty.dims.clone();
        }
        let (rows, cols, valid) = self.extents(&ty)?;
        let nothing = self.index(0);
        Ok(Tile { repr: Repr::Fill(nothing), dtype: ty.dtype, rows, cols, valid, name: self.name_of(value) })
    }

    /// Binds a value to a place, seen through a window where valid extents move.
    fn bind_place(&mut self, value: ValueId, place: &Place) -> Outcome<()> {
        let shape = self.shape_of(value)?;
        let handle = self.with_valid(place.handle, shape.valid)?;
        self.bind(value, Held::Tile(shape.with(Repr::Data(handle), place.tile.dtype)));
        Ok(())
    }

    /// Binds the tiles that control flow gives, once its numbers are bound.
    fn bind_results(&mut self, op: &Op, places: &[Option<Place>]) -> Outcome<()> {
        for (result, place) in op.results.iter().zip(places) {
            if let Some(place) = place {
                self.bind_place(*result, place)?;
            }
        }
        Ok(())
    }

    /// Writes a tile to a place.
    fn copy_into(&mut self, tile: &Tile, place: &Place) -> Outcome<()> {
        let to = if place.moves { self.with_valid(place.handle, tile.valid)? } else { place.handle };
        let valid = if place.moves { tile.valid } else { place.tile.valid };
        match tile.repr {
            Repr::Fill(number) => {
                self.check_elements(TileOp::Fill, tile.dtype)?;
                let target = Tile { valid, ..place.tile.with(Repr::Data(to), tile.dtype) };
                let out = self.in_rows(&target)?;
                self.tile_op(TileOp::Fill, &[number], out);
            }
            Repr::Data(handle) if self.root(handle) == place.handle => {}
            Repr::Data(handle) => {
                let from = self.with_valid(handle, valid)?;
                self.tile_op(TileOp::Move, &[from], to);
            }
            Repr::Mask(_) => return Err(self.refusal(self.loc, "tile of `bool`", "carried by control flow")),
        }
        Ok(())
    }

    /// Copies what a body yields into the places of carried tiles; gives the numbers.
    fn yield_into(&mut self, yields: &[ValueId], places: &[Option<Place>]) -> Outcome<Vec<Value>> {
        let mut numbers = Vec::new();
        let mut copies: Vec<(Tile, Place)> = Vec::new();
        let handles: Vec<Value> = places.iter().flatten().map(|place| place.handle).collect();
        for (value, place) in yields.iter().zip(places) {
            let Some(place) = place else {
                numbers.push(self.scalar(*value)?);
                continue;
            };
            let mut yielded = self.tile(*value)?;
            if let Repr::Data(handle) = yielded.repr
                && self.root(handle) != place.handle
                && handles.contains(&self.root(handle))
            {
                // Another carried tile, which may be overwritten before it is read: through a copy.
                let from = self.with_valid(handle, yielded.valid)?;
                let (copy, held) = self.room(&yielded, yielded.dtype);
                self.tile_op(TileOp::Move, &[from], copy);
                yielded = held;
            }
            copies.push((yielded, place.clone()));
        }
        for (tile, place) in copies {
            self.copy_into(&tile, &place)?;
        }
        Ok(numbers)
    }

    pub(super) fn if_op(&mut self, op: &Op) -> Outcome<()> {
        let condition = self.scalar(op.operands[0])?;
        let mut places: Vec<Option<Place>> = Vec::new();
        for result in &op.results {
            if self.is_scalar(*result) {
                places.push(None);
                continue;
            }
            if self.function.core == Core::Cube {
                return Err(self.refuse(op, "that gives an accumulator"));
            }
            let moves = self.extents_among(*result, &op.results);
            let shape = self.place_shape(*result, moves)?;
            let (handle, tile) = self.room(&shape, shape.dtype);
            places.push(Some(Place { handle, tile, moves }));
        }
        let then = self.branch(op.regions.first(), &places)?;
        let otherwise = self.branch(op.regions.get(1), &places)?;
        self.at(op.loc);
        let mut results = Vec::new();
        let mut numbers = then.yields.clone().into_iter();
        for result in &op.results {
            if self.is_scalar(*result) {
                let Some(number) = numbers.next() else { return Err(self.internal("a branch loses a value")) };
                let ty = self.ty(number).clone();
                let outer = self.fresh(&self.name_of(*result), ty);
                results.push(outer);
                self.bind(*result, Held::Scalar(outer));
            }
        }
        self.push(Kind::If { condition, results, then, otherwise });
        self.bind_results(op, &places)
    }

    fn branch(&mut self, block: Option<&Block>, places: &[Option<Place>]) -> Outcome<Region> {
        let Some(block) = block else { return Ok(Region::default()) };
        self.bodies.push(Vec::new());
        self.block(block)?;
        let yields = self.yield_into(&block.yields, places)?;
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        Ok(Region { body, yields })
    }
}
