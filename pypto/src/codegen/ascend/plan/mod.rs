//! Places the tiles of a kernel in the memory spaces of a core.
//!
//! A tile lives from the instruction that first writes it to the last that reads it; one from outside of a loop lives
//! through the whole loop. Tiles that live at the same time do not overlap. A tile may take the place of an operand that
//! dies at the same instruction only if that works in place, and only from the same address on. Nothing depends on
//! anything but the kernel: two builds are equal.

mod lifetimes;
mod overflow;
mod pack;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::dialect::{Function, Inst, Kind, Literal, Ty, Value};
use crate::diagnostics::Diagnostic;
use crate::ir::DType;
use crate::target::{Space, Target};

/// How addresses are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planner {
    /// In the order of the program, each at the lowest address that is free (`PYPTO`).
    FirstFit,
    /// Several orders, the tightest result counts (`DSA_RP`).
    #[default]
    Packed,
    /// By the assembler: tiles have no addresses (`PTOAS`).
    External,
}

/// A tile to place.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub handle: Value,
    pub space: Space,
    pub bytes: i64,
    /// First and last half step of its life: instruction `n` reads at `2n` and writes at `2n + 1`.
    pub begin: usize,
    pub end: usize,
    /// Buffers that it may share memory with only from the same address on.
    pub same_start: Vec<usize>,
}

/// Where tiles are, and how much of each space is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub addresses: BTreeMap<Value, i64>,
    /// Bytes up to the end of the last tile.
    pub used: BTreeMap<Space, i64>,
}

/// Places the tiles of a kernel and writes their addresses into it.
///
/// # Errors
/// Tiles that do not fit: a diagnostic with the table of those that live at the fullest moment.
pub fn plan(function: &mut Function, target: &Target, planner: Planner) -> Result<Plan, Diagnostic> {
    let plan = find(function, target, planner)?;
    if planner != Planner::External {
        apply(function, &plan);
    }
    Ok(plan)
}

/// Chooses addresses without writing them.
///
/// # Errors
/// As [`plan`].
pub fn find(function: &Function, target: &Target, planner: Planner) -> Result<Plan, Diagnostic> {
    let buffers = lifetimes::buffers(function);
    let mut plan = Plan::default();
    for info in target.spaces {
        let own: Vec<usize> = (0..buffers.len()).filter(|i| buffers[*i].space == info.space).collect();
        let addresses = pack::pack(&buffers, &own, info.alignment, planner);
        let used = own.iter().map(|i| addresses[i] + buffers[*i].bytes).max().unwrap_or(0);
        if used > info.capacity {
            return Err(overflow::diagnostic(function, target, info.space, &buffers, used));
        }
        plan.addresses.extend(own.iter().map(|i| (buffers[*i].handle, addresses[i])));
        if used > 0 {
            plan.used.insert(info.space, used);
        }
    }
    Ok(plan)
}

fn apply(function: &mut Function, plan: &Plan) {
    let mut constants: BTreeMap<i64, Value> = BTreeMap::new();
    let mut added = Vec::new();
    for address in plan.addresses.values() {
        if constants.contains_key(address) {
            continue;
        }
        let name = format!("c{address}_i64");
        let known = function.values.iter().position(|v| v.name == name && v.ty == Ty::Scalar(DType::I64));
        let value = match known {
            Some(index) => Value(index as u32),
            None => {
                let result = function.add(name, Ty::Scalar(DType::I64));
                added.push(Inst { kind: Kind::Constant { result, literal: Literal::Int(*address) }, place: None });
                result
            }
        };
        constants.insert(*address, value);
    }
    write_addresses(&mut function.body, plan, &constants);
    function.body.splice(0..0, added);
}

fn write_addresses(body: &mut [Inst], plan: &Plan, constants: &BTreeMap<i64, Value>) {
    for inst in body {
        match &mut inst.kind {
            Kind::Alloc { result, address, .. } => {
                *address = plan.addresses.get(result).and_then(|at| constants.get(at)).copied();
            }
            Kind::For { body, .. } => write_addresses(body, plan, constants),
            Kind::If { then, otherwise, .. } => {
                write_addresses(&mut then.body, plan, constants);
                write_addresses(&mut otherwise.body, plan, constants);
            }
            _ => {}
        }
    }
}
