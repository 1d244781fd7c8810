//! One operation after another: control flow, calls and assertions here, the rest by kind.

use super::Passed;
use super::compute::is_pure;
use super::error::{Error, ErrorKind, Outcome, malformed};
use super::machine::{Frame, Machine};
use super::races::LoopWrites;
use super::value::Value;
use crate::ir::report::assertion_text;
use crate::ir::{AttrKey, Block, FunctionKind, LoopKind, Op, Type, ValueId};
use crate::ops::OpKind;
use crate::ops::reference::Scalar;

impl<'p> Machine<'p> {
    /// Runs an operation; `dying` are the values that nothing uses after it.
    pub(super) fn op(&mut self, frame: &mut Frame<'p>, op: &'p Op, dying: &[ValueId]) -> Result<(), Error> {
        match op.kind {
            OpKind::For => self.for_loop(frame, op),
            OpKind::While => self.while_loop(frame, op),
            OpKind::If => self.branch(frame, op),
            OpKind::Call => self.call_op(frame, op),
            OpKind::Assert => assert(frame, op).map_err(|kind| kind.at(op.loc)),
            OpKind::Print | OpKind::Checkpoint => {
                let report = frame.report(op).map_err(|kind| kind.at(op.loc))?;
                self.reports.push(report);
                Ok(())
            }
            _ if is_pure(op) => {
                let value = frame.compute(op, dying).map_err(|kind| kind.at(op.loc))?;
                if self.options.nan && frame.makes_nan(op, &value) {
                    return Err(ErrorKind::Nan(op.kind.name()).at(op.loc));
                }
                frame.set_result(op, value).map_err(|kind| kind.at(op.loc))
            }
            _ => self.effect(frame, op).map_err(|kind| kind.at(op.loc)),
        }
    }

    fn for_loop(&mut self, frame: &mut Frame<'p>, op: &'p Op) -> Result<(), Error> {
        let at = |kind: ErrorKind| kind.at(op.loc);
        let bounds = [0, 1, 2].map(|n| frame.index(op, n));
        let [lower, upper, step] = bounds;
        let (lower, upper, step) = (lower.map_err(at)?, upper.map_err(at)?, step.map_err(at)?);
        if step <= 0 {
            return Err(at(ErrorKind::Step(step)));
        }
        let body = region(op, 0).map_err(at)?;
        let mut carried = values(frame, &op.operands[3..]).map_err(at)?;
        let independent = matches!(op.attrs.loop_kind(), LoopKind::Parallel | LoopKind::Spmd);
        let tracked = self.options.checked && independent;
        if tracked {
            self.loops.push(LoopWrites::default());
        }
        let mut index = lower;
        while index < upper {
            if let Some(writes) = self.loops.last_mut().filter(|_| tracked) {
                writes.begin_iteration(index);
            }
            let first = Value::Scalar(crate::ops::reference::Scalar::new(index));
            let arguments = std::iter::once(first).chain(carried);
            bind(frame, &body.args, arguments).map_err(at)?;
            carried = self.block(frame, body)?;
            index = match index.checked_add(step) {
                Some(next) => next,
                None => break,
            };
        }
        if tracked {
            self.loops.pop();
        }
        bind(frame, &op.results, carried.into_iter()).map_err(at)
    }

    fn while_loop(&mut self, frame: &mut Frame<'p>, op: &'p Op) -> Result<(), Error> {
        let at = |kind: ErrorKind| kind.at(op.loc);
        let (condition, body) = (region(op, 0).map_err(at)?, region(op, 1).map_err(at)?);
        let mut carried = values(frame, &op.operands).map_err(at)?;
        loop {
            bind(frame, &condition.args, carried.into_iter()).map_err(at)?;
            let mut yields = self.block(frame, condition)?.into_iter();
            let go_on = match yields.next() {
                Some(Value::Scalar(scalar)) => scalar.index() == Some(1),
                _ => return Err(at(malformed("the condition of `while` is no `bool`"))),
            };
            carried = yields.collect();
            if !go_on {
                return bind(frame, &op.results, carried.into_iter()).map_err(at);
            }
            bind(frame, &body.args, carried.into_iter()).map_err(at)?;
            carried = self.block(frame, body)?;
        }
    }

