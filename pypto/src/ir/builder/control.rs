//! Structured control flow: loops and branches with carried values.
//!
//! A carried tile keeps element type and extents. Its valid extents may change on the way: such an extent becomes a
//! carried index value of its own, appended after the others, and the tile's type names it. `if` finds out by itself
//! where its branches differ. A loop has to know before its body is built: `end_for` and `end_while` return
//! [`RuleError::CarriedValid`] with the dimensions; roll back and begin again with them, or use
//! [`Builder::for_loop`] and [`Builder::while_loop`], which do so.

use super::super::Loc;
use super::super::facts::Fact;
use super::super::nodes::{Attr, AttrKey, Attrs, Block, LoopKind, Op, ValueId};
use super::super::types::{Extent, Type};
use super::{Builder, Frame};
use crate::ir::DType;
use crate::ops::OpKind;
use crate::ops::rules::RuleError;

/// A `(carried value, dimension)` whose valid extent changes in a loop.
pub type Varying = (usize, usize);

/// The head of a `for` loop.
#[derive(Clone, Debug)]
pub struct ForLoop {
    pub kind: LoopKind,
    pub lower: ValueId,
    pub upper: ValueId,
    pub step: ValueId,
    /// Initial values of the carried variables.
    pub initial: Vec<ValueId>,
    /// Name of the index.
    pub index_name: Option<String>,
    /// Names of the carried variables; may be shorter than `initial`.
    pub names: Vec<Option<String>>,
    pub loc: Loc,
}

/// What an open block belongs to.
#[derive(Clone, Debug)]
pub(super) enum Construct {
    Function,
    For { head: Carried, kind: LoopKind },
    Then { condition: ValueId, loc: Loc },
    Else { condition: ValueId, loc: Loc, then: Block },
    Condition { head: Carried },
    WhileBody { head: Carried, condition: Block },
}

/// The carried values of a loop that is open.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// All operands of the loop, bounds included.
    operands: Vec<ValueId>,
    /// Number of operands before the carried ones.
    bounds: usize,
    /// Number of carried variables; the carried valid extents follow them.
    count: usize,
    varying: Vec<Varying>,
    names: Vec<Option<String>>,
    loc: Loc,
}

impl Carried {
    fn name(&self, index: usize) -> Option<String> {
        self.names.get(index).cloned().flatten()
    }
}

impl Builder {
    /// Opens a `for` loop; gives the index and the carried variables inside.
    pub fn begin_for(&mut self, head: &ForLoop, varying: &[Varying]) -> Result<(ValueId, Vec<ValueId>), RuleError> {
        let bounds = [head.lower, head.upper, head.step];
        for (operand, bound) in bounds.iter().enumerate() {
            if *self.ty(*bound) != Type::INDEX {
                let found = self.ty(*bound).clone();
                return Err(RuleError::OperandKind { op: OpKind::For, operand, expected: "an `i64` scalar", found });
            }
        }
        if let Some(step) = self.constant(head.step).filter(|s| *s <= 0) {
            return Err(RuleError::Step { step });
        }
        let fact = Fact::loop_index(self.fact(head.lower), self.fact(head.upper), self.fact(head.step), head.upper);
        let carried = self.carried(&bounds, &head.initial, varying, head.names.clone(), head.loc);
        self.frames.push(Frame::new(Construct::For { head: carried.clone(), kind: head.kind }));
        let index = self.define(Type::INDEX, head.index_name.clone(), head.loc, self.depth());
        self.scalars.assume(index, fact);
        let last = self.depth();
        self.frames[last].block.args.push(index);
        Ok((index, self.region_arguments(&carried)))
    }

    /// Closes the innermost `for` with the next values of the carried variables; gives their values after the loop.
    pub fn end_for(&mut self, yields: &[ValueId]) -> Result<Vec<ValueId>, RuleError> {
        let Construct::For { head, kind } = self.construct() else {
            return Err(RuleError::Nesting { expected: "an open `for`" });
        };
        let last = self.depth();
        let args = self.frames[last].block.args[1..].to_vec();
        let yields = self.carried_yields(&head, &args, yields)?;
        let block = self.close(yields);
        let attrs = Attrs::new().with(AttrKey::Loop, Attr::Loop(kind));
        Ok(self.push_loop(OpKind::For, &head, attrs, vec![block]))
    }

