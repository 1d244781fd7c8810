//! What a kernel costs by the cost model, from its text alone: whole tiles, and loops whose length is not known run once.

use std::collections::HashMap;

use super::chip::Handle;
use super::clock::{Pipe, compute, drain};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Form, Function, Inst, Kind, Literal, Place, Ty, Value};
use crate::target::Target;

/// A transfer between a core and global memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    pub bytes: i64,
    pub place: Option<Place>,
    /// How often it runs in a block's share of the work.
    pub times: f64,
}

/// The cost of one iteration of a kernel's work, or of all of it where blocks do not share it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Cycles of each pipe, in the order of [`Pipe`].
    pub pipes: [f64; 5],
    pub transfers: Vec<Transfer>,
}

impl Estimate {
    /// Cycles, where pipes work side by side.
    pub fn cycles(&self) -> f64 {
        self.pipes.iter().copied().fold(0.0, f64::max)
    }
}

/// Estimates a kernel.
pub fn estimate(function: &Function, is_spmd: bool, target: &Target) -> Estimate {
    let constants = function.body.iter().filter_map(|inst| match inst.kind {
        Kind::Constant { result, literal: Literal::Int(n) } => Some((result, n)),
        _ => None,
    });
    let mut walk =
        Walk { function, target, constants: constants.collect(), valid: HashMap::new(), found: Estimate::default() };
    // The outermost loop of shared work is over the iterations of a block: one of them.
    walk.body(&function.body, 1.0, is_spmd);
    walk.found
}

struct Walk<'a> {
    function: &'a Function,
    target: &'a Target,
    constants: HashMap<Value, i64>,
    /// Valid extents of tiles, where they are known.
    valid: HashMap<Value, [i64; 2]>,
    found: Estimate,
}

impl Walk<'_> {
    fn body(&mut self, body: &[Inst], times: f64, shared: bool) {
        let mut shared = shared;
        for inst in body {
            match &inst.kind {
                Kind::Alloc { result, valid, .. } => {
                    let Some(tile) = self.function.tile(*result) else { continue };
                    let known = |axis: usize, most: i64| self.constants.get(&valid[axis]).map_or(most, |n| *n);
                    self.valid.insert(*result, [known(0, tile.rows), known(1, tile.cols)]);
                }
                Kind::Tile { op, ins, out, .. } => {
                    let costs = &self.target.costs;
                    let operands: Vec<Handle> = ins.iter().filter_map(|v| self.handle(*v)).collect();
                    let result = self.handle(*out);
                    let (pipe, cycles) = match (op.form(), operands.first(), result) {
                        (Form::Store, Some(tile), _) => {
                            self.transfer(tile.bytes(), inst.place, times);
                            (Pipe::Store, drain(costs, tile, tile.bytes()))
                        }
                        (form, _, Some(result)) => {
                            if form == Form::Load {
                                self.transfer(result.bytes(), inst.place, times);
                            }
                            let work = operands.iter().map(Handle::bytes).fold(result.bytes(), i64::max);
                            compute(costs, *op, &operands, &result, work)
                        }
                        _ => continue,
                    };
                    self.found.pipes[pipe as usize] += times * cycles;
                }
                Kind::For { lower, upper, step, body, .. } => {
                    let bounds = [lower, upper, step].map(|v| self.constants.get(v).copied());
                    let length = match bounds {
                        _ if std::mem::take(&mut shared) => 1.0,
                        [Some(lower), Some(upper), Some(step)] if step > 0 => {
                            (upper.saturating_sub(lower).max(0) as f64 / step as f64).ceil()
                        }
                        _ => 1.0,
                    };
                    self.body(body, times * length, false);
                }
                Kind::If { then, otherwise, .. } => {
                    // One of the two: the longer one counts.
                    let before = self.found.clone();
                    self.body(&then.body, times, false);
                    let first = std::mem::replace(&mut self.found, before);
                    self.body(&otherwise.body, times, false);
                    if first.cycles() > self.found.cycles() {
                        self.found = first;
                    }
                }
                _ => {}
            }
        }
    }

    fn transfer(&mut self, bytes: i64, place: Option<Place>, times: f64) {
        self.found.transfers.push(Transfer { bytes, place, times });
    }

    fn handle(&self, value: Value) -> Option<Handle> {
        let Ty::Tile(ty) = self.function.ty(value) else { return None };
        let known = self.valid.get(&value).copied();
        let valid = known.unwrap_or([ty.valid[0].unwrap_or(ty.rows), ty.valid[1].unwrap_or(ty.cols)]);
        Some(Handle {
            space: ty.space,
            address: 0,
            dtype: ty.dtype,
            rows: ty.rows,
            cols: ty.cols,
            pitch: ty.cols,
            column_order: ty.outer == Order::Column,
            valid,
        })
    }
}
