//! Loops and branches: regions, arguments, yields and results.

use std::collections::HashMap;

use super::{Verifier, shown};
use crate::ir::{Block, DType, Op, Type, ValueId};
use crate::ops::OpKind;

impl Verifier<'_> {
    /// Checks a `for`, `if` or `while` with the right number of regions; its results are not in scope yet.
    pub(super) fn control(&mut self, op: &Op) {
        match op.kind {
            OpKind::For => self.check_for(op),
            OpKind::If => self.check_if(op),
            _ => self.check_while(op),
        }
    }

    fn check_for(&mut self, op: &Op) {
        let body = &op.regions[0];
        if op.operands.len() < 3 || body.args.is_empty() {
            return self.op_error(op, "needs lower bound, upper bound and step, and an index in its region");
        }
        for (operand, value) in op.operands[..3].iter().enumerate() {
            if *self.function.ty(*value) != Type::INDEX {
                self.op_error(op, format!("operand {operand} must be an `i64` scalar"));
            }
        }
        if let Some(step) = self.constants.get(&op.operands[2]).copied().filter(|s| *s <= 0) {
            self.op_error(op, format!("the step is {step}, it must be positive"));
        }
        let entered = self.scope.enter();
        self.define(&body.args, op.loc);
        if *self.function.ty(body.args[0]) != Type::INDEX {
            self.op_error(op, "the index must be an `i64` scalar");
        }
        let args = &body.args[1..];
        self.agree(op, "region arguments", args, "initial values", &op.operands[3..]);
        self.block(body);
        self.agree(op, "region arguments", args, "yields", &body.yields);
        self.agree(op, "region arguments", args, "results", &op.results);
        self.scope.leave(entered);
    }

    fn check_if(&mut self, op: &Op) {
        match op.operands[..] {
            [condition] if *self.function.ty(condition) == Type::Scalar(DType::Bool) => {}
            _ => self.op_error(op, "needs one operand, a `bool` scalar"),
        }
        for (which, region) in ["yields of the first region", "yields of the second region"].iter().zip(&op.regions) {
            if !region.args.is_empty() {
                self.op_error(op, "its regions take no arguments");
            }
            let entered = self.scope.enter();
            self.block(region);
            self.agree(op, "results", &op.results, which, &region.yields);
            self.scope.leave(entered);
        }
    }

    fn check_while(&mut self, op: &Op) {
        let [condition, body]: &[Block; 2] = match op.regions[..].try_into() {
            Ok(regions) => regions,
            Err(_) => return,
        };
        let entered = self.scope.enter();
        self.define(&condition.args, op.loc);
        self.agree(op, "arguments of the condition", &condition.args, "initial values", &op.operands);
        self.block(condition);
        let Some((goes_on, passed)) = condition.yields.split_first() else {
            self.op_error(op, "the condition yields nothing");
            return self.scope.leave(entered);
        };
        if self.known(*goes_on).is_some_and(|ty| *ty != Type::Scalar(DType::Bool)) {
            self.op_error(op, "the condition must yield a `bool` first");
        }
        self.agree(op, "arguments of the body", &body.args, "yields of the condition", passed);
        self.agree(op, "results", &op.results, "yields of the condition", passed);
        self.scope.leave(entered);
        let entered = self.scope.enter();
        self.define(&body.args, op.loc);
        self.block(body);
        self.agree(op, "arguments of the condition", &condition.args, "yields of the body", &body.yields);
        self.scope.leave(entered);
    }

    fn known(&self, value: ValueId) -> Option<&Type> {
        self.function.values.get(value.0 as usize).map(|info| &info.ty)
    }

    /// Two lists agree in number and in types, where the types of the first may mention values of the first.
    fn agree(&mut self, op: &Op, what: &str, first: &[ValueId], other: &str, second: &[ValueId]) {
        if first.len() != second.len() {
            return self.op_error(op, format!("{} {what}, but {} {other}", first.len(), second.len()));
        }
        let replaced: HashMap<ValueId, ValueId> = first.iter().copied().zip(second.iter().copied()).collect();
        for (index, (a, b)) in first.iter().zip(second).enumerate() {
            let (Some(x), Some(y)) = (self.known(*a), self.known(*b)) else { continue };
            if !self.same_type(x, &replaced, y) {
                let message = format!("{index} of the {what} is {}, of the {other} {}", shown(x), shown(y));
                self.op_error(op, message);
            }
        }
    }
}
