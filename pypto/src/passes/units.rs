//! Which unit of an accelerator's core an operation runs on: products on the matrix unit, everything else that computes on
//! tiles on the vector unit. A kernel is for one of them.

use std::collections::HashSet;

use crate::ir::{Block, Function, Op, Type, ValueId};
use crate::ops::{Class, OpKind};

/// A unit of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Cube,
    Vector,
}

/// The units of a function's operations.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Results of products, also those that loops carry.
    products: HashSet<ValueId>,
}

impl Units {
    /// Finds what products make.
    pub fn of(function: &Function) -> Units {
        let mut units = Units::default();
        units.collect(&function.body);
        units
    }

    fn collect(&mut self, block: &Block) {
        for op in &block.ops {
            op.regions.iter().for_each(|region| self.collect(region));
            if op.kind.class() == Class::Matmul {
                self.products.extend(&op.results);
            }
            if let (OpKind::For, Some(region)) = (op.kind, op.regions.first()) {
                for (result, value) in op.results.iter().zip(&region.yields) {
                    if self.products.contains(value) {
                        self.products.insert(*result);
                    }
                }
            }
        }
    }

    /// The unit of an operation; `None` for what both can do: loads, constants, numbers. Control flow is for the unit of
    /// what is inside; of a mixture it is the vector unit.
    pub fn unit(&self, op: &Op, function: &Function) -> Option<Unit> {
        let (cube, vector) = self.inside(op, function);
        match (cube, vector) {
            (true, false) => Some(Unit::Cube),
            (false, false) => None,
            _ => Some(Unit::Vector),
        }
    }

    /// Whether the orchestrating side has to run control flow: it has work for both units inside, or a check, which
    /// neither of them can do.
    pub fn is_mixed(&self, op: &Op, function: &Function) -> bool {
        self.inside(op, function) == (true, true) || checks(op)
    }

    /// Whether there is work for the matrix unit, and for the vector unit.
    fn inside(&self, op: &Op, function: &Function) -> (bool, bool) {
        let mut found = self.own(op, function);
        for nested in op.regions.iter().flat_map(|region| &region.ops) {
            let (cube, vector) = self.inside(nested, function);
            found = (found.0 | cube, found.1 | vector);
        }
        found
    }

    fn own(&self, op: &Op, function: &Function) -> (bool, bool) {
        let on_tile = |v: &ValueId| matches!(function.ty(*v), Type::Tile(_));
        match op.kind.class() {
            Class::Matmul => (true, false),
            Class::Constant | Class::Tensor | Class::Control | Class::Call | Class::Check => (false, false),
            // Numbers are shown by either unit, tiles where they are computed with.
            Class::Report => (false, op.operands.iter().any(on_tile)),
            _ if op.kind == OpKind::Store && self.products.contains(&op.operands[0]) => (true, false),
            _ if matches!(op.kind, OpKind::Load | OpKind::Full | OpKind::Iota | OpKind::Read) => (false, false),
            _ => (false, op.kind == OpKind::Write || op.operands.iter().chain(&op.results).any(on_tile)),
        }
    }
}

/// Whether there is a check in an operation.
pub fn checks(op: &Op) -> bool {
    op.kind == OpKind::Assert || op.regions.iter().any(|region| region.ops.iter().any(checks))
}
