//! Makes a kernel function out of operations of an orchestration.
//!
//! Tensors that the operations use become parameters, with the run-time extents and strides of their types; scalars
//! are computed again inside where that is cheap, and parameters where it is not. Tiles never cross: one that a kernel
//! takes from outside is made again by its own operation, or loaded from the tensor that it was stored to.

use std::collections::HashMap;

use super::accesses;
use super::definitions::{Definitions, free_values};
use super::ranges::Ranges;
use super::segments::{is_parallel, is_scalar, work_block};
use super::transplant::{ValueMap, copy_op, map_type};
use crate::ir::{
    Attr, AttrKey, Attrs, Block, DType, Direction, Extent, Function, FunctionKind, Loc, Op, Param, ParamRole, Type,
    ValueId,
};
use crate::ops::OpKind;

/// What the orchestration knows of values that kernels take from outside.
#[derive(Debug, Default)]
pub struct Outside {
    /// Operations that may be repeated: scalar arithmetic, reads, views, and tiles that are cheap to make again.
    pub repeatable: HashMap<ValueId, Op>,
    /// Tensors that hold tiles of earlier kernels.
    pub stored: HashMap<ValueId, ValueId>,
}

/// A kernel with the values of the orchestration that it is called with.
#[derive(Debug)]
pub struct Extracted {
    pub kernel: Function,
    pub arguments: Vec<ValueId>,
}

/// Makes a kernel of `ops`. Each of `outputs`, a value that the operations define, is written to the given tensor.
pub fn extract(
    name: String,
    ops: &[Op],
    outputs: &[(ValueId, ValueId)],
    source: &Function,
    outside: &Outside,
    loc: Loc,
) -> Extracted {
    let kernel = Function {
        name,
        kind: FunctionKind::InCore,
        params: Vec::new(),
        values: Vec::new(),
        body: Block::default(),
        loc,
    };
    let mut extractor = Extractor {
        source,
        outside,
        kernel,
        map: ValueMap::new(),
        tensors: Vec::new(),
        scalars: Vec::new(),
        front: Vec::new(),
        tiles: Vec::new(),
        through_root: Vec::new(),
        may_read: false,
    };
    extractor.import_all(ops, outputs);
    extractor.fill(ops, outputs);
    extractor.finish()
}

struct Extractor<'a> {
    source: &'a Function,
    outside: &'a Outside,
    kernel: Function,
    map: ValueMap,
    /// Values of the source that become parameters.
    tensors: Vec<ValueId>,
    scalars: Vec<ValueId>,
    /// Scalar operations for the front of the kernel.
    front: Vec<Op>,
    /// Operations that bring tiles in, for the front of the work block.
    tiles: Vec<Op>,
    /// Roots that several tensors of the kernel share, one of them written: views are taken inside, so that distinct
    /// parameters never overlap.
    through_root: Vec<ValueId>,
    /// Whether scalars may be read again inside: not those that the loops of the nest need.
    may_read: bool,
}

