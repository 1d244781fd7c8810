//! Which part of a tensor a block certainly writes, in every run that comes to its end.
//!
//! The counterpart of [`accesses`](super::accesses): boxes here are under-approximations. A box of a loop's body becomes
//! a box of the loop where the loop's index moves it along one dimension without gaps; boxes that meet are joined. Boxes
//! are read as cut off at the tensor's end, so a ragged tail needs nothing special: `min(TM, M - i)` rows from `i` are
//! `TM` rows from `i`.

use std::collections::HashSet;

use super::accesses::{Directions, root};
use super::affine::Affine;
use super::definitions::{Origin, for_each_defined};
use super::ranges::Ranges;
use crate::ir::{AttrKey, Block, Direction, Loc, Op, Type, ValueId};
use crate::ops::OpKind;

/// More boxes than this are not joined; unrolled kernels write fewer.
const MOST_BOXES: usize = 64;

/// How deep `min`, `max` and what loops carry are looked through; attention carries three extents through `min`s.
const DEPTH: usize = 12;

/// `[offset, offset + extent)` of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub offset: Affine,
    pub extent: Affine,
}

/// One span a dimension.
type Part = Vec<Span>;

/// What decides whether something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The condition of an `if`, or the bounds of a loop that may have no iterations.
    pub loc: Loc,
    pub is_loop: bool,
    /// Values that decide.
    pub deciding: [Option<ValueId>; 2],
}

/// How a block writes a tensor.
#[derive(Clone, Debug, Default)]
pub struct Written {
    boxes: Vec<Part>,
    /// The first write, certain or not.
    pub first: Option<Loc>,
    /// The one gate that every write is behind; `None` where some write has none, or writes have different ones.
    pub gate: Option<Gate>,
}

/// Finds what blocks write of one tensor.
pub struct Coverage<'a, 'f> {
    pub ranges: &'a Ranges<'f>,
    pub directions: &'a Directions,
    /// Parameter or allocation.
    pub tensor: ValueId,
}

impl Coverage<'_, '_> {
    /// What the block writes.
    pub fn block(&self, block: &Block) -> Written {
        let mut all = Written::default();
        for op in &block.ops {
            let next = match op.kind {
                OpKind::For => self.counted(op),
                OpKind::If => self.branches(op),
                OpKind::While => self.repeated(op),
                _ => self.operation(op),
            };
            all.then(next);
        }
        self.join(&mut all.boxes);
        all
    }

    /// Whether the boxes hold every element of the tensor.
    pub fn is_full(&self, written: &Written) -> bool {
        let Some(dims) = self.dims() else { return false };
        written.boxes.iter().any(|part| part.iter().zip(&dims).all(|(span, dim)| self.spans(span, dim)))
    }

    fn dims(&self) -> Option<Vec<Affine>> {
        let ty = self.ranges.definitions.function.ty(self.tensor).as_tensor()?;
        Some(ty.dims.iter().map(|d| self.ranges.extent(*d)).collect())
    }

    fn spans(&self, span: &Span, dim: &Affine) -> bool {
        self.ranges.at_most(&span.offset, &Affine::constant(0)) && self.goes(span, dim, None)
    }

    fn operation(&self, op: &Op) -> Written {
        match op.kind {
            OpKind::Store => {
                let Type::Tile(tile) = self.ranges.definitions.function.ty(op.operands[0]) else {
                    return Written::default();
                };
                let extents = tile.valid.iter().map(|v| self.ranges.extent(*v)).collect();
                self.write(op.operands[1], Some((&op.operands[2..], extents)), op.loc)
            }
            OpKind::Write => {
                let ones = vec![Affine::constant(1); op.operands.len() - 2];
                self.write(op.operands[1], Some((&op.operands[2..], ones)), op.loc)
            }
            OpKind::ScatterRows => self.write(op.operands[1], None, op.loc),
            OpKind::Call => self.call(op),
            _ => Written::default(),
        }
    }

    fn call(&self, op: &Op) -> Written {
        let callee = op.attrs.text(AttrKey::Callee).and_then(|name| self.directions.get(name));
        let mut all = Written::default();
        for (index, argument) in op.operands.iter().enumerate() {
            let Some(ty) = self.ranges.definitions.function.ty(*argument).as_tensor() else { continue };
            match callee.and_then(|d| d.get(index)) {
                Some(Direction::In) => {}
                Some(Direction::Out) => {
                    let extents = ty.dims.iter().map(|d| self.ranges.extent(*d)).collect();
                    all.then(self.write(*argument, Some((&[], extents)), op.loc));
                }
                Some(Direction::InOut) | None => all.then(self.write(*argument, None, op.loc)),
            }
        }
        all
    }

    /// A write at offsets (none: at the beginning) of known extents, or of an unknown part.
    fn write(&self, tensor: ValueId, region: Option<(&[ValueId], Vec<Affine>)>, loc: Loc) -> Written {
        if root(tensor, self.ranges) != self.tensor {
            return Written::default();
        }
        let part = region.and_then(|(offsets, extents)| {
            let at = |axis: usize| offsets.get(axis).map_or(Affine::constant(0), |v| self.ranges.form(*v));
            let inner = extents.into_iter().enumerate().map(|(axis, extent)| Span { offset: at(axis), extent });
            self.through_views(tensor, inner.collect())
        });
        Written { boxes: part.into_iter().collect(), first: Some(loc), gate: None }
    }

