//! Keeps accumulating products only where the matrix unit can accumulate: from nothing, or onto what a loop of products
//! carries. Anything else becomes a product and an addition, for accumulators cannot be loaded.
//!
//! A bias is added by the vector unit too.

use std::collections::{HashMap, HashSet};

use super::extract::simple_op;
use crate::ir::{Attr, AttrKey, Attrs, Block, Function, Op, Program, TileType, Type, ValueId};
use crate::ops::{Class, OpKind};

/// Rewrites every function.
pub fn unfold_accumulate(program: &mut Program) {
    for function in &mut program.functions {
        let mut body = std::mem::take(&mut function.body);
        let mut facts = Facts::default();
        facts.note(&body, &mut HashMap::new());
        let zeros = facts.zeros.clone();
        unfold(&mut body, function, &zeros, &facts);
        function.body = body;
    }
}

/// What decides whether the matrix unit can accumulate onto a value.
#[derive(Default)]
struct Facts {
    /// Tiles of zeros.
    zeros: HashSet<ValueId>,
    /// How often values are used.
    uses: HashMap<ValueId, usize>,
}

impl Facts {
    /// Accumulating overwrites: a product that is needed again is out of the question.
    fn may_overwrite(&self, value: ValueId) -> bool {
        self.zeros.contains(&value) || self.uses.get(&value) == Some(&1)
    }

    fn note(&mut self, block: &Block, numbers: &mut HashMap<ValueId, bool>) {
        block.yields.iter().for_each(|v| *self.uses.entry(*v).or_default() += 1);
        for op in &block.ops {
            op.operands.iter().for_each(|v| *self.uses.entry(*v).or_default() += 1);
            match op.kind {
                OpKind::Constant => {
                    let zero = match op.attrs.get(AttrKey::Value) {
                        Some(Attr::Int(n)) => *n == 0,
                        Some(Attr::Float(x)) => x.to_bits() == 0,
                        _ => false,
                    };
                    numbers.insert(op.results[0], zero);
                }
                OpKind::Full if numbers.get(&op.operands[0]) == Some(&true) => {
                    self.zeros.insert(op.results[0]);
                }
                _ => {}
            }
            op.regions.iter().for_each(|region| self.note(region, numbers));
        }
    }
}

fn unfold(block: &mut Block, function: &mut Function, accumulable: &HashSet<ValueId>, facts: &Facts) {
    let mut known = accumulable.clone();
    for mut op in std::mem::take(&mut block.ops) {
        if op.kind == OpKind::For {
            unfold_loop(&mut op, function, &mut known, facts);
        } else {
            op.regions.iter_mut().for_each(|region| unfold(region, function, &known, facts));
        }
        match op.kind {
            OpKind::MatmulAcc if known.contains(&op.operands[0]) && facts.may_overwrite(op.operands[0]) => {
                known.insert(op.results[0]);
                block.ops.push(op);
            }
            OpKind::MatmulAcc => add_afterwards(op, 0, function, &mut block.ops),
            OpKind::MatmulBias => add_afterwards(op, 2, function, &mut block.ops),
            kind => {
                if kind.class() == Class::Matmul {
                    known.insert(op.results[0]);
                }
                block.ops.push(op);
            }
        }
    }
}

/// A carried tile accumulates if it starts from zeros or a product and every iteration ends with a product onto it.
fn unfold_loop(op: &mut Op, function: &mut Function, known: &mut HashSet<ValueId>, facts: &Facts) {
    let region = &mut op.regions[0];
    let mut inside = known.clone();
    for (position, argument) in region.args[1..].iter().enumerate() {
        let initial = op.operands[3 + position];
        if known.contains(&initial)
            && facts.may_overwrite(initial)
            && ends_on(region, *argument, region.yields[position])
        {
            inside.insert(*argument);
            known.insert(op.results[position]);
        }
    }
    unfold(region, function, &inside, facts);
}

/// Whether `last` is made of `first` by accumulating products alone, and nothing else uses what is in between.
fn ends_on(region: &Block, first: ValueId, last: ValueId) -> bool {
    let mut current = first;
    for op in &region.ops {
        let onto = op.kind == OpKind::MatmulAcc && op.operands[0] == current;
        if onto {
            current = op.results[0];
        } else if op.operands.contains(&current) || uses(&op.regions, current) {
            // A nested loop of products may go on with it.
            match (op.kind, op.operands.iter().skip(3).position(|v| *v == current)) {
                (OpKind::For, Some(carried))
                    if ends_on(&op.regions[0], op.regions[0].args[carried + 1], op.regions[0].yields[carried]) =>
                {
                    current = op.results[carried];
                }
                _ => return false,
            }
        }
    }
    current == last && last != first
}

fn uses(regions: &[Block], value: ValueId) -> bool {
    regions.iter().any(|region| {
        region.yields.contains(&value)
            || region.ops.iter().any(|op| op.operands.contains(&value) || uses(&op.regions, value))
    })
}

/// The type of the product alone: valid as far as its operands are.
fn product_type(op: &Op, sum: &Type, function: &Function) -> Type {
    let (a, b) = (function.ty(op.operands[0]).as_tile(), function.ty(op.operands[1]).as_tile());
    let (Type::Tile(sum), Some(a), Some(b)) = (sum, a, b) else { return sum.clone() };
    let rank = sum.rank();
    let line = |t: &TileType, transposed: bool, from_end: usize| {
        t.valid[t.rank() - if transposed { 3 - from_end } else { from_end }]
    };
    let mut ty = sum.clone();
    ty.valid[..rank - 2].clone_from_slice(&a.valid[..rank - 2]);
    ty.valid[rank - 2] = line(a, op.attrs.flag(AttrKey::TransposeA), 2);
    ty.valid[rank - 1] = line(b, op.attrs.flag(AttrKey::TransposeB), 1);
    Type::Tile(ty)
}

/// The product alone, and the addition of the operand at `position`.
fn add_afterwards(mut op: Op, position: usize, function: &mut Function, out: &mut Vec<Op>) {
    let other = op.operands.remove(position);
    let sum = op.results[0];
    let info = function.info(sum).clone();
    let ty = product_type(&op, &info.ty, function);
    let product = function.add_value(ty, info.name, info.loc);
    op.kind = OpKind::Matmul;
    op.results = vec![product];
    let loc = op.loc;
    out.push(op);
    out.push(simple_op(OpKind::Add, vec![other, product], Attrs::new(), vec![sum], loc));
}
