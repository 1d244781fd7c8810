//! `acc + a @ b` as one operation, so that a product can accumulate in place.
//!
//! The language fixes the order of sums: a product sums K in blocks of 256 and adds the blocks up. For one block,
//! `acc + (a @ b)` and `matmul_acc` are the same sum; for more they are not, and the addition stays. So it does for none:
//! `-0.0 + 0.0` is no longer `-0.0`. The same holds for a bias.

use std::collections::HashMap;

use crate::ir::{AttrKey, Block, Extent, Function, Op, Program, ValueId};
use crate::ops::OpKind;

use super::definitions::for_each_use;

/// Length of the blocks in which a product sums.
const K_BLOCK: i64 = 256;

/// Folds additions to products of every function.
pub fn fold_accumulate(program: &mut Program) {
    for function in &mut program.functions {
        let mut uses: HashMap<ValueId, usize> = HashMap::new();
        let mut count = |v: ValueId| *uses.entry(v).or_default() += 1;
        function.body.ops.iter().for_each(|op| for_each_use(op, function, &mut count));
        function.body.yields.iter().for_each(|v| count(*v));
        let mut body = std::mem::take(&mut function.body);
        fold(&mut body, function, &uses);
        function.body = body;
    }
}

fn fold(block: &mut Block, function: &Function, uses: &HashMap<ValueId, usize>) {
    let mut products: HashMap<ValueId, usize> = HashMap::new();
    let mut folded = Vec::new();
    for position in 0..block.ops.len() {
        block.ops[position].regions.iter_mut().for_each(|region| fold(region, function, uses));
        let op = &block.ops[position];
        if op.kind == OpKind::Matmul && one_block(op, function) && uses.get(&op.results[0]) == Some(&1) {
            products.insert(op.results[0], position);
        }
        if op.kind != OpKind::Add {
            continue;
        }
        let (x, y) = (op.operands[0], op.operands[1]);
        let Some((other, product)) = products.get(&y).map(|p| (x, *p)).or(products.get(&x).map(|p| (y, *p))) else {
            continue;
        };
        let Some(kind) = form(other, &block.ops[product], op, function) else { continue };
        let (a, b) = (block.ops[product].operands[0], block.ops[product].operands[1]);
        let attrs = block.ops[product].attrs.clone();
        let sum = &mut block.ops[position];
        sum.operands = if kind == OpKind::MatmulAcc { vec![other, a, b] } else { vec![a, b, other] };
        sum.kind = kind;
        sum.attrs = attrs;
        folded.push(product);
    }
    let mut index = 0;
    block.ops.retain(|_| {
        index += 1;
        !folded.contains(&(index - 1))
    });
}

/// Whether the whole of K is one block, and not nothing.
fn one_block(op: &Op, function: &Function) -> bool {
    let Some(a) = function.ty(op.operands[0]).as_tile() else { return false };
    let inner = if op.attrs.flag(AttrKey::TransposeA) { a.rank() - 2 } else { a.rank() - 1 };
    let within = matches!(a.dims[inner], Extent::Const(n) if (1..=K_BLOCK).contains(&n));
    within && a.valid[inner] != Extent::Const(0)
}

/// What the sum of `other` and the product is, if it is one operation.
fn form(other: ValueId, product: &Op, sum: &Op, function: &Function) -> Option<OpKind> {
    let other = function.ty(other).as_tile()?;
    let product = function.ty(product.results[0]).as_tile()?;
    let result = function.ty(sum.results[0]).as_tile()?;
    if product.dims != result.dims || product.dtype != other.dtype {
        return None;
    }
    if other.dims == product.dims {
        return Some(OpKind::MatmulAcc);
    }
    // A bias is `[1, N]`, valid over all of the columns that the product has.
    let row = [Extent::Const(1), *product.dims.last()?];
    (product.rank() == 2 && other.dims == row && other.valid[1] == product.valid[1] && other.valid[0] == row[0])
        .then_some(OpKind::MatmulBias)
}
