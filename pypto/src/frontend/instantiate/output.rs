//! Outputs of a finished function: returned tensors become parameters, and `#[out]` parameters are checked.
//!
//! `#[out]` promises that a tensor is written in full before it is read. What can be shown to break the promise is an
//! error: a read that no write precedes, no write at all, or writes whose hull leaves a part out. The rest is decided by
//! the pass `settle_outputs`, which sees the program with inline functions expanded and loops unrolled.

use std::collections::HashMap;

use super::Unit;
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::facts::Fact;
use crate::ir::{AttrKey, Block, Direction, Extent, Function, Loc, Op, Param, ParamRole, Type, ValueId};
use crate::ops::OpKind;
use crate::ops::rules::error::dims_text;

/// Makes allocations that the function returns parameters that its caller allocates.
pub(super) fn return_through_params(function: &mut Function, returned: &[(ValueId, String)]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (value, name) in returned {
        let loc = function.info(*value).loc;
        let position = function.body.ops.iter().position(|op| op.kind == OpKind::Alloc && op.results == [*value]);
        let params: Vec<ValueId> = function.params.iter().map(|p| p.value).collect();
        let expressible = function.ty(*value).extents().all(|e| e.value().is_none_or(|v| params.contains(&v)));
        let (Some(position), true) = (position, expressible) else {
            let title = "a returned tensor must be allocated with extents of the parameters";
            let diagnostic =
                Diagnostic::error(codes::UNSUPPORTED, loc, title, "its extents are computed or chosen here")
                    .help("allocate it at the top of the function, or pass it as an `#[out]` parameter");
            problems.push(diagnostic);
            continue;
        };
        function.body.ops.remove(position);
        let name = if name.is_empty() { "result".to_owned() } else { name.clone() };
        let (direction, role) = (Direction::Out, ParamRole::Tensor);
        function.params.push(Param { value: *value, name, direction, role, returned: true, loc });
    }
    problems
}

/// How a function uses one `#[out]` parameter.
#[derive(Default)]
struct Usage {
    first_write: Option<Loc>,
    /// A read that no write precedes.
    early_read: Option<Loc>,
    /// Per dimension, the smallest range that holds everything written; `None` until written.
    hull: Option<Vec<(i64, i64)>>,
}

/// A part of a parameter that a value stands for.
#[derive(Clone)]
struct Part {
    param: ValueId,
    /// Range of the first index, per dimension of the parameter.
    offset: Vec<(i64, i64)>,
    /// Largest extent, per dimension of the parameter.
    size: Vec<i64>,
}

struct Check<'a> {
    unit: &'a Unit,
    function: &'a Function,
    facts: &'a [Fact],
    parts: HashMap<ValueId, Part>,
    usage: HashMap<ValueId, Usage>,
}

/// Checks the `#[out]` parameters. `facts` are those of the function's values.
pub(super) fn check(unit: &Unit, function: &Function, facts: &[Fact]) -> Vec<Diagnostic> {
    let outputs: Vec<&Param> = function.params.iter().filter(|p| is_checked(function, p)).collect();
    let mut check = Check { unit, function, facts, parts: HashMap::new(), usage: HashMap::new() };
    for param in &outputs {
        if let Type::Tensor(ty) = function.ty(param.value) {
            let size = ty.dims.iter().map(|d| check.most(*d)).collect();
            let offset = vec![(0, 0); ty.rank()];
            check.parts.insert(param.value, Part { param: param.value, offset, size });
        }
        check.usage.insert(param.value, Usage::default());
    }
    check.block(&function.body);
    outputs.iter().filter_map(|param| check.verdict(param)).collect()
}

/// Declared `#[out]`, with at least one element.
fn is_checked(function: &Function, param: &Param) -> bool {
    let empty = function.ty(param.value).as_tensor().is_none_or(|t| t.dims.contains(&Extent::Const(0)));
    param.direction == Direction::Out && param.role == ParamRole::Tensor && !param.returned && !empty
}

