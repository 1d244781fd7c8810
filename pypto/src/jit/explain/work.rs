//! Flops and bytes of a program for given arguments, counted by walking the program after its passes. Nothing runs: what
//! depends on elements of tensors is not known, and counts as one iteration, or as the first branch.

use std::collections::{BTreeMap, HashMap};

use crate::frontend::specialization::ArgumentSpec;
use crate::ir::{AttrKey, Block, Direction, Extent, Function, IndexExpr, Op, ParamRole, Program, Type, ValueId};
use crate::ops::{Class, OpKind};
use crate::passes::flat_loops::{flattened, iterations};

/// The work of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Operations on elements; a multiply-add of a product is two.
    pub flops: f64,
    /// Elements that exp, log, tanh, erf, sigmoid, sin or cos are taken of. They cost ten to thirty operations each.
    pub functions: f64,
    /// Bytes of tensors of the caller that are read, each once.
    pub read: f64,
    /// Bytes of tensors of the caller that are written, each once.
    pub written: f64,
    /// Bytes of temporary tensors of the kernel, which are written and read between its parts.
    pub temporary: f64,
    /// False where something depends on values that only a run knows.
    pub exact: bool,
}

impl Work {
    /// Flops and functions a byte of the caller's tensors.
    pub fn intensity(&self) -> f64 {
        (self.flops + self.functions) / (self.read + self.written).max(1.0)
    }
}

/// The part of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct KernelPart {
    pub calls: f64,
    /// Of all calls together.
    pub iterations: f64,
    pub flops: f64,
}

/// Everything that was counted.
pub(super) struct Count {
    pub work: Work,
    pub kernels: BTreeMap<String, KernelPart>,
}

/// Counts the work of a program whose entry gets such arguments.
pub(super) fn count(program: &Program, samples: &[ArgumentSpec]) -> Count {
    let entry = program.entry_function();
    let mut frame = Frame::entry(entry, samples);
    let mut walker = Walker { program, budget: BUDGET, exact: true, temporaries: HashMap::new() };
    let tally = walker.block(&mut frame, &entry.body);
    let mut work = Work { flops: tally.flops, functions: tally.functions, exact: walker.exact, ..Work::default() };
    for param in &entry.params {
        let Some(size) = frame.bytes(param.value) else { continue };
        let moved = tally.tensors.get(&param.value).copied().unwrap_or_default();
        work.read += moved.read.min(size);
        work.written += if param.direction == Direction::In { 0.0 } else { moved.written.min(size) };
    }
    work.temporary = walker.temporaries.values().sum();
    Count { work, kernels: tally.kernels }
}

/// At most so many operations are visited; loops beyond are counted by a few of their iterations.
const BUDGET: usize = 300_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moved {
    read: f64,
    written: f64,
}

/// What a part of the program does. Tensors go by the value that they are in the entry.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    flops: f64,
    functions: f64,
    tensors: BTreeMap<ValueId, Moved>,
    kernels: BTreeMap<String, KernelPart>,
}

impl Tally {
    fn add(&mut self, other: &Tally, times: f64) {
        self.flops += times * other.flops;
        self.functions += times * other.functions;
        for (tensor, moved) in &other.tensors {
            let all = self.tensors.entry(*tensor).or_default();
            all.read += times * moved.read;
            all.written += times * moved.written;
        }
        for (name, part) in &other.kernels {
            let all = self.kernels.entry(name.clone()).or_default();
            all.calls += times * part.calls;
            all.iterations += times * part.iterations;
            all.flops += times * part.flops;
        }
    }
}

/// What is known of the values of a function.
struct Frame<'p> {
    function: &'p Function,
    scalars: HashMap<ValueId, i64>,
    /// What tensors are in the entry.
    tensors: HashMap<ValueId, ValueId>,
}

