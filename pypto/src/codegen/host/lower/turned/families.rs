//! Which tiles of a kernel lie column by column.
//!
//! In `matmul(f(matmul(q, k.t())), v)` with reductions over rows in f, as in attention, the first product is turned: its rows lie across the
//! lanes. Then row reductions combine whole vectors instead of lanes, the second product reads its left factor where it lies, and so does
//! the first one when `q` is turned as well. A product gives its turned result by exchanging its factors, at no cost.
//!
//! Tiles that are computed from one another element by element, carried by the same loop variable, or one of which is the left factor of the
//! other, lie in the same order: they are one *family*, of which all are turned or none.

use std::collections::HashSet;

use crate::ir::{AttrKey, Block, Function, Op, TileType, ValueId};
use crate::ops::{Class, OpKind};

/// What is known of a family.
#[derive(Clone, Copy)]
struct Family {
    /// A product gives one of its tiles.
    product: bool,
    /// The rows of one of its tiles are reduced.
    reduced: bool,
    /// One of its tiles is computed element by element and then multiplied.
    multiplied: bool,
    /// A tile is used in a way that needs its rows together.
    unfit: bool,
    /// Nesting of the outermost product, and of the innermost load.
    product_depth: usize,
    load_depth: usize,
}

impl Family {
    const NONE: Family = Family {
        product: false,
        reduced: false,
        multiplied: false,
        unfit: false,
        product_depth: usize::MAX,
        load_depth: 0,
    };

    fn with(self, other: Family) -> Family {
        Family {
            product: self.product || other.product,
            reduced: self.reduced || other.reduced,
            multiplied: self.multiplied || other.multiplied,
            unfit: self.unfit || other.unfit,
            product_depth: self.product_depth.min(other.product_depth),
            load_depth: self.load_depth.max(other.load_depth),
        }
    }

    /// Loads with their rows together must not happen as often as the products.
    fn pays(&self) -> bool {
        self.product && self.reduced && self.multiplied && !self.unfit && self.load_depth < self.product_depth
    }
}

/// The tiles that are to lie column by column, with vectors of that many lanes.
pub(in super::super) fn turned(function: &Function, lanes: usize) -> HashSet<ValueId> {
    let mut families = Families::new(function.values.len());
    families.block(function, &function.body, 1);
    let pays = |value: &ValueId| {
        let fits = wide(function, *value).is_some_and(|ty| {
            let lanes = lanes as i64;
            let many = ty.valid[0].constant().is_none_or(|rows| rows >= lanes);
            many && ty.constant_dims().is_some_and(|dims| dims[0] % lanes == 0 && dims[0] >= 2 * lanes)
        });
        fits && families.facts[families.find(value.0 as usize)].pays()
    };
    (0..function.values.len() as u32).map(ValueId).filter(pays).collect()
}

/// The type of a matrix with more than one row and column.
fn wide(function: &Function, value: ValueId) -> Option<&TileType> {
    let ty = function.ty(value).as_tile()?;
    let one = Some(1);
    (ty.rank() == 2 && ty.dims[0].constant() != one && ty.dims[1].constant() != one).then_some(ty)
}

/// A union-find forest over the values of a function.
struct Families {
    parent: Vec<usize>,
    facts: Vec<Family>,
    /// Values that elementwise operations give.
    computed: Vec<bool>,
}

impl Families {
    fn new(count: usize) -> Families {
        Families { parent: (0..count).collect(), facts: vec![Family::NONE; count], computed: vec![false; count] }
    }

    fn find(&self, mut value: usize) -> usize {
        while self.parent[value] != value {
            value = self.parent[value];
        }
        value
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a.0 as usize), self.find(b.0 as usize));
        if a == b {
            return;
        }
        self.facts[a] = self.facts[a].with(self.facts[b]);
        self.parent[b] = a;
    }

    fn note(&mut self, value: ValueId, change: impl FnOnce(&mut Family)) {
        let root = self.find(value.0 as usize);
        change(&mut self.facts[root]);
    }

    fn block(&mut self, function: &Function, block: &Block, depth: usize) {
        for op in &block.ops {
            self.op(function, op, depth);
            for region in &op.regions {
                self.block(function, region, depth + 1);
            }
        }
    }

    fn op(&mut self, function: &Function, op: &Op, depth: usize) {
        let operands: Vec<ValueId> = op.operands.iter().copied().filter(|&v| wide(function, v).is_some()).collect();
        match op.kind.class() {
            Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast => {
                self.elementwise(function, op, &operands);
            }
            Class::RowReduce => operands.iter().for_each(|&v| self.note(v, |family| family.reduced = true)),
            Class::Matmul => self.product(function, op, depth),
            Class::Control => self.control(op),
            Class::Create => {}
            _ if op.kind == OpKind::SetValid => self.elementwise(function, op, &operands),
            _ if op.kind == OpKind::Load => self.note(op.result(), |family| family.load_depth = depth),
            _ if op.kind == OpKind::Store => {}
            _ => operands.iter().chain(&op.results).for_each(|&v| self.note(v, |family| family.unfit = true)),
        }
    }

    fn elementwise(&mut self, function: &Function, op: &Op, operands: &[ValueId]) {
        let result = op.result();
        if wide(function, result).is_none() {
            return;
        }
        self.computed[result.0 as usize] = true;
        operands.iter().for_each(|&v| self.join(result, v));
    }

    fn product(&mut self, function: &Function, op: &Op, depth: usize) {
        let result = op.result();
        let (init, left, right) = match op.kind {
            OpKind::MatmulAcc => (Some(op.operands[0]), op.operands[1], op.operands[2]),
            _ => (None, op.operands[0], op.operands[1]),
        };
        // A bias would be a column then; a turned left factor is not worth a case of its own.
        if op.kind == OpKind::MatmulBias || op.attrs.flag(AttrKey::TransposeA) || wide(function, result).is_none() {
            [result, left].into_iter().for_each(|v| self.note(v, |family| family.unfit = true));
        }
        self.note(right, |family| family.unfit = true);
        if let Some(init) = init {
            self.join(result, init);
        }
        if self.computed[left.0 as usize] {
            self.note(left, |family| family.multiplied = true);
        }
        self.join(result, left);
        self.note(result, |family| {
            family.product = true;
            family.product_depth = family.product_depth.min(depth);
        });
    }

    /// Loop variables and results of branches lie as what they are made of does.
    fn control(&mut self, op: &Op) {
        let first = if op.kind == OpKind::For { 3 } else { op.operands.len().min(1) };
        let initial = if op.kind == OpKind::While { 0 } else { first };
        for (i, &result) in op.results.iter().enumerate() {
            if op.kind != OpKind::If
                && let Some(&value) = op.operands.get(initial + i)
            {
                self.join(result, value);
            }
            for region in &op.regions {
                let carried = region.args.len().checked_sub(op.results.len()).map(|skip| region.args[skip + i]);
                if let Some(arg) = carried {
                    self.join(result, arg);
                }
                let yields = region.yields.len().checked_sub(op.results.len()).map(|skip| region.yields[skip + i]);
                if let Some(value) = yields {
                    self.join(result, value);
                }
            }
        }
    }
}