    /// Opens the first branch of an `if`.
    pub fn begin_if(&mut self, condition: ValueId, loc: Loc) -> Result<(), RuleError> {
        if *self.ty(condition) != Type::Scalar(DType::Bool) {
            let found = self.ty(condition).clone();
            return Err(RuleError::OperandKind { op: OpKind::If, operand: 0, expected: "a `bool` scalar", found });
        }
        self.frames.push(Frame::new(Construct::Then { condition, loc }));
        Ok(())
    }

    /// Closes the first branch with its values and opens the second.
    pub fn begin_else(&mut self, yields: &[ValueId]) -> Result<(), RuleError> {
        let Construct::Then { condition, loc } = self.construct() else {
            return Err(RuleError::Nesting { expected: "the first branch of an `if`" });
        };
        let then = self.close(yields.to_vec());
        self.frames.push(Frame::new(Construct::Else { condition, loc, then }));
        Ok(())
    }

    /// Closes the `if` with the values of its last branch; gives the results. An `if` without `else` has none.
    pub fn end_if(&mut self, yields: &[ValueId]) -> Result<Vec<ValueId>, RuleError> {
        if let Construct::Then { .. } = self.construct() {
            if !yields.is_empty() {
                return Err(RuleError::YieldCount {
                    construct: "an `if` without `else`",
                    expected: 0,
                    found: yields.len(),
                });
            }
            self.begin_else(&[])?;
        }
        let Construct::Else { condition, loc, mut then } = self.construct() else {
            return Err(RuleError::Nesting { expected: "a branch of an `if`" });
        };
        let varying = self.branch_difference(&then.yields, yields)?;
        let types: Vec<Type> = yields.iter().map(|v| self.ty(*v).clone()).collect();
        let count = types.len();
        let mut other = yields.to_vec();
        for (value, axis) in &varying {
            let (a, b) = (then.yields[*value], other[*value]);
            then.yields.push(self.valid_value(a, *axis, loc));
            other.push(self.valid_value(b, *axis, loc));
        }
        let block = self.close(other);
        let head = Carried { operands: vec![condition], bounds: 1, count, varying, names: Vec::new(), loc };
        let results = self.define_carried(&head, types);
        let op = Op {
            kind: OpKind::If,
            operands: vec![condition],
            attrs: Attrs::new(),
            regions: vec![then, block],
            results: results.clone(),
            loc,
        };
        self.push_at(self.depth(), op);
        Ok(results[..count].to_vec())
    }

    /// Opens the condition of a `while`; gives the carried variables in it.
    pub fn begin_while(
        &mut self,
        initial: &[ValueId],
        names: &[Option<String>],
        varying: &[Varying],
        loc: Loc,
    ) -> Vec<ValueId> {
        let head = self.carried(&[], initial, varying, names.to_vec(), loc);
        self.frames.push(Frame::new(Construct::Condition { head: head.clone() }));
        self.region_arguments(&head)
    }

    /// Closes the condition and opens the body; gives the carried variables in it.
    pub fn begin_while_body(&mut self, condition: ValueId) -> Result<Vec<ValueId>, RuleError> {
        let Construct::Condition { head } = self.construct() else {
            return Err(RuleError::Nesting { expected: "the condition of a `while`" });
        };
        if *self.ty(condition) != Type::Scalar(DType::Bool) {
            let found = self.ty(condition).clone();
            return Err(RuleError::OperandKind { op: OpKind::While, operand: 0, expected: "a `bool` scalar", found });
        }
        let mut yields = vec![condition];
        yields.extend(&self.frames[self.depth()].block.args);
        let block = self.close(yields);
        self.frames.push(Frame::new(Construct::WhileBody { head: head.clone(), condition: block }));
        Ok(self.region_arguments(&head))
    }

