//! Shows that no tile is overwritten while it is needed, from addresses alone.
//!
//! The checker runs through the instructions in order and notes for every tile whether its bytes still hold what was
//! written to it. It knows nothing of the planner's lifetimes: a loop's body is gone through twice, so that what one
//! iteration destroys for the next shows, and of branches the worse state counts.

use std::collections::BTreeMap;

use super::dialect::{Form, Function, Inst, Kind, Literal, TileOp, Value};
use crate::target::Space;

/// The state of a tile's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Written,
    /// Nothing was written yet.
    Fresh,
    /// Another tile was written over it.
    Overwritten(Value),
}

#[derive(Clone, Copy, Debug)]
struct Range {
    space: Space,
    begin: i64,
    end: i64,
}

impl Range {
    fn overlaps(self, other: Range) -> bool {
        self.space == other.space && self.begin < other.end && other.begin < self.end
    }
}

struct Checker<'a> {
    function: &'a Function,
    constants: BTreeMap<Value, i64>,
    /// The allocation behind a handle.
    roots: BTreeMap<Value, Value>,
    ranges: BTreeMap<Value, Range>,
    states: BTreeMap<Value, State>,
}

/// Checks a function whose tiles have addresses.
///
/// # Errors
/// The first tile that is read after another was written over it, or before anything was written to it.
pub fn check(function: &Function) -> Result<(), String> {
    let mut checker = Checker {
        function,
        constants: BTreeMap::new(),
        roots: BTreeMap::new(),
        ranges: BTreeMap::new(),
        states: BTreeMap::new(),
    };
    checker.body(&function.body)
}

impl Checker<'_> {
    fn body(&mut self, body: &[Inst]) -> Result<(), String> {
        body.iter().try_for_each(|inst| self.inst(inst))
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), String> {
        match &inst.kind {
            Kind::Constant { result, literal: Literal::Int(n) } => {
                self.constants.insert(*result, *n);
            }
            Kind::Alloc { result, address, .. } => {
                let begin = address.and_then(|a| self.constants.get(&a)).copied();
                if let (Some(begin), Some(tile)) = (begin, self.function.tile(*result)) {
                    self.ranges.insert(*result, Range { space: tile.space, begin, end: begin + tile.bytes() });
                    self.states.insert(*result, State::Fresh);
                    self.roots.insert(*result, *result);
                }
            }
            Kind::Alias { result, source, .. } => {
                let root = self.root(*source);
                self.roots.insert(*result, root);
            }
            Kind::Tile { op, ins, out, .. } => self.tile_op(*op, ins, *out)?,
            Kind::GetElement { tile, .. } => self.read(*tile)?,
            Kind::Report { values, .. } => {
                for value in values.iter().filter(|v| self.function.tile(**v).is_some()) {
                    self.read(*value)?;
                }
            }
            Kind::For { body, .. } => {
                let before = self.states.clone();
                self.body(body)?;
                self.body(body)?;
                self.merge(before);
            }
            Kind::If { then, otherwise, .. } => {
                let before = self.states.clone();
                self.body(&then.body)?;
                let after_then = std::mem::replace(&mut self.states, before);
                self.body(&otherwise.body)?;
                self.merge(after_then);
            }
            _ => {}
        }
        Ok(())
    }

    fn root(&self, handle: Value) -> Value {
        self.roots.get(&handle).copied().unwrap_or(handle)
    }

    /// What was overwritten on one way is overwritten; what was written on one way may count as written.
    fn merge(&mut self, other: BTreeMap<Value, State>) {
        for (tile, state) in other {
            let merged = match (self.states.get(&tile).copied().unwrap_or(state), state) {
                (a @ State::Overwritten(_), _) | (_, a @ State::Overwritten(_)) => a,
                (a, b) => a.min(b),
            };
            self.states.insert(tile, merged);
        }
    }

    fn tile_op(&mut self, op: TileOp, ins: &[Value], out: Value) -> Result<(), String> {
        let scratch = usize::from(matches!(op.form(), Form::RowReduce | Form::Select | Form::Transpose));
        let (read, scratch) = ins.split_at(ins.len() - scratch);
        for handle in read.iter().filter(|v| self.function.tile(**v).is_some()) {
            // Whether a sum was begun before it is continued depends on the run.
            if op.form() != Form::ProductAcc
                || *handle != out
                || self.states.get(&self.root(out)) != Some(&State::Fresh)
            {
                self.read(*handle)?;
            }
            self.check_in_place(op, *handle, out)?;
        }
        for handle in scratch {
            self.write(*handle);
            for operand in read.iter().chain([&out]) {
                let (a, b) = (self.root(*handle), self.root(*operand));
                if a != b && self.share(a, b) {
                    return Err(format!("scratch `%{}` overlaps an operand", self.name(*handle)));
                }
            }
        }
        if self.function.tile(out).is_some() {
            self.write(out);
        }
        Ok(())
    }

    fn share(&self, a: Value, b: Value) -> bool {
        matches!((self.ranges.get(&a), self.ranges.get(&b)), (Some(a), Some(b)) if a.overlaps(*b))
    }

    /// An operation may write over its operand only from the same address on, and only if it reads each element first.
    fn check_in_place(&self, op: TileOp, operand: Value, out: Value) -> Result<(), String> {
        let (a, b) = (self.root(operand), self.root(out));
        if op.form() == Form::ProductAcc || !self.share(a, b) {
            return Ok(());
        }
        let same_start = self.ranges.get(&a).map(|r| r.begin) == self.ranges.get(&b).map(|r| r.begin);
        if same_start && op.works_in_place() {
            return Ok(());
        }
        Err(format!("`pto.{}` writes `%{}` over its operand `%{}`", op.name(), self.name(out), self.name(operand)))
    }

    fn read(&self, handle: Value) -> Result<(), String> {
        let root = self.root(handle);
        match self.states.get(&root) {
            Some(State::Overwritten(by)) => {
                Err(format!("`%{}` is read after `%{}` was written over it", self.name(handle), self.name(*by)))
            }
            Some(State::Fresh) => Err(format!("`%{}` is read before anything was written to it", self.name(handle))),
            _ => Ok(()),
        }
    }

    fn write(&mut self, handle: Value) {
        let root = self.root(handle);
        let Some(range) = self.ranges.get(&root).copied() else { return };
        for (other, theirs) in &self.ranges {
            if *other != root && theirs.overlaps(range) && self.states.get(other) == Some(&State::Written) {
                self.states.insert(*other, State::Overwritten(root));
            }
        }
        self.states.insert(root, State::Written);
    }

    fn name(&self, value: Value) -> &str {
        self.function.name_of(value)
    }
}