impl Extractor<'_> {
    fn import_all(&mut self, ops: &[Op], outputs: &[(ValueId, ValueId)]) {
        let mut free = free_values(ops, self.source);
        free.extend(outputs.iter().map(|(_, tensor)| *tensor));
        let mut tensors: Vec<ValueId> = Vec::new();
        for value in &free {
            self.tensors_behind(*value, &mut tensors);
        }
        self.find_shared_roots(&tensors, ops);
        // Tensors first: the extents in their types have to be parameters, not arithmetic.
        for tensor in tensors {
            self.import(tensor);
        }
        for value in loop_heads(ops, self.source) {
            if free.contains(&value) {
                self.import(value);
            }
        }
        self.may_read = true;
        for value in free {
            self.import(value);
        }
    }

    /// The tensors that bringing in `value` needs.
    fn tensors_behind(&self, value: ValueId, found: &mut Vec<ValueId>) {
        match self.source.ty(value) {
            Type::Tensor(_) if !found.contains(&value) => found.push(value),
            Type::Tensor(_) | Type::Event => {}
            _ => match (self.outside.stored.get(&value), self.outside.repeatable.get(&value)) {
                (Some(tensor), _) => self.tensors_behind(*tensor, found),
                (None, Some(op)) => op.operands.iter().for_each(|v| self.tensors_behind(*v, found)),
                (None, None) => {}
            },
        }
    }

    fn root(&self, tensor: ValueId) -> ValueId {
        match self.outside.repeatable.get(&tensor) {
            Some(op) if op.kind == OpKind::View => self.root(op.operands[0]),
            _ => tensor,
        }
    }

    fn find_shared_roots(&mut self, tensors: &[ValueId], ops: &[Op]) {
        for tensor in tensors {
            let root = self.root(*tensor);
            let same: Vec<ValueId> = tensors.iter().copied().filter(|t| self.root(*t) == root).collect();
            if same.len() > 1 && same.iter().any(|t| ops.iter().any(|op| writes(op, *t))) {
                self.through_root.push(root);
            }
        }
    }

    /// Makes `value` of the source available in the kernel.
    fn import(&mut self, value: ValueId) -> ValueId {
        if let Some(known) = self.map.get(&value) {
            return *known;
        }
        match self.source.ty(value).clone() {
            Type::Scalar(_) => self.import_scalar(value),
            Type::Tensor(ty) => {
                let root = self.root(value);
                if root != value && self.through_root.contains(&root) {
                    return self.repeat(value, false);
                }
                for extent in ty.dims.iter().chain(&ty.strides).filter_map(|e| e.value()) {
                    if !self.map.contains_key(&extent) {
                        self.parameter(extent);
                    }
                }
                self.parameter(value)
            }
            Type::Tile(_) => self.import_tile(value),
            Type::Event => self.parameter(value),
        }
    }

    fn import_scalar(&mut self, value: ValueId) -> ValueId {
        let reads = self.reads(value);
        if !self.outside.repeatable.contains_key(&value) || (reads && !self.may_read) {
            return self.parameter(value);
        }
        self.repeat(value, reads)
    }

    /// Whether making a scalar again reads memory.
    fn reads(&self, value: ValueId) -> bool {
        let op = self.outside.repeatable.get(&value);
        op.is_some_and(|op| op.kind == OpKind::Read || op.operands.iter().any(|v| self.reads(*v)))
    }

    fn import_tile(&mut self, value: ValueId) -> ValueId {
        let Some(tensor) = self.outside.stored.get(&value).copied() else {
            return self.repeat(value, true);
        };
        let info = self.source.info(value).clone();
        info.ty.extents().filter_map(|e| e.value()).for_each(|v| {
            self.import(v);
        });
        let tensor = self.import(tensor);
        let mut operands = vec![tensor];
        for _ in 0..info.ty.as_tile().map_or(0, |t| t.rank()) {
            operands.push(self.index_constant(0, info.loc));
        }
        let loaded = self.kernel.add_value(map_type(&info.ty, &self.map), info.name, info.loc);
        self.map.insert(value, loaded);
        self.tiles.push(simple_op(OpKind::Load, operands, Attrs::new(), vec![loaded], info.loc));
        loaded
    }

    /// Repeats the operation that defines `value` inside the kernel.
    fn repeat(&mut self, value: ValueId, inside: bool) -> ValueId {
        let outside = self.outside;
        let Some(op) = outside.repeatable.get(&value) else { return self.parameter(value) };
        for used in free_values([op], self.source) {
            self.import(used);
        }
        let copy = copy_op(op, self.source, &mut self.kernel, &mut self.map);
        if inside {
            self.tiles.push(copy);
        } else {
            self.front.push(copy);
        }
        self.map[&value]
    }

    fn parameter(&mut self, value: ValueId) -> ValueId {
        let info = self.source.info(value).clone();
        let inner = self.kernel.add_value(map_type(&info.ty, &self.map), info.name, info.loc);
        self.map.insert(value, inner);
        if info.ty.as_tensor().is_some() {
            self.tensors.push(value)
        } else {
            self.scalars.push(value)
        }
        inner
    }

    fn index_constant(&mut self, n: i64, loc: Loc) -> ValueId {
        let value = self.kernel.add_value(Type::INDEX, None, loc);
        let attrs = Attrs::new().with(AttrKey::Value, Attr::Int(n)).with(AttrKey::DType, Attr::DType(DType::I64));
        self.front.push(simple_op(OpKind::Constant, Vec::new(), attrs, vec![value], loc));
        value
    }

    fn fill(&mut self, ops: &[Op], outputs: &[(ValueId, ValueId)]) {
        let mut body: Vec<Op> = Vec::new();
        for op in ops {
            body.push(copy_op(op, self.source, &mut self.kernel, &mut self.map));
        }
        for (value, tensor) in outputs {
            body.push(self.output(*value, *tensor));
        }
        let mut block = Block { ops: body, ..Block::default() };
        let work = work_block(&mut block, &self.kernel);
        work.ops.splice(0..0, std::mem::take(&mut self.tiles));
        block.ops.splice(0..0, std::mem::take(&mut self.front));
        self.kernel.body = block;
    }

    fn output(&mut self, value: ValueId, tensor: ValueId) -> Op {
        let loc = self.source.info(value).loc;
        let rank = self.source.ty(tensor).as_tensor().map_or(0, |t| t.rank());
        let mut operands = vec![self.map[&value], self.map[&tensor]];
        for _ in 0..rank {
            operands.push(self.index_constant(0, loc));
        }
        let kind = if self.source.ty(value).as_tile().is_some() { OpKind::Store } else { OpKind::Write };
        simple_op(kind, operands, Attrs::new(), Vec::new(), loc)
    }

    fn finish(mut self) -> Extracted {
        let arguments: Vec<ValueId> = self.tensors.iter().chain(&self.scalars).copied().collect();
        for (position, argument) in arguments.iter().enumerate() {
            let info = self.source.info(*argument);
            self.kernel.params.push(Param {
                value: self.map[argument],
                name: info.name.clone().unwrap_or_else(|| format!("p{position}")),
                direction: Direction::In,
                role: self.role(*argument),
                returned: false,
                loc: info.loc,
            });
        }
        distinct_names(&mut self.kernel.params);
        derive_directions(&mut self.kernel);
        Extracted { kernel: self.kernel, arguments }
    }

    fn role(&self, value: ValueId) -> ParamRole {
        let wanted = Extent::Value(value);
        for (param, tensor) in self.tensors.iter().enumerate() {
            let Type::Tensor(ty) = self.source.ty(*tensor) else { continue };
            if *tensor == value {
                return ParamRole::Tensor;
            }
            if let Some(axis) = ty.dims.iter().position(|d| *d == wanted) {
                return ParamRole::Extent { param, axis };
            }
            if let Some(axis) = ty.strides.iter().position(|d| *d == wanted) {
                return ParamRole::Stride { param, axis };
            }
        }
        ParamRole::Scalar
    }
}

