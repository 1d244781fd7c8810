//! Entry of a kernel: parameters, and the flattening of its outermost parallel loops into the range of iterations that a call runs.

use super::block::BlockState;
use super::context::{Bound, Lowering};
use crate::codegen::host::lir::{Builder, Cmp, Value};
use crate::ir::{Block, IndexExpr, ParamRole, Type};
use crate::passes::flat_loops::{Level, flattened, iterations};

use super::access::{from_stored, stored};

/// Binds the parameters to the words of the argument list.
pub(super) fn bind_parameters(l: &mut Lowering<'_>, b: &mut Builder<'_>) {
    let function = l.function;
    // Scalars first: the types of tensors mention them.
    for (i, param) in function.params.iter().enumerate() {
        if let Type::Scalar(dtype) = function.ty(param.value) {
            let raw = match param.role {
                ParamRole::Extent { .. } | ParamRole::Stride { .. } => b.arg_i64(i),
                _ => b.arg_scalar(i, stored(*dtype)),
            };
            let value = from_stored(b, raw, *dtype);
            l.bind_scalar(param.value, value);
        }
    }
    for (i, param) in function.params.iter().enumerate() {
        match function.ty(param.value) {
            Type::Tensor(ty) => {
                let base = b.arg_ptr(i);
                let tensor = l.describe_tensor(b, base, ty);
                l.bind(param.value, Bound::Tensor(tensor));
            }
            Type::Scalar(_) => {}
            _ => l.unsupported(param.loc, "a kernel parameter that is neither a tensor nor a scalar"),
        }
    }
}

/// Lowers the body of the kernel for the iterations `begin..end`; gives the number of iterations that there are.
pub(super) fn lower_entry(l: &mut Lowering<'_>, b: &mut Builder<'_>) -> IndexExpr {
    let function = l.function;
    let levels = flattened(function);
    let (begin, end) = (b.begin(), b.end());
    let total = iterations(&levels);
    let one = b.index(1);
    // The numbers of nested loops are counted on: a division for every iteration takes as long as a short row.
    let first = if levels.len() > 1 { decompose(b, &levels, begin) } else { Vec::new() };
    b.for_loop(begin, end, one, &first, |b, iteration, numbers| {
        let numbers = if numbers.is_empty() { vec![iteration; levels.len()] } else { numbers.to_vec() };
        let indices = indices(b, &levels, &numbers);
        lower_levels(l, b, &function.body, &levels, &indices);
        if levels.len() > 1 { advance(b, &levels, &numbers) } else { Vec::new() }
    });
    total
}

/// How often each loop has advanced at an iteration number; the last loop runs fastest.
fn decompose(b: &mut Builder<'_>, levels: &[Level<'_>], iteration: Value) -> Vec<Value> {
    let (mut rest, one) = (iteration, b.index(1));
    let mut numbers = Vec::new();
    for (depth, level) in levels.iter().enumerate().rev() {
        if depth == 0 {
            numbers.push(rest);
            break;
        }
        // Without iterations nothing runs, and nothing is divided by zero.
        let count = evaluate(b, &level.count);
        let count = b.max(count, one);
        numbers.push(b.urem(rest, count));
        rest = b.udiv(rest, count);
    }
    numbers.reverse();
    numbers
}

/// The numbers of the next iteration.
fn advance(b: &mut Builder<'_>, levels: &[Level<'_>], numbers: &[Value]) -> Vec<Value> {
    let (zero, mut step) = (b.index(0), b.index(1));
    let mut next = Vec::new();
    for (depth, (level, &number)) in levels.iter().zip(numbers).enumerate().rev() {
        let sum = b.add(number, step);
        if depth == 0 {
            next.push(sum);
            break;
        }
        let count = evaluate(b, &level.count);
        let is_over = b.cmp(Cmp::Eq, sum, count);
        next.push(b.select(is_over, zero, sum));
        let one = b.index(1);
        step = b.select(is_over, one, zero);
    }
    next.reverse();
    next
}

/// The loop indices after so many steps.
fn indices(b: &mut Builder<'_>, levels: &[Level<'_>], numbers: &[Value]) -> Vec<Value> {
    let index = |(level, &number): (&Level<'_>, &Value)| {
        let (lower, step) = (evaluate(b, &level.lower), evaluate(b, &level.step));
        let distance = b.mul(number, step);
        b.add(lower, distance)
    };
    levels.iter().zip(numbers).map(index).collect()
}

/// The value of an index expression over the kernel's arguments.
fn evaluate(b: &mut Builder<'_>, expr: &IndexExpr) -> Value {
    use IndexExpr as E;
    let mut two = |x: &IndexExpr, y: &IndexExpr| (evaluate(b, x), evaluate(b, y));
    match expr {
        E::Const(n) => b.index(*n),
        E::Arg(i) => b.arg_i64(*i),
        E::Add(x, y) => {
            let (x, y) = two(x, y);
            b.add(x, y)
        }
        E::Sub(x, y) => {
            let (x, y) = two(x, y);
            b.sub(x, y)
        }
        E::Mul(x, y) => {
            let (x, y) = two(x, y);
            b.mul(x, y)
        }
        E::Min(x, y) => {
            let (x, y) = two(x, y);
            b.min(x, y)
        }
        E::Max(x, y) => {
            let (x, y) = two(x, y);
            b.max(x, y)
        }
        E::Div(x, y) => {
            let (x, y) = two(x, y);
            divide(b, x, y, |b, x, y| b.sdiv(x, y))
        }
        E::Rem(x, y) => {
            let (x, y) = two(x, y);
            divide(b, x, y, |b, x, y| b.srem(x, y))
        }
        E::CeilDiv(x, y) => {
            let (x, y) = two(x, y);
            let one = b.index(1);
            let less = b.sub(y, one);
            let up = b.add(x, less);
            divide(b, up, y, |b, x, y| b.sdiv(x, y))
        }
    }
}

/// A division that gives 0 for a divisor of 0.
fn divide(b: &mut Builder<'_>, x: Value, y: Value, op: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value) -> Value {
    let (zero, one) = (b.index(0), b.index(1));
    let bad = b.cmp(crate::codegen::host::lir::Cmp::Eq, y, zero);
    let divisor = b.select(bad, one, y);
    let quotient = op(b, x, divisor);
    b.select(bad, zero, quotient)
}

fn lower_levels<'f>(
    l: &mut Lowering<'f>,
    b: &mut Builder<'_>,
    block: &'f Block,
    levels: &[Level<'f>],
    indices: &[Value],
) {
    let mut state = BlockState::new(block);
    let Some((level, inner)) = levels.split_first() else {
        l.lower_block(b, &mut state);
        return l.close(state);
    };
    for (position, op) in block.ops.iter().enumerate() {
        state.position = position;
        if std::ptr::eq(op, level.op) {
            l.bind_scalar(op.regions[0].args[0], indices[0]);
            lower_levels(l, b, &op.regions[0], inner, &indices[1..]);
        } else {
            l.lower_op(b, &mut state, op);
        }
    }
    l.close(state);
}