    /// The box in the coordinates of the root; `None` where a view is none of a part that is contiguous in each dimension.
    fn through_views(&self, tensor: ValueId, inner: Part) -> Option<Part> {
        let view = match self.ranges.definitions.op(tensor) {
            Some(op) if op.kind == OpKind::View => op,
            _ => return Some(inner),
        };
        let function = self.ranges.definitions.function;
        let (outer_ty, inner_ty) = (function.ty(view.operands[0]).as_tensor()?, function.ty(tensor).as_tensor()?);
        let dropped = outer_ty.rank().checked_sub(inner_ty.rank())?;
        if outer_ty.strides[dropped..] != inner_ty.strides[..] || inner.len() != inner_ty.rank() {
            return None;
        }
        let one = Span { offset: Affine::constant(0), extent: Affine::constant(1) };
        let all = std::iter::repeat_n(one, dropped).chain(inner);
        let moved = all.zip(&view.operands[1..]).map(|(span, offset)| {
            Some(Span { offset: span.offset.add(&self.ranges.form(*offset))?, extent: span.extent })
        });
        self.through_views(view.operands[0], moved.collect::<Option<Part>>()?)
    }

    fn branches(&self, op: &Op) -> Written {
        let mut arms = op.regions.iter().map(|region| self.block(region));
        let (first, second) = (arms.next().unwrap_or_default(), arms.next().unwrap_or_default());
        let both = first.first.is_some() && second.first.is_some();
        let gate = Gate { loc: op.loc, is_loop: false, deciding: [op.operands.first().copied(), None] };
        let boxes = if self.is_full(&first) && self.is_full(&second) {
            first.boxes
        } else {
            first.boxes.into_iter().filter(|part| second.boxes.contains(part)).collect()
        };
        let written = first.first.or(second.first);
        Written { boxes, first: written, gate: written.filter(|_| !both).map(|_| gate) }
    }

    fn repeated(&self, op: &Op) -> Written {
        let parts = op.regions.iter().map(|region| self.block(region).first);
        // Whether the first iteration runs is not looked into.
        Written { boxes: Vec::new(), first: parts.flatten().next(), gate: None }
    }

    fn counted(&self, op: &Op) -> Written {
        let body = self.block(&op.regions[0]);
        let Some(first) = body.first else { return body };
        let mut inside = HashSet::new();
        for_each_defined(&op.regions[0], &mut |v| {
            inside.insert(v);
        });
        let (lower, upper) = (self.ranges.form(op.operands[0]), self.ranges.form(op.operands[1]));
        let runs = lower.add(&Affine::constant(1)).is_some_and(|next| self.ranges.at_most(&next, &upper));
        let sweep = Sweep { op, inside, lower, upper, runs };
        let boxes = body.boxes.into_iter().filter_map(|part| self.swept(part, &sweep)).collect();
        let own = Gate { loc: op.loc, is_loop: true, deciding: [Some(op.operands[0]), Some(op.operands[1])] };
        Written { boxes, first: Some(first), gate: if runs { body.gate } else { Some(own) } }
    }

    /// What all iterations write together, of what one writes.
    fn swept(&self, part: Part, sweep: &Sweep<'_>) -> Option<Part> {
        let index = sweep.op.regions[0].args[0];
        let dims = self.dims()?;
        let mut moved = false;
        let mut whole = Vec::with_capacity(part.len());
        for (span, dim) in part.into_iter().zip(&dims) {
            let span = if span.offset.mentions(index) {
                // One index that moves two dimensions covers a diagonal.
                if std::mem::replace(&mut moved, true) {
                    return None;
                }
                self.along(&span, dim, index, sweep)?
            } else {
                // What ends with the tensor does so in every iteration.
                let extent = if self.goes(&span, dim, None) { dim.sub(&span.offset)? } else { span.extent };
                Span { extent, ..span }
            };
            if sweep.changes(&span.offset) || sweep.changes(&span.extent) {
                return None;
            }
            whole.push(span);
        }
        (moved || sweep.runs).then_some(whole)
    }

    /// The union of a span over all iterations: each reaches to where the next one starts.
    fn along(&self, span: &Span, dim: &Affine, index: ValueId, sweep: &Sweep<'_>) -> Option<Span> {
        let (factor, _) = span.offset.split(index)?;
        let factor = factor.as_constant().filter(|c| *c > 0)?;
        let reach = self.ranges.form(sweep.op.operands[2]).mul(&Affine::constant(factor))?;
        if !self.goes(span, dim, Some(&reach)) {
            return None;
        }
        let offset = span.offset.substitute(index, &sweep.lower)?;
        let extent = sweep.upper.sub(&sweep.lower)?.mul(&Affine::constant(factor))?;
        Some(Span { offset, extent })
    }

