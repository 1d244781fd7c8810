//! Where each value of a function comes from, for analyses that look backwards from a use.
//!
//! A snapshot: it borrows the function, and a pass that rewrites builds a new one afterwards.

use std::collections::HashMap;

use crate::ir::{Block, Function, Op, Param, ValueId};

/// The origin of a value.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'f> {
    /// A parameter of the function.
    Param(&'f Param),
    /// Result number `index` of an operation.
    Result { op: &'f Op, index: usize },
    /// Argument number `index` of region number `region` of an operation; for a `for`, argument 0 is the loop index.
    Argument { op: &'f Op, region: usize, index: usize },
}

/// Origins of all values of one function.
#[derive(Debug)]
pub struct Definitions<'f> {
    pub function: &'f Function,
    origins: HashMap<ValueId, Origin<'f>>,
}

impl<'f> Definitions<'f> {
    /// Walks the function.
    pub fn of(function: &'f Function) -> Definitions<'f> {
        let mut definitions = Definitions { function, origins: HashMap::new() };
        for param in &function.params {
            definitions.origins.insert(param.value, Origin::Param(param));
        }
        definitions.walk(&function.body);
        definitions
    }

    fn walk(&mut self, block: &'f Block) {
        for op in &block.ops {
            for (index, result) in op.results.iter().enumerate() {
                self.origins.insert(*result, Origin::Result { op, index });
            }
            for (region, nested) in op.regions.iter().enumerate() {
                for (index, argument) in nested.args.iter().enumerate() {
                    self.origins.insert(*argument, Origin::Argument { op, region, index });
                }
                self.walk(nested);
            }
        }
    }

    /// The origin; `None` for a value that nothing defines, which the verifier rejects.
    pub fn origin(&self, value: ValueId) -> Option<Origin<'f>> {
        self.origins.get(&value).copied()
    }

    /// The operation whose result the value is.
    pub fn op(&self, value: ValueId) -> Option<&'f Op> {
        match self.origin(value) {
            Some(Origin::Result { op, .. }) => Some(op),
            _ => None,
        }
    }
}

/// Calls `f` on every value that a block defines: arguments and results, also of nested blocks.
pub fn for_each_defined(block: &Block, f: &mut impl FnMut(ValueId)) {
    block.args.iter().for_each(|v| f(*v));
    for op in &block.ops {
        op.results.iter().for_each(|v| f(*v));
        op.regions.iter().for_each(|region| for_each_defined(region, f));
    }
}

/// Calls `f` on every value that an operation, or one nested in it, uses: operands, yields, and extents in the types of
/// what it defines. Values that it defines itself are among them.
pub fn for_each_use(op: &Op, function: &Function, f: &mut impl FnMut(ValueId)) {
    op.operands.iter().for_each(|v| f(*v));
    uses_of_types(&op.results, function, f);
    for region in &op.regions {
        uses_of_types(&region.args, function, f);
        region.ops.iter().for_each(|nested| for_each_use(nested, function, f));
        region.yields.iter().for_each(|v| f(*v));
    }
}

fn uses_of_types(values: &[ValueId], function: &Function, f: &mut impl FnMut(ValueId)) {
    for value in values {
        function.ty(*value).extents().filter_map(|e| e.value()).for_each(&mut *f);
    }
}

/// Values that operations use and do not define, each once, in the order of their first use.
pub fn free_values<'a>(ops: impl IntoIterator<Item = &'a Op> + Clone, function: &Function) -> Vec<ValueId> {
    let mut defined = std::collections::HashSet::new();
    for op in ops.clone() {
        defined.extend(op.results.iter().copied());
        for region in &op.regions {
            for_each_defined(region, &mut |v| {
                defined.insert(v);
            });
        }
    }
    let mut free = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for op in ops {
        for_each_use(op, function, &mut |v| {
            if !defined.contains(&v) && seen.insert(v) {
                free.push(v);
            }
        });
    }
    free
}