    fn branch(&mut self, frame: &mut Frame<'p>, op: &'p Op) -> Result<(), Error> {
        let at = |kind: ErrorKind| kind.at(op.loc);
        let taken = frame.scalar(op, 0).map_err(at)?.index() == Some(1);
        let region = match (taken, op.regions.len()) {
            (false, 1) => return Ok(()),
            (true, _) => region(op, 0),
            (false, _) => region(op, 1),
        };
        let yields = self.block(frame, region.map_err(at)?)?;
        bind(frame, &op.results, yields.into_iter()).map_err(at)
    }

    fn call_op(&mut self, frame: &mut Frame<'p>, op: &'p Op) -> Result<(), Error> {
        let at = |kind: ErrorKind| kind.at(op.loc);
        let name = op.attrs.text(AttrKey::Callee).ok_or_else(|| at(malformed("a call without a callee")))?;
        let callee = self.program.functions.iter().position(|f| f.name == name);
        let callee = callee.ok_or_else(|| at(malformed(format!("a call of `{name}`, which does not exist"))))?;
        let events = usize::try_from(op.attrs.int(AttrKey::After).unwrap_or(0)).unwrap_or(usize::MAX);
        let count = op.operands.len().checked_sub(events).ok_or_else(|| at(malformed("more events than operands")))?;
        let mut arguments = values(frame, &op.operands[..count]).map_err(at)?;
        for (argument, param) in arguments.iter_mut().zip(&self.program.functions[callee].params) {
            if let (Value::Tensor(tensor), crate::ir::Direction::In) = (argument, param.direction) {
                tensor.read_only.get_or_insert_with(|| param.name.as_str().into());
            }
        }
        let mut results = match &mut self.kernels {
            Some(kernels) if self.program.functions[callee].kind == FunctionKind::InCore => {
                let passed = arguments.into_iter().map(passed).collect::<Outcome<Vec<Passed>>>().map_err(at)?;
                kernels.call(callee, passed).map_err(at)?;
                Vec::new()
            }
            _ => self.call(callee, arguments)?,
        };
        let has_event = op.results.last().is_some_and(|result| {
            matches!(frame.function.values.get(result.0 as usize).map(|v| &v.ty), Some(Type::Event))
        });
        if has_event {
            results.push(Value::Event);
        }
        bind(frame, &op.results, results.into_iter()).map_err(at)
    }
}

fn passed(value: Value) -> Outcome<Passed> {
    match value {
        Value::Scalar(scalar) => Ok(Passed::Scalar(scalar)),
        Value::Tensor(tensor) => Ok(Passed::Tensor(tensor)),
        Value::Tile(_) | Value::Event => Err(malformed("a kernel is handed something else than tensors and numbers")),
    }
}

fn assert(frame: &Frame<'_>, op: &Op) -> Outcome<()> {
    if frame.scalar(op, 0)?.index() == Some(1) {
        return Ok(());
    }
    let values: Outcome<Vec<Scalar>> = (1..op.operands.len()).map(|operand| frame.scalar(op, operand)).collect();
    Err(ErrorKind::Assertion(assertion_text(op, &values?)))
}

fn region(op: &Op, n: usize) -> Outcome<&Block> {
    op.regions.get(n).ok_or_else(|| malformed(format!("`{}` without region {n}", op.kind.name())))
}

fn values(frame: &Frame<'_>, names: &[ValueId]) -> Outcome<Vec<Value>> {
    names.iter().map(|name| frame.get(*name).cloned()).collect()
}

/// Defines names in order.
fn bind(frame: &mut Frame<'_>, names: &[ValueId], values: impl Iterator<Item = Value>) -> Outcome<()> {
    let mut values = values.fuse();
    for name in names {
        let value = values.next().ok_or_else(|| malformed("fewer values than names"))?;
        frame.set(*name, value)?;
    }
    Ok(())
}