impl<'p> Frame<'p> {
    fn entry(function: &'p Function, samples: &[ArgumentSpec]) -> Frame<'p> {
        let mut frame = Frame { function, scalars: HashMap::new(), tensors: HashMap::new() };
        for (index, param) in function.params.iter().enumerate() {
            let known = match (param.role, samples.get(index)) {
                (ParamRole::Tensor, _) => {
                    frame.tensors.insert(param.value, param.value);
                    None
                }
                (ParamRole::Extent { param, axis }, _) => match samples.get(param) {
                    Some(ArgumentSpec::Tensor { dims, .. }) => dims.get(axis).copied(),
                    _ => None,
                },
                (ParamRole::Scalar, Some(ArgumentSpec::Scalar { dtype, bits })) if dtype.is_integer() => {
                    Some(*bits as i64)
                }
                _ => None,
            };
            if let Some(value) = known {
                frame.scalars.insert(param.value, value);
            }
        }
        frame
    }

    fn extent(&self, extent: Extent) -> Option<i64> {
        match extent {
            Extent::Const(n) => Some(n),
            Extent::Value(value) => self.scalars.get(&value).copied(),
        }
    }

    /// Elements of extents; `None` where one is not known.
    fn product(&self, extents: &[Extent]) -> Option<f64> {
        extents.iter().map(|&e| self.extent(e).map(|n| n.max(0) as f64)).product()
    }

    /// Valid elements of a tile, all of them where the valid ones are not known; 1 for a scalar.
    fn elements(&self, value: ValueId) -> f64 {
        match self.function.ty(value) {
            Type::Tile(ty) => self.product(&ty.valid).or_else(|| self.product(&ty.dims)).unwrap_or(1.0),
            _ => 1.0,
        }
    }

    /// Bytes of a tensor.
    fn bytes(&self, value: ValueId) -> Option<f64> {
        match self.function.ty(value) {
            Type::Tensor(ty) => Some(self.product(&ty.dims)? * ty.dtype.size() as f64),
            _ => None,
        }
    }

    fn is_tile(&self, value: ValueId) -> bool {
        matches!(self.function.ty(value), Type::Tile(_))
    }
}

struct Walker<'p> {
    program: &'p Program,
    budget: usize,
    exact: bool,
    /// Bytes of each temporary tensor.
    temporaries: HashMap<ValueId, f64>,
}

impl<'p> Walker<'p> {
    fn block(&mut self, frame: &mut Frame<'p>, block: &'p Block) -> Tally {
        let mut tally = Tally::default();
        for op in &block.ops {
            self.budget = self.budget.saturating_sub(1);
            match op.kind.class() {
                Class::Control => self.control(frame, op, &mut tally),
                Class::Call => self.call(frame, op, &mut tally),
                Class::Tensor => self.tensor(frame, op),
                _ if op.results.first().is_some_and(|&r| matches!(frame.function.ty(r), Type::Scalar(_))) => {
                    scalar(frame, op);
                    moved(frame, op, &mut tally);
                }
                _ => {
                    arithmetic(frame, op, &mut tally);
                    moved(frame, op, &mut tally);
                }
            }
        }
        tally
    }

    fn tensor(&mut self, frame: &mut Frame<'p>, op: &'p Op) {
        let result = op.result();
        if op.kind == OpKind::Alloc {
            frame.tensors.insert(result, result);
            self.temporaries.insert(result, frame.bytes(result).unwrap_or(0.0));
        } else if let Some(&root) = op.operands.first().and_then(|tensor| frame.tensors.get(tensor)) {
            frame.tensors.insert(result, root);
        }
    }

    fn control(&mut self, frame: &mut Frame<'p>, op: &'p Op, tally: &mut Tally) {
        if op.kind == OpKind::For {
            return self.counted(frame, op, tally);
        }
        // Which branch is taken, and how often a condition holds, only a run knows.
        self.exact = false;
        if let Some(region) = if op.kind == OpKind::If { op.regions.first() } else { op.regions.last() } {
            let inner = self.block(frame, region);
            tally.add(&inner, 1.0);
        }
    }

    fn counted(&mut self, frame: &mut Frame<'p>, op: &'p Op, tally: &mut Tally) {
        let bound = |i: usize| op.operands.get(i).and_then(|value| frame.scalars.get(value)).copied();
        let (Some(lower), Some(upper), Some(step)) = (bound(0), bound(1), bound(2).filter(|step| *step > 0)) else {
            self.exact = false;
            let inner = self.iteration(frame, op, None);
            return tally.add(&inner, 1.0);
        };
        let count = upper.saturating_sub(lower).max(0).saturating_add(step - 1) / step;
        if count == 0 {
            return;
        }
        let mut at = |walker: &mut Self, n: i64| walker.iteration(frame, op, Some(lower + n * step));
        let before = self.budget;
        let samples = [0, count / 2, count - 1].map(|n| at(self, n));
        if samples[0] == samples[1] && samples[0] == samples[2] {
            return tally.add(&samples[0], count as f64);
        }
        let each = (before - self.budget) / 3 + 1;
        if (count as usize).saturating_mul(each) > self.budget {
            self.exact = false;
            return samples.iter().for_each(|sample| tally.add(sample, count as f64 / 3.0));
        }
        for n in 0..count {
            let inner = at(self, n);
            tally.add(&inner, 1.0);
        }
    }