    /// Closes the `while` with the next values of the carried variables; gives their values after the loop.
    pub fn end_while(&mut self, yields: &[ValueId]) -> Result<Vec<ValueId>, RuleError> {
        let Construct::WhileBody { head, condition } = self.construct() else {
            return Err(RuleError::Nesting { expected: "the body of a `while`" });
        };
        let args = self.frames[self.depth()].block.args.clone();
        let yields = self.carried_yields(&head, &args, yields)?;
        let block = self.close(yields);
        Ok(self.push_loop(OpKind::While, &head, Attrs::new(), vec![condition, block]))
    }

    /// A `for` loop with a closure for its body, which gives the next values of the carried variables. The body runs
    /// again where valid extents of carried tiles turn out to change.
    pub fn for_loop<E: From<RuleError>>(
        &mut self,
        head: &ForLoop,
        mut body: impl FnMut(&mut Builder, ValueId, &[ValueId]) -> Result<Vec<ValueId>, E>,
    ) -> Result<Vec<ValueId>, E> {
        self.retrying(|builder, varying| {
            let (index, carried) = builder.begin_for(head, varying)?;
            let yields = body(builder, index, &carried)?;
            Ok(builder.end_for(&yields))
        })
    }

    /// A `while` loop with closures for its condition and body; both may run again, as in [`Builder::for_loop`].
    pub fn while_loop<E: From<RuleError>>(
        &mut self,
        initial: &[ValueId],
        names: &[Option<String>],
        loc: Loc,
        mut condition: impl FnMut(&mut Builder, &[ValueId]) -> Result<ValueId, E>,
        mut body: impl FnMut(&mut Builder, &[ValueId]) -> Result<Vec<ValueId>, E>,
    ) -> Result<Vec<ValueId>, E> {
        self.retrying(|builder, varying| {
            let carried = builder.begin_while(initial, names, varying, loc);
            let goes_on = condition(builder, &carried)?;
            let carried = builder.begin_while_body(goes_on)?;
            let yields = body(builder, &carried)?;
            Ok(builder.end_while(&yields))
        })
    }