impl Check<'_> {
    fn fact(&self, value: ValueId) -> Fact {
        self.facts.get(value.0 as usize).copied().unwrap_or(Fact::ANY)
    }

    fn most(&self, extent: Extent) -> i64 {
        match extent {
            Extent::Const(n) => n,
            Extent::Value(v) => self.fact(v).hi,
        }
    }

    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            self.op(op);
            op.regions.iter().for_each(|region| self.block(region));
        }
    }

    fn op(&mut self, op: &Op) {
        match op.kind {
            OpKind::View => self.view(op),
            OpKind::Load | OpKind::Read | OpKind::GatherRows => self.read(op.operands[0], op.loc),
            OpKind::Store => {
                let sizes = match self.function.ty(op.operands[0]) {
                    Type::Tile(tile) => tile.valid.iter().map(|v| self.most(*v)).collect(),
                    _ => Vec::new(),
                };
                self.write(op.operands[1], &op.operands[2..], &sizes, op.loc);
            }
            OpKind::Write => {
                let sizes = vec![1; op.operands.len() - 2];
                self.write(op.operands[1], &op.operands[2..], &sizes, op.loc);
            }
            OpKind::ScatterRows => self.write_all(op.operands[1], op.loc),
            OpKind::Print | OpKind::Checkpoint => op.operands.iter().for_each(|v| self.read(*v, op.loc)),
            OpKind::Call => self.call(op),
            _ => {}
        }
    }

    fn view(&mut self, op: &Op) {
        let Some(part) = self.parts.get(&op.operands[0]).cloned() else { return };
        let Type::Tensor(ty) = self.function.ty(op.results[0]) else { return };
        let rank = part.size.len();
        // Dimensions of the operand are the last ones of the parameter; those of the view the last ones of the operand.
        let first = rank - (op.operands.len() - 1);
        let mut inner = part;
        for (axis, offset) in op.operands[1..].iter().enumerate() {
            let fact = self.fact(*offset);
            let (lo, hi) = inner.offset[first + axis];
            inner.offset[first + axis] = (lo.saturating_add(fact.lo), hi.saturating_add(fact.hi));
            inner.size[first + axis] = 1;
        }
        for (axis, dim) in ty.dims.iter().enumerate() {
            inner.size[rank - ty.rank() + axis] = self.most(*dim);
        }
        self.parts.insert(op.results[0], inner);
    }

    fn read(&mut self, tensor: ValueId, loc: Loc) {
        let Some(param) = self.parts.get(&tensor).map(|p| p.param) else { return };
        let usage = self.usage.entry(param).or_default();
        if usage.first_write.is_none() && usage.early_read.is_none() {
            usage.early_read = Some(loc);
        }
    }

    fn write(&mut self, tensor: ValueId, offsets: &[ValueId], sizes: &[i64], loc: Loc) {
        let Some(part) = self.parts.get(&tensor).cloned() else { return };
        let mut part = part;
        let first = part.size.len() - offsets.len();
        for (axis, offset) in offsets.iter().enumerate() {
            let fact = self.fact(*offset);
            let (lo, hi) = part.offset[first + axis];
            part.offset[first + axis] = (lo.saturating_add(fact.lo), hi.saturating_add(fact.hi));
            part.size[first + axis] = sizes.get(axis).copied().unwrap_or(i64::MAX);
        }
        self.record(&part, loc);
    }

    fn write_all(&mut self, tensor: ValueId, loc: Loc) {
        if let Some(part) = self.parts.get(&tensor).cloned() {
            self.record(&part, loc);
        }
    }

    fn record(&mut self, part: &Part, loc: Loc) {
        let written: Vec<(i64, i64)> =
            part.offset.iter().zip(&part.size).map(|((lo, hi), size)| (*lo, hi.saturating_add(*size))).collect();
        let usage = self.usage.entry(part.param).or_default();
        usage.first_write.get_or_insert(loc);
        usage.hull = Some(match usage.hull.take() {
            None => written,
            Some(hull) => hull.iter().zip(&written).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect(),
        });
    }

    fn call(&mut self, op: &Op) {
        let callee = op.attrs.text(AttrKey::Callee).and_then(|name| self.unit.built(name));
        let Some(directions) = callee.map(|f| f.params.iter().map(|p| p.direction).collect::<Vec<_>>()) else { return };
        // Reads of a call come before its writes.
        for (operand, direction) in op.operands.iter().zip(&directions) {
            if *direction == Direction::In {
                self.read(*operand, op.loc);
            }
        }
        for (operand, direction) in op.operands.iter().zip(&directions) {
            // Without `#[out]` a callee may only write; that it reads cannot be told from its signature.
            if *direction != Direction::In {
                self.write_all(*operand, op.loc);
            }
        }
    }

    fn verdict(&self, param: &Param) -> Option<Diagnostic> {
        let usage = &self.usage[&param.value];
        let name = &param.name;
        if let Some(read) = usage.early_read {
            let title = format!("`{name}` is `#[out]` but read before it is written");
            let mut diagnostic = Diagnostic::error(codes::READ_BEFORE_WRITE, read, title, "read here")
                .label(param.loc, "declared `#[out]`: its old contents are unspecified")
                .help("`&mut` without `#[out]` makes the parameter read and written");
            if let Some(write) = usage.first_write {
                diagnostic = diagnostic.label(write, "the first write is here");
            }
            return Some(diagnostic);
        }
        let Some(hull) = &usage.hull else {
            let title = format!("`{name}` is `#[out]` but never written");
            return Some(
                Diagnostic::error(codes::NOT_WRITTEN, param.loc, title, "declared `#[out]`")
                    .help(format!("write it: `{name}.store(at, ..)`, `{name}.set(..)`; or make it a `&` parameter")),
            );
        };
        let dims = &self.function.ty(param.value).as_tensor()?.dims;
        let missing = dims.iter().zip(hull).enumerate().find_map(|(axis, (dim, (lo, hi)))| {
            let extent = dim.constant()?;
            (*lo > 0 || *hi < extent).then_some((axis, extent, (*lo).max(0), (*hi).clamp(0, extent)))
        });
        let (axis, extent, lo, hi) = missing?;
        let title = format!("`{name}` is `#[out]` but only {lo}..{hi} of 0..{extent} is written in dimension {axis}");
        let write = usage.first_write.unwrap_or(param.loc);
        Some(
            Diagnostic::error(codes::NOT_WRITTEN, write, title, format!("writes {lo}..{hi} in dimension {axis}"))
                .label(param.loc, format!("declared `#[out]`, extents {}", dims_text(dims)))
                .help("`tiles(..)` visits every element; `&mut` without `#[out]` keeps the old contents of the rest"),
        )
    }
}