    fn iteration(&mut self, frame: &mut Frame<'p>, op: &'p Op, index: Option<i64>) -> Tally {
        let region = &op.regions[0];
        // What the iteration before made known does not hold in this one.
        for arg in &region.args {
            frame.scalars.remove(arg);
        }
        if let (Some(&arg), Some(index)) = (region.args.first(), index) {
            frame.scalars.insert(arg, index);
        }
        self.block(frame, region)
    }

    fn call(&mut self, frame: &mut Frame<'p>, op: &'p Op, tally: &mut Tally) {
        let Some(callee) = op.attrs.text(AttrKey::Callee).and_then(|name| self.program.function(name)) else { return };
        let mut inner = Frame { function: callee, scalars: HashMap::new(), tensors: HashMap::new() };
        let mut arguments = Vec::new();
        for (param, operand) in callee.params.iter().zip(&op.operands) {
            let scalar = frame.scalars.get(operand).copied();
            arguments.push(scalar.unwrap_or(0));
            if let Some(value) = scalar {
                inner.scalars.insert(param.value, value);
            }
            if let Some(&root) = frame.tensors.get(operand) {
                inner.tensors.insert(param.value, root);
            }
        }
        let mut work = self.block(&mut inner, &callee.body);
        let dealt = iterations(&flattened(callee)).eval(&arguments).max(0) as f64;
        let part = KernelPart { calls: 1.0, iterations: dealt, flops: work.flops };
        work.kernels.insert(callee.name.clone(), part);
        tally.add(&work, 1.0);
    }
}

/// Keeps the value of index arithmetic.
fn scalar(frame: &mut Frame<'_>, op: &Op) {
    let [result] = op.results[..] else { return };
    let known = |value: &ValueId| frame.scalars.get(value).map(|n| IndexExpr::Const(*n));
    let value = match (op.kind, &op.operands[..]) {
        (OpKind::Constant, _) => op.attrs.int(AttrKey::Value),
        (kind, [a, b]) => match (known(a), known(b)) {
            (Some(a), Some(b)) => IndexExpr::binary(kind, a, b).and_then(|e| e.constant()),
            _ => None,
        },
        _ => None,
    };
    match value {
        Some(value) => frame.scalars.insert(result, value),
        None => frame.scalars.remove(&result),
    };
}

fn arithmetic(frame: &Frame<'_>, op: &Op, tally: &mut Tally) {
    use OpKind::{Cos, Erf, Exp, Log, Sigmoid, Sin, Tanh};
    let Some(&result) = op.results.first() else { return };
    match op.kind.class() {
        Class::Unary if matches!(op.kind, Exp | Log | Tanh | Erf | Sigmoid | Sin | Cos) => {
            tally.functions += frame.elements(result);
        }
        Class::Unary | Class::Binary | Class::Compare | Class::Select => tally.flops += frame.elements(result),
        Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => {
            tally.flops += frame.elements(op.operands[0]);
        }
        Class::Matmul => tally.flops += 2.0 * frame.elements(result) * inner_extent(frame, op),
        _ => {}
    }
}

/// The extent that a product sums over.
fn inner_extent(frame: &Frame<'_>, op: &Op) -> f64 {
    let left = op.operands[usize::from(op.kind == OpKind::MatmulAcc)];
    let Type::Tile(ty) = frame.function.ty(left) else { return 1.0 };
    let axis = ty.rank() - if op.attrs.flag(AttrKey::TransposeA) { 2 } else { 1 };
    let extent = frame.extent(ty.valid[axis]).or_else(|| frame.extent(ty.dims[axis]));
    extent.map_or(1.0, |n| n.max(0) as f64)
}

/// Bytes between tensors and tiles.
fn moved(frame: &Frame<'_>, op: &Op, tally: &mut Tally) {
    let (tensor, reads) = match op.kind {
        OpKind::Load | OpKind::GatherRows | OpKind::Read => (op.operands[0], true),
        OpKind::Store | OpKind::ScatterRows | OpKind::Write => (op.operands[1], false),
        _ => return,
    };
    let value = if reads { op.results[0] } else { op.operands[0] };
    let elements = if frame.is_tile(value) { frame.elements(value) } else { 1.0 };
    let size = frame.function.ty(value).dtype().map_or(0, |dtype| dtype.size()) as f64;
    let Some(&root) = frame.tensors.get(&tensor) else { return };
    let all = tally.tensors.entry(root).or_default();
    *(if reads { &mut all.read } else { &mut all.written }) += elements * size;
}
