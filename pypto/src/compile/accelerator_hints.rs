//! What costs time on an accelerator, by the cost model of its target: cores without work, transfers so small that waiting
//! for memory is most of them, values that go through global memory between kernels of one unit.

use std::collections::{BTreeMap, BTreeSet};

use super::hints::{Hint, HintCode};
use crate::codegen::ascend::dialect::Core;
use crate::codegen::ascend::{AscendArtifact, AscendKernel};
use crate::ir::{AttrKey, Block, Direction, Function, IndexExpr, Loc, Op, Program, Type, ValueId};
use crate::ops::OpKind;
use crate::simulator::estimate::{Transfer, estimate};
use crate::target::{Space, Target};

/// Of all cores the share that is idle from which on a kernel uses too few of them.
const IDLE: f64 = 0.25;

/// The hints of an artifact, kernel by kernel.
pub(super) fn hints(artifact: &AscendArtifact) -> Vec<Hint> {
    let mut all = Vec::new();
    for kernel in &artifact.kernels {
        let source = artifact.program.functions.iter().find(|function| function.name == kernel.name);
        let Some(source) = source else { continue };
        all.extend(idle_cores(artifact.target, kernel, source));
        all.extend(small_transfers(artifact.target, kernel, source));
    }
    all.extend(round_trips(artifact));
    all
}

/// A kernel whose blocks leave cores without work, where each takes longer than it takes to dispatch it.
fn idle_cores(target: &'static Target, kernel: &AscendKernel, source: &Function) -> Option<Hint> {
    let (cores, unit) = match kernel.core {
        Core::Cube => (target.cube_cores as i64, "matrix"),
        Core::Vector => (target.vector_cores as i64, "vector"),
    };
    let function = kernel.module.functions.first()?;
    let cycles = estimate(function, kernel.is_spmd, target).cycles();
    let IndexExpr::Const(pieces) = kernel.iterations else { return None };
    if cycles < target.costs.dispatch || pieces < 1 {
        return None;
    }
    let rounds = (pieces + cores - 1) / cores;
    let idle = 1.0 - pieces as f64 / (rounds * cores) as f64;
    if idle < IDLE {
        return None;
    }
    let (name, share) = (&kernel.name, idle * 100.0);
    let text = format!(
        "`{name}` has {pieces} pieces of about {cycles:.0} cycles for {cores} {unit} cores: {share:.0} % of their time is idle; \
         smaller tiles make more pieces"
    );
    Some(Hint { code: HintCode::IdleCores, text, loc: work(source) })
}

/// Where a kernel's work begins: its outermost loop, or itself.
fn work(source: &Function) -> Loc {
    source.body.ops.iter().find(|op| op.kind == OpKind::For).map_or(source.loc, |op| op.loc)
}

/// A transfer that runs often and waits for memory longer than it moves data, though there is room for more at once.
fn small_transfers(target: &'static Target, kernel: &AscendKernel, source: &Function) -> Option<Hint> {
    let costs = &target.costs;
    let function = kernel.module.functions.first()?;
    let repeats = match (&kernel.iterations, kernel.is_spmd) {
        (IndexExpr::Const(pieces), true) => (*pieces as f64 / target.vector_cores as f64).max(1.0),
        _ => 1.0,
    };
    let worth = |t: &&Transfer| {
        let waits = costs.global_latency > t.bytes as f64 / costs.global_bandwidth;
        // A transfer that is the only one of its kind could not be larger.
        waits && t.bytes > 0 && t.times * repeats >= 4.0
    };
    let room = kernel.plan.used.get(&Space::Vec).is_some_and(|used| used * 4 < target.space(Space::Vec).capacity);
    let found = estimate(function, kernel.is_spmd, target);
    let smallest = found.transfers.iter().filter(worth).min_by_key(|t| t.bytes).filter(|_| room)?;
    let (bytes, latency) = (smallest.bytes, costs.global_latency);
    let moving = bytes as f64 / costs.global_bandwidth;
    let text = format!(
        "`{}` transfers {bytes} bytes at a time, which waits {latency:.0} cycles for memory and moves data for {moving:.0}; \
         larger tiles wait less often",
        kernel.name
    );
    let loc = smallest.place.map(|p| Loc::new(p.file, p.line, p.column, p.line, p.column));
    Some(Hint { code: HintCode::SmallTiles, text, loc: loc.unwrap_or(source.loc) })
}

/// Who accesses a temporary.
#[derive(Default)]
struct Accesses {
    writers: BTreeSet<usize>,
    readers: BTreeSet<usize>,
    calls: usize,
}

/// Temporaries that one kernel writes and another kernel of the same unit reads: a kernel that does both keeps them on chip.
fn round_trips(artifact: &AscendArtifact) -> Vec<Hint> {
    let program = &artifact.program;
    let mut found: BTreeMap<ValueId, (Loc, Accesses)> = BTreeMap::new();
    let mut roots = BTreeMap::new();
    visit(program, &program.entry_function().body, &mut roots, &mut found);
    let core = |index: &usize| artifact.kernel(&program.functions[*index].name).map(|kernel| kernel.core);
    let mut hints = Vec::new();
    for (value, (loc, accesses)) in &found {
        // Whoever writes it piece by piece counts as a reader, too.
        let readers: Vec<&usize> = accesses.readers.difference(&accesses.writers).collect();
        let (Some(writer), [reader]) = (accesses.writers.first(), &readers[..]) else { continue };
        let (reader, only) = (*reader, accesses.writers.len() == 1 && accesses.calls == 2);
        if !only || writer == reader || core(writer) != core(reader) || core(writer) != Some(Core::Vector) {
            continue;
        }
        let name = |index: &usize| &program.functions[*index].name;
        let what = program.entry_function().info(*value).name.as_deref().unwrap_or("a temporary");
        let text = format!(
            "`{what}` goes through global memory from `{}` to `{}`; one kernel would keep it on the chip",
            name(writer),
            name(reader)
        );
        hints.push(Hint { code: HintCode::RoundTrip, text, loc: *loc });
    }
    hints
}

fn visit(
    program: &Program,
    block: &Block,
    roots: &mut BTreeMap<ValueId, ValueId>,
    found: &mut BTreeMap<ValueId, (Loc, Accesses)>,
) {
    for op in &block.ops {
        match op.kind {
            OpKind::Alloc => {
                found.insert(op.results[0], (op.loc, Accesses::default()));
            }
            OpKind::View => {
                let root = roots.get(&op.operands[0]).copied().unwrap_or(op.operands[0]);
                roots.insert(op.results[0], root);
            }
            OpKind::Call => call(program, op, roots, found),
            _ => {}
        }
        op.regions.iter().for_each(|region| visit(program, region, roots, found));
    }
}

fn call(
    program: &Program,
    op: &Op,
    roots: &BTreeMap<ValueId, ValueId>,
    found: &mut BTreeMap<ValueId, (Loc, Accesses)>,
) {
    let callee = op.attrs.text(AttrKey::Callee).unwrap_or("");
    let Some(index) = program.functions.iter().position(|function| function.name == callee) else { return };
    let function = &program.functions[index];
    for (param, operand) in function.params.iter().zip(&op.operands) {
        let root = roots.get(operand).unwrap_or(operand);
        let Some((_, accesses)) = found.get_mut(root) else { continue };
        if !matches!(function.ty(param.value), Type::Tensor(_)) {
            continue;
        }
        accesses.calls += 1;
        if param.direction != Direction::Out {
            accesses.readers.insert(index);
        }
        if param.direction != Direction::In {
            accesses.writers.insert(index);
        }
    }
}