    fn retrying<E: From<RuleError>>(
        &mut self,
        mut build: impl FnMut(&mut Builder, &[Varying]) -> Result<Result<Vec<ValueId>, RuleError>, E>,
    ) -> Result<Vec<ValueId>, E> {
        let checkpoint = self.checkpoint();
        let mut varying: Vec<Varying> = Vec::new();
        loop {
            match build(self, &varying)? {
                Ok(results) => return Ok(results),
                Err(RuleError::CarriedValid { varying: more }) => {
                    varying.extend(more);
                    self.rollback(&checkpoint);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn construct(&self) -> Construct {
        self.frames[self.depth()].construct.clone()
    }

    fn close(&mut self, yields: Vec<ValueId>) -> Block {
        // `construct` is never `Function` here: the callers looked.
        let frame = self.frames.pop().unwrap_or_else(|| Frame::new(Construct::Function));
        Block { yields, ..frame.block }
    }

    fn carried(
        &mut self,
        bounds: &[ValueId],
        initial: &[ValueId],
        varying: &[Varying],
        names: Vec<Option<String>>,
        loc: Loc,
    ) -> Carried {
        let mut operands = [bounds, initial].concat();
        for (value, axis) in varying {
            operands.push(self.valid_value(initial[*value], *axis, loc));
        }
        let (bounds, count) = (bounds.len(), initial.len());
        Carried { operands, bounds, count, varying: varying.to_vec(), names, loc }
    }

    /// The valid extent of a tile as an index value.
    fn valid_value(&mut self, tile: ValueId, axis: usize, loc: Loc) -> ValueId {
        let extent = self.tile_type(tile).map_or(Extent::Const(0), |t| t.valid[axis]);
        self.extent_value(extent, loc)
    }

    /// Values for the carried variables and extents, in the open block; the types of tiles name the extents.
    fn define_carried(&mut self, head: &Carried, mut types: Vec<Type>) -> Vec<ValueId> {
        types.extend(head.varying.iter().map(|_| Type::INDEX));
        let depth = self.depth();
        let values: Vec<ValueId> =
            types.into_iter().enumerate().map(|(i, ty)| self.define(ty, head.name(i), head.loc, depth)).collect();
        for (extra, (value, axis)) in head.varying.iter().enumerate() {
            let extent = values[head.count + extra];
            if let Type::Tile(tile) = &mut self.function.values[values[*value].0 as usize].ty {
                tile.valid[*axis] = Extent::Value(extent);
                let fact = match tile.dims[*axis] {
                    Extent::Const(n) => Fact::range(0, n),
                    Extent::Value(_) => Fact::EXTENT,
                };
                self.scalars.assume(extent, fact);
            }
        }
        values
    }

    fn region_arguments(&mut self, head: &Carried) -> Vec<ValueId> {
        let initial = &head.operands[head.bounds..head.bounds + head.count];
        let types = initial.iter().map(|v| self.ty(*v).clone()).collect();
        let values = self.define_carried(head, types);
        let last = self.depth();
        self.frames[last].block.args.extend(&values);
        values[..head.count].to_vec()
    }

    fn push_loop(&mut self, kind: OpKind, head: &Carried, attrs: Attrs, regions: Vec<Block>) -> Vec<ValueId> {
        let initial = &head.operands[head.bounds..head.bounds + head.count];
        let types = initial.iter().map(|v| self.ty(*v).clone()).collect();
        let results = self.define_carried(head, types);
        let op = Op { kind, operands: head.operands.clone(), attrs, regions, results: results.clone(), loc: head.loc };
        self.push_at(self.depth(), op);
        results[..head.count].to_vec()
    }

    /// Yields of a loop's body, with the carried extents; checks that types are those of the region's arguments.
    fn carried_yields(
        &mut self,
        head: &Carried,
        args: &[ValueId],
        yields: &[ValueId],
    ) -> Result<Vec<ValueId>, RuleError> {
        if yields.len() != head.count {
            return Err(RuleError::YieldCount {
                construct: "the loop body",
                expected: head.count,
                found: yields.len(),
            });
        }
        let mut more = Vec::new();
        for (index, (arg, value)) in args.iter().zip(yields).enumerate() {
            let (initial, yielded) = (self.ty(*arg).clone(), self.ty(*value).clone());
            match valid_difference(&initial, &yielded) {
                Some(axes) => more.extend(axes.into_iter().map(|axis| (index, axis))),
                None => return Err(RuleError::CarriedType { index, initial, yielded }),
            }
        }
        more.retain(|v| !head.varying.contains(v));
        if !more.is_empty() {
            return Err(RuleError::CarriedValid { varying: more });
        }
        let mut all = yields.to_vec();
        for (value, axis) in &head.varying {
            all.push(self.valid_value(yields[*value], *axis, head.loc));
        }
        Ok(all)
    }

    fn branch_difference(&self, then: &[ValueId], other: &[ValueId]) -> Result<Vec<Varying>, RuleError> {
        if then.len() != other.len() {
            return Err(RuleError::YieldCount { construct: "the `else`", expected: then.len(), found: other.len() });
        }
        let mut varying = Vec::new();
        for (index, (a, b)) in then.iter().zip(other).enumerate() {
            let (a, b) = (self.ty(*a), self.ty(*b));
            match valid_difference(a, b) {
                Some(axes) => varying.extend(axes.into_iter().map(|axis| (index, axis))),
                None => return Err(RuleError::BranchType { index, then_type: a.clone(), else_type: b.clone() }),
            }
        }
        Ok(varying)
    }
}

/// Dimensions in which only the valid extents of two types differ; `None` where the types differ otherwise.
fn valid_difference(a: &Type, b: &Type) -> Option<Vec<usize>> {
    match (a, b) {
        (Type::Tile(x), Type::Tile(y)) if x.dtype == y.dtype && x.dims == y.dims => {
            Some((0..x.rank()).filter(|axis| x.valid[*axis] != y.valid[*axis]).collect())
        }
        _ => (a == b).then(Vec::new),
    }
}
