//! `if` as statement and expression. A condition that is known takes one branch at specialization; otherwise the
//! variables that a branch assigns, and the value of the expression, are merged.

use super::assigned::Assigned;
use super::carried::{flatten, rebuild};
use super::rule_message;
use super::scope::{Slot, Variable};
use super::value::Value;
use super::{Checkpoint, Flow, Reported, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Block, Expr};
use crate::ir::{DType, Loc, ValueId};
use crate::ops::fold::Literal;
use crate::ops::rules::RuleError;
use crate::ops::rules::error::type_text;

/// The variables that a branch may leave changed, and the value of the whole.
struct Merge {
    slots: Vec<Slot>,
    entry: Vec<Variable>,
    loc: Loc,
}

/// What one branch leaves: the variables, then the value.
struct Outcome {
    variables: Vec<Variable>,
    /// The values as the branch left them, literals still literals.
    originals: Vec<Value>,
    yields: Vec<ValueId>,
    /// Index of the variable that each yield belongs to.
    owner: Vec<usize>,
}

impl Walker<'_> {
    pub fn if_expression(
        &mut self,
        condition: &'static Expr,
        then: &'static Block,
        otherwise: Option<&'static Expr>,
        loc: Loc,
    ) -> Flow<Value> {
        let known = self.operand(condition).and_then(|c| self.scalar_of(&c, Some(DType::Bool)));
        let condition = match known {
            Ok(value) => value,
            Err(Reported) => return self.branches_unknown(then, otherwise),
        };
        match self.builder.literal(condition) {
            Some(Literal::Bool(true)) => self.block(then),
            Some(_) => otherwise.map_or(Ok(Value::Unit), |e| self.expr(e)),
            None => self.run_time_if(condition, then, otherwise, loc),
        }
    }

    /// Looks for errors in the branches of an `if` whose condition is wrong.
    fn branches_unknown(&mut self, then: &'static Block, otherwise: Option<&'static Expr>) -> Flow<Value> {
        self.conditional += 1;
        let _ = self.block(then);
        if let Some(expr) = otherwise {
            let _ = self.expr(expr);
        }
        self.conditional -= 1;
        for slot in self.slots(&Assigned::in_branches(then, otherwise)) {
            let loc = self.scope.get(slot).loc;
            self.scope.set(slot, Some(Value::Poison), loc);
        }
        Err(Reported)
    }

    fn run_time_if(
        &mut self,
        condition: ValueId,
        then: &'static Block,
        otherwise: Option<&'static Expr>,
        loc: Loc,
    ) -> Flow<Value> {
        let merge = self.merged_variables(then, otherwise, loc);
        let checkpoint = self.checkpoint();
        let opened = self.builder.begin_if(condition, loc);
        self.check(opened, &Site::new("if", loc))?;
        self.conditional += 1;
        let value = self.block(then);
        let place = then.result.map_or(loc, |r| self.loc(r.span));
        let first = self.outcome(&merge, value, place, None);
        let outcome = match first {
            Ok(first) => {
                let opened = self.builder.begin_else(&first.yields);
                let opened = self.check(opened, &Site::new("if", loc));
                self.scope.restore(&merge.slots, &merge.entry);
                let value = otherwise.map_or(Ok(Value::Unit), |e| self.expr(e));
                let place = otherwise.map_or(loc, |e| self.loc(e.span));
                let second = self.outcome(&merge, value, place, Some(&first));
                opened.and_then(|()| second.map(|second| (first, second)))
            }
            Err(Reported) => {
                // The other branch is still looked at.
                self.scope.restore(&merge.slots, &merge.entry);
                let _ = otherwise.map(|e| self.expr(e));
                Err(Reported)
            }
        };
        self.conditional -= 1;
        let Ok((first, second)) = outcome else {
            return self.abandon(&merge, &checkpoint);
        };
        let results = self.builder.end_if(&second.yields);
        match results {
            Ok(results) => Ok(self.merged(&merge, &first, results)),
            Err(error) => {
                let diagnostic = difference(&error, &merge, &first, &second);
                self.report(diagnostic);
                self.abandon(&merge, &checkpoint)
            }
        }
    }

    /// Variables that are assigned in a branch: those that have a value before, and those that get one in both.
    fn merged_variables(&mut self, then: &'static Block, otherwise: Option<&'static Expr>, loc: Loc) -> Merge {
        let in_then = Assigned::in_branches(then, None);
        let in_else = otherwise.map_or(Vec::new(), Assigned::in_expression);
        let names = Assigned::in_branches(then, otherwise);
        let slots = self.slots(&names);
        // Literals stay literals: a branch that leaves one alone takes the type that the other branch gives the variable.
        for slot in &slots {
            self.check_carriable(*slot);
        }
        let keep = |slot: &Slot| {
            let variable = self.scope.get(*slot);
            let in_both = in_then.contains(&variable.name) && in_else.contains(&variable.name);
            match &variable.value {
                Some(Value::Poison) => false,
                Some(_) => true,
                None => in_both,
            }
        };
        let slots: Vec<Slot> = slots.into_iter().filter(keep).collect();
        let entry = self.scope.save(&slots);
        Merge { slots, entry, loc }
    }

    /// The IR values that a branch ends with; the second branch adapts to the first.
    fn outcome(&mut self, merge: &Merge, value: Flow<Value>, place: Loc, like: Option<&Outcome>) -> Flow<Outcome> {
        let mut variables = self.scope.save(&merge.slots);
        variables.push(Variable { name: "", value: Some(value?), loc: place });
        let originals = variables.iter().map(|v| v.value.clone().unwrap_or(Value::Poison)).collect();
        let (mut yields, mut owner) = (Vec::new(), Vec::new());
        for (i, variable) in variables.iter_mut().enumerate() {
            let value = match variable.value.take() {
                Some(Value::Unit) if variable.name.is_empty() => {
                    variable.value = Some(Value::Unit);
                    continue;
                }
                None | Some(Value::Poison) => return Err(Reported),
                Some(value) => value,
            };
            let (value, pattern) = match like.and_then(|l| l.variables[i].value.clone()) {
                Some(first) => {
                    let value = self.adapted(value, &first, variable.loc);
                    if let Some(like) = like {
                        self.literal_meets(&like.originals[i], &first, &value, like.variables[i].loc);
                    }
                    (value, first)
                }
                None => {
                    let definite = self.definite(value, variable.loc);
                    (definite.clone(), definite)
                }
            };
            if flatten(&value, &pattern, &mut yields).is_none() {
                let what =
                    if variable.name.is_empty() { "the value".to_owned() } else { format!("`{}`", variable.name) };
                let title = format!("{what} is {} that depends on a run-time condition", value.kind());
                let help = "branches can give scalars and tiles; choose tensors by their offsets";
                return Err(self.unsupported(variable.loc, &title, help));
            }
            owner.resize(yields.len(), i);
            variable.value = Some(value);
        }
        Ok(Outcome { variables, originals, yields, owner })
    }

    /// A literal of one branch takes the type that the other branch's value has.
    fn literal_meets(&mut self, original: &Value, first: &Value, second: &Value, place: Loc) {
        match (original, first, second) {
            (Value::Int(_) | Value::Float(_), Value::Scalar(a), Value::Scalar(b)) => {
                let (a, b) = (self.builder.ty(*a).dtype(), self.builder.ty(*b).dtype());
                if let Some(dtype) = b.filter(|_| a != b) {
                    self.unit.inference.settle(place, dtype);
                }
            }
            (
                Value::Tuple(original) | Value::Array(original),
                Value::Tuple(a) | Value::Array(a),
                Value::Tuple(b) | Value::Array(b),
            ) => {
                for ((original, a), b) in original.iter().zip(a.iter()).zip(b.iter()) {
                    self.literal_meets(original, a, b, place);
                }
            }
            _ => {}
        }
    }

    /// Gives the variables their values after the `if`, and the expression its value.
    fn merged(&mut self, merge: &Merge, first: &Outcome, results: Vec<ValueId>) -> Value {
        let mut results = results.into_iter();
        let mut values = Vec::with_capacity(first.variables.len());
        for (variable, original) in first.variables.iter().zip(&first.originals) {
            let value = variable.value.as_ref().map_or(Value::Unit, |like| rebuild(like, &mut results));
            self.guess_literals(original, &value, variable.loc);
            values.push(value);
        }
        let result = values.pop().unwrap_or(Value::Unit);
        for ((slot, variable), value) in merge.slots.iter().zip(&first.variables).zip(values) {
            self.scope.set(*slot, Some(value), variable.loc);
        }
        result
    }

    fn abandon(&mut self, merge: &Merge, checkpoint: &Checkpoint) -> Flow<Value> {
        self.rollback(checkpoint, true);
        for (slot, variable) in merge.slots.iter().zip(&merge.entry) {
            self.scope.set(*slot, Some(Value::Poison), variable.loc);
        }
        Err(Reported)
    }
}

fn difference(error: &RuleError, merge: &Merge, first: &Outcome, second: &Outcome) -> Diagnostic {
    let RuleError::BranchType { index, then_type, else_type } = error else {
        return rule_message::explain(error, &Site::new("if", merge.loc));
    };
    let variable = first.owner[*index];
    let (then, other) = (&first.variables[variable], &second.variables[variable]);
    let what = if then.name.is_empty() { "the value".to_owned() } else { format!("`{}`", then.name) };
    let (a, b) = (type_text(then_type), type_text(else_type));
    let title = format!("{what} is {a} after the `if` but {b} after the `else`");
    Diagnostic::error(codes::BRANCH_TYPES, then.loc, title, format!("{a} here"))
        .label(other.loc, format!("{b} here"))
        .help("bring both to one type: `cast` the elements, `broadcast` or `slice` the extents")
}