    /// Whether the span goes on for `reach`, or to the end of the tensor.
    fn goes(&self, span: &Span, dim: &Affine, reach: Option<&Affine>) -> bool {
        let goal = Goal { offset: &span.offset, dim, reach };
        self.reaches(&span.extent, &goal, &mut Vec::new(), DEPTH)
    }

    /// Whether an extent meets the goal. `assumed` are values that loops carry and for which that is being proved, by
    /// induction over the iterations.
    fn reaches(&self, extent: &Affine, goal: &Goal<'_>, assumed: &mut Vec<ValueId>, depth: usize) -> bool {
        let to_end = goal.offset.add(extent).is_some_and(|end| self.ranges.at_most(goal.dim, &end));
        if to_end || goal.reach.is_some_and(|reach| self.ranges.at_most(reach, extent)) {
            return true;
        }
        let (Some(depth), [v]) = (depth.checked_sub(1), &extent.values()[..]) else { return false };
        if *extent != Affine::value(*v) {
            return false;
        }
        match self.ranges.definitions.origin(*v) {
            Some(Origin::Result { op, index }) if op.kind == OpKind::For => {
                self.carried(op, index, goal, assumed, depth)
            }
            Some(Origin::Argument { op, index, .. }) if op.kind == OpKind::For && index > 0 => {
                self.carried(op, index - 1, goal, assumed, depth)
            }
            Some(Origin::Result { op, .. }) => {
                let mut operand = |n: usize| self.reaches(&self.ranges.form(op.operands[n]), goal, assumed, depth);
                match op.kind {
                    OpKind::Min => operand(0) && operand(1),
                    OpKind::Max => operand(0) || operand(1),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether value number `index` that a loop carries meets the goal before the loop and after every iteration.
    fn carried(&self, op: &Op, index: usize, goal: &Goal<'_>, assumed: &mut Vec<ValueId>, depth: usize) -> bool {
        let body = &op.regions[0];
        let argument = body.args[index + 1];
        if assumed.contains(&argument) {
            return true;
        }
        let mut same = true;
        for_each_defined(body, &mut |v| same &= !goal.mentions(v));
        let before = assumed.len();
        assumed.push(argument);
        let proved = same
            && self.reaches(&self.ranges.form(op.operands[index + 3]), goal, assumed, depth)
            && self.reaches(&self.ranges.form(body.yields[index]), goal, assumed, depth);
        if !proved {
            // What was proved on this assumption falls with it.
            assumed.truncate(before);
        }
        proved
    }

    /// Joins boxes that differ in one dimension and meet there.
    fn join(&self, boxes: &mut Vec<Part>) {
        if boxes.len() > MOST_BOXES {
            return;
        }
        let mut at = 0;
        while at < boxes.len() {
            let joined = (0..boxes.len())
                .filter(|other| *other != at)
                .find_map(|other| self.joined(&boxes[at], &boxes[other]).map(|whole| (other, whole)));
            match joined {
                Some((other, whole)) => {
                    boxes[at] = whole;
                    boxes.remove(other);
                    at = 0;
                }
                None => at += 1,
            }
        }
    }

    /// `a` followed by `b`.
    fn joined(&self, a: &Part, b: &Part) -> Option<Part> {
        let mut differing = (0..a.len()).filter(|axis| a[*axis] != b[*axis]);
        let Some(axis) = differing.next() else { return Some(a.clone()) };
        if differing.next().is_some() {
            return None;
        }
        let (x, y) = (&a[axis], &b[axis]);
        let (x_end, y_end) = (x.offset.add(&x.extent)?, y.offset.add(&y.extent)?);
        let follows = self.ranges.at_most(&x.offset, &y.offset) && self.ranges.at_most(&y.offset, &x_end);
        if !follows || !self.ranges.at_most(&x_end, &y_end) {
            return None;
        }
        let mut whole = a.clone();
        whole[axis].extent = y_end.sub(&x.offset)?;
        Some(whole)
    }
}

/// How far an extent has to go from an offset: for `reach`, or to the end of a dimension.
struct Goal<'a> {
    offset: &'a Affine,
    dim: &'a Affine,
    reach: Option<&'a Affine>,
}

impl Goal<'_> {
    fn mentions(&self, v: ValueId) -> bool {
        self.offset.mentions(v) || self.dim.mentions(v) || self.reach.is_some_and(|reach| reach.mentions(v))
    }
}

/// A loop whose iterations are put together.
struct Sweep<'f> {
    op: &'f Op,
    inside: HashSet<ValueId>,
    lower: Affine,
    upper: Affine,
    /// Whether there is an iteration for certain.
    runs: bool,
}

impl Sweep<'_> {
    /// Whether the expression may differ between iterations.
    fn changes(&self, e: &Affine) -> bool {
        e.values().iter().any(|v| self.inside.contains(v))
    }
}

impl Written {
    /// With what is written afterwards.
    fn then(&mut self, next: Written) {
        let Some(first) = next.first else { return };
        self.gate = if self.first.is_none() { next.gate } else { self.gate.filter(|gate| next.gate == Some(*gate)) };
        self.first.get_or_insert(first);
        self.boxes.extend(next.boxes);
    }
}