/// What the bounds of the perfectly nested parallel loops are made of.
fn loop_heads(ops: &[Op], source: &Function) -> Vec<ValueId> {
    let mut found = Vec::new();
    let mut level = ops;
    while let Some(nest) = level.iter().find(|op| is_parallel(op)) {
        found.extend(nest.operands.iter().copied());
        for op in level.iter().filter(|op| is_scalar(op, source)) {
            found.extend(op.operands.iter().copied());
        }
        level = &nest.regions[0].ops;
    }
    found
}

/// Whether an operation, or one nested in it, writes to `tensor` directly.
fn writes(op: &Op, tensor: ValueId) -> bool {
    let own = matches!(op.kind, OpKind::Store | OpKind::ScatterRows | OpKind::Write) && op.operands[1] == tensor;
    own || op.regions.iter().any(|region| region.ops.iter().any(|nested| writes(nested, tensor)))
}

/// Parameters are told apart by name in messages and in the text form.
fn distinct_names(params: &mut [Param]) {
    for position in 1..params.len() {
        let (before, rest) = params.split_at_mut(position);
        if before.iter().any(|p| p.name == rest[0].name) {
            rest[0].name = format!("{}_{position}", rest[0].name);
        }
    }
}

/// Sets each tensor parameter's direction from what the body does with it.
pub fn derive_directions(function: &mut Function) {
    let directions: Vec<Direction> = {
        let ranges = Ranges::new(Definitions::of(function));
        let found = accesses::of_block(&function.body, &ranges, &HashMap::new());
        let of = |param: &Param| {
            let written = found.iter().any(|a| a.root == param.value && a.writes);
            if written { Direction::InOut } else { Direction::In }
        };
        function.params.iter().map(of).collect()
    };
    for (param, direction) in function.params.iter_mut().zip(directions) {
        param.direction = direction;
    }
}

/// An operation without regions.
pub fn simple_op(kind: OpKind, operands: Vec<ValueId>, attrs: Attrs, results: Vec<ValueId>, loc: Loc) -> Op {
    Op { kind, operands, attrs, regions: Vec::new(), results, loc }
}
