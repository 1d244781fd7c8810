//! Scalar operations, single elements of tensors and tiles, and assertions.

use super::access::{computing, from_stored, stored, to_stored};
use super::context::{Bound, Lowering, Tile};
use super::cost;
use super::elementwise::{self, Known, can_fail, failure};
use super::kernel::Site;
use crate::codegen::host::lir::{Builder, Cmp, Type, Value};
use crate::ir::report::assertion_text;
use crate::ir::{AttrKey, DType, Op, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// Lowers a constant or an elementwise operation on scalars.
pub(super) fn lower(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op) {
    let result = op.result();
    let dtype = l.function.ty(result).dtype().unwrap_or(DType::I64);
    if op.kind == OpKind::Constant {
        match Literal::of(&op.attrs) {
            Some(literal) => {
                let value = constant(b, &literal, dtype);
                l.bind_scalar(result, value);
            }
            None => l.unsupported(op.loc, "a constant without a value"),
        }
        return;
    }
    let args: Vec<Value> = op.operands.iter().map(|&o| l.scalar(b, o)).collect();
    let typed = if op.kind == OpKind::Select { 1 } else { 0 };
    let from = op.operands.get(typed).and_then(|&o| l.function.ty(o).dtype()).unwrap_or(dtype);
    let site = if can_fail(op.kind, from) { l.site(op.loc, failure(op.kind)) } else { 0 };
    let known = Known { site, active: None, at_most_zero: false };
    match elementwise::apply(b, op, from, &args, known) {
        Some(value) => l.bind_scalar(result, value),
        None => l.unsupported(op.loc, format!("`{}` on scalars of {from}", op.kind.name())),
    }
}

/// A literal in computing form.
fn constant(b: &mut Builder<'_>, literal: &Literal, dtype: DType) -> Value {
    let elem = computing(dtype);
    match *literal {
        Literal::Int(n) if dtype.is_float() => float(b, n as f64, dtype),
        Literal::Int(n) => b.int(elem, n),
        Literal::Bool(value) => b.bool(value),
        Literal::Float(x) => float(b, x, dtype),
    }
}

fn float(b: &mut Builder<'_>, x: f64, dtype: DType) -> Value {
    let rounded = match dtype {
        DType::F16 => half::f16::from_f64(x).to_f32(),
        DType::BF16 => half::bf16::from_f64(x).to_f32(),
        _ => x as f32,
    };
    b.f32(rounded)
}

/// Whether every index lies below its extent.
fn inside(b: &mut Builder<'_>, indices: &[Value], extents: &[Value]) -> Value {
    let mut all = b.bool(true);
    for (&index, &extent) in indices.iter().zip(extents) {
        if b.is_inside(index, extent) {
            continue;
        }
        // One unsigned comparison: negative indices are huge.
        let here = b.ucmp(Cmp::Lt, index, extent);
        all = b.and(all, here);
    }
    all
}

fn offset(b: &mut Builder<'_>, indices: &[Value], strides: &[Value]) -> Value {
    let mut at = b.index(0);
    for (&index, &stride) in indices.iter().zip(strides) {
        let step = b.mul(index, stride);
        at = b.add(at, step);
    }
    at
}

fn load(b: &mut Builder<'_>, dtype: DType, base: Value, at: Value) -> Value {
    let value = b.load(Type::Scalar(stored(dtype)), base, at);
    from_stored(b, value, dtype)
}

/// Nanoseconds of an element that is read or written by itself.
const ELEMENT: f64 = 0.4;

/// Lowers `read`, `write` and `extract`. An index outside leaves the kernel; nothing is read or written there.
pub(super) fn lower_element(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op) {
    cost::add_elements(l, &[], ELEMENT);
    match op.kind {
        OpKind::Read => {
            let Some((base, at, dtype)) = tensor_element(l, b, op, op.operands[0], &op.operands[1..]) else {
                return;
            };
            let value = load(b, dtype, base, at);
            l.bind_scalar(op.result(), value);
        }
        OpKind::Write => {
            let Some((base, at, dtype)) = tensor_element(l, b, op, op.operands[1], &op.operands[2..]) else {
                return;
            };
            let value = l.scalar(b, op.operands[0]);
            let value = to_stored(b, value, dtype);
            b.store(value, base, at);
        }
        _ => extract(l, b, op),
    }
}

fn tensor_element(
    l: &mut Lowering<'_>,
    b: &mut Builder<'_>,
    op: &Op,
    tensor: ValueId,
    indices: &[ValueId],
) -> Option<(Value, Value, DType)> {
    let Some(tensor) = l.tensor(tensor).cloned() else {
        l.unsupported(op.loc, "a tensor that is not known here");
        return None;
    };
    let indices: Vec<Value> = indices.iter().map(|&i| l.scalar(b, i)).collect();
    leave_outside(l, b, op, &indices, &tensor.dims);
    Some((tensor.base, offset(b, &indices, &tensor.strides), tensor.dtype))
}

/// Leaves the kernel where an index does not lie below its extent.
fn leave_outside(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op, indices: &[Value], extents: &[Value]) {
    let guard = inside(b, indices, extents);
    if b.as_const(guard) != Some(1) && b.as_const(guard) != Some(-1) {
        let site = l.site(op.loc, "an index is out of range");
        let outside = b.not(guard);
        b.fail_if(outside, site);
    }
}

fn extract(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op) {
    let (tile, ty) = (l.tile(op.operands[0]).cloned(), l.tile_type(op.operands[0]));
    let indices: Vec<Value> = op.operands[1..].iter().map(|&i| l.scalar(b, i)).collect();
    let extents = l.extents(b, &ty.valid);
    leave_outside(l, b, op, &indices, &extents);
    let value = match tile {
        Some(Tile::Memory(access)) => {
            let at = offset(b, &indices, &access.strides);
            load(b, access.dtype, access.base, at)
        }
        Some(Tile::Full(value)) => value,
        Some(Tile::Iota { axis, start }) => {
            let index = b.resize(indices[axis], b.elem(start), true);
            b.add(start, index)
        }
        _ => return l.unsupported(op.loc, "a tile that is not known here"),
    };
    l.bind(op.result(), Bound::Scalar(value));
}

/// Lowers `assert`.
pub(super) fn lower_assert(l: &mut Lowering<'_>, b: &mut Builder<'_>, op: &Op) {
    let condition = l.scalar(b, op.operands[0]);
    let dtypes: Vec<DType> = op.operands[1..].iter().filter_map(|v| l.function.ty(*v).dtype()).collect();
    let values: Vec<Value> = (op.operands[1..].iter().zip(&dtypes))
        .map(|(&value, &dtype)| {
            let scalar = l.scalar(b, value);
            to_stored(b, scalar, dtype)
        })
        .collect();
    let message = match op.attrs.text(AttrKey::Message) {
        Some(template) if !dtypes.is_empty() => template.to_owned(),
        _ => assertion_text(op, &[]),
    };
    let site = l.site_of(Site { loc: op.loc, message, values: dtypes });
    let fails = b.not(condition);
    b.fail_showing(fails, site, &values);
}
