//! `for` and `while`. Assigned variables become carried values. Where the valid extent of a carried tile turns out to
//! change, the loop is walked again with that extent carried too.

use super::assigned::Assigned;
use super::carried::{flatten, rebuild};
use super::coerce::Operand;
use super::rule_message;
use super::scope::{Slot, Variable};
use super::value::{At, Item, Iteration, Span, Value};
use super::{Checkpoint, Flow, Reported, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Block, Expr, Pattern};
use crate::ir::builder::{ForLoop, Varying};
use crate::ir::{DType, Extent, Loc, LoopKind, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::rules::RuleError;
use crate::ops::rules::error::type_text;

/// More iterations than this are not expanded.
const MAX_UNROLL: i64 = 1024;

/// A `for` statement whose iterator has been evaluated.
struct ForStatement<'a> {
    iteration: &'a Iteration,
    pattern: &'static Pattern,
    body: &'static Block,
    loc: Loc,
    assigned: Vec<&'static str>,
}

/// The carried variables of one loop.
struct Carried {
    slots: Vec<Slot>,
    /// As they were, literals still literals.
    before: Vec<Value>,
    /// As they enter the loop.
    entry: Vec<Variable>,
    initial: Vec<ValueId>,
    /// The variable that each of the initial values belongs to.
    owner: Vec<usize>,
}

/// A loop body's outcome.
struct Exit {
    yields: Vec<ValueId>,
    /// Values of the variables at the end of the body, with their places; poison where they are wrong.
    variables: Vec<Variable>,
}

enum Next {
    Done,
    Again,
}

impl Walker<'_> {
    pub fn for_statement(
        &mut self,
        pattern: &'static Pattern,
        iterator: &'static Expr,
        body: &'static Block,
        loc: Loc,
    ) {
        let iterator = self.operand(iterator);
        if let Ok(Operand { value: Value::Array(parts), .. }) = &iterator {
            self.over_array(pattern, parts, body, loc);
            return;
        }
        let iteration = iterator.and_then(|operand| match &operand.value {
            Value::Iterator(iteration) => Ok(iteration.clone()),
            _ => Err(self.unexpected("an iterator", &operand)),
        });
        let assigned = Assigned::in_loop(Some(pattern), body);
        match iteration {
            Ok(iteration) => {
                let statement = ForStatement { iteration: &iteration, pattern, body, loc, assigned };
                self.iterate(&statement, &mut Vec::new());
            }
            Err(Reported) => self.walk_unknown(Some(pattern), body, &assigned),
        }
    }

    /// The elements of an array are known one by one: the body once for each.
    fn over_array(&mut self, pattern: &'static Pattern, parts: &[Value], body: &'static Block, loc: Loc) {
        for part in parts {
            let mark = self.scope.mark();
            self.bind(pattern, part.clone(), loc);
            let _ = self.block(body);
            self.scope.close(mark);
        }
    }

    /// Looks for errors in the body of a loop whose head is wrong.
    fn walk_unknown(&mut self, pattern: Option<&'static Pattern>, body: &'static Block, assigned: &[&'static str]) {
        let mark = self.scope.mark();
        if let Some(pattern) = pattern {
            let loc = self.loc(body.span);
            self.bind(pattern, Value::Poison, loc);
        }
        self.conditional += 1;
        let _ = self.block(body);
        self.conditional -= 1;
        self.scope.close(mark);
        let slots = self.slots(assigned);
        self.poison(&slots);
    }

    fn poison(&mut self, slots: &[Slot]) {
        for slot in slots {
            let loc = self.scope.get(*slot).loc;
            self.scope.set(*slot, Some(Value::Poison), loc);
        }
    }

    /// Builds the loops of an iteration from the outermost dimension inwards.
    fn iterate(&mut self, statement: &ForStatement<'_>, indices: &mut Vec<ValueId>) {
        let iteration = statement.iteration;
        let Some(span) = iteration.dims.get(indices.len()).copied() else {
            self.loop_body(statement, indices);
            return;
        };
        let constant = |v| self.builder.constant(v);
        let known = match (constant(span.lower), constant(span.upper), constant(span.step)) {
            (Some(lower), Some(upper), Some(step)) if step > 0 => Some((lower, upper, step)),
            _ => None,
        };
        match (known, iteration.kind) {
            (Some((lower, upper, _)), _) if upper <= lower => {}
            (Some((lower, upper, step)), LoopKind::Unroll) => self.unroll(statement, (lower, upper, step), indices),
            (None, LoopKind::Unroll) => {
                let bound = if constant(span.upper).is_none() { span.upper } else { span.lower };
                self.not_constant(bound, "the range of an unrolled loop", iteration.loc);
                self.walk_unknown(Some(statement.pattern), statement.body, &statement.assigned);
            }
            // A single iteration needs no loop.
            (Some((lower, upper, step)), _) if lower.checked_add(step).is_none_or(|next| next >= upper) => {
                indices.push(span.lower);
                self.iterate(statement, indices);
                indices.pop();
            }
            _ => self.one_loop(statement, span, indices),
        }
    }

    fn unroll(&mut self, statement: &ForStatement<'_>, range: (i64, i64, i64), indices: &mut Vec<ValueId>) {
        let (lower, upper, step) = range;
        let count = (upper - lower).saturating_add(step - 1) / step;
        let loc = statement.iteration.loc;
        if count > MAX_UNROLL {
            let title = format!("`unroll` expands at most {MAX_UNROLL} iterations, got {count}");
            self.error(codes::PARAMETER_RANGE, loc, title, "expanded at specialization");
            return;
        }
        for i in 0..count {
            let index = self.builder.index(lower + i * step, loc);
            indices.push(index);
            self.iterate(statement, indices);
            indices.pop();
        }
    }

    fn loop_body(&mut self, statement: &ForStatement<'_>, indices: &[ValueId]) {
        let mark = self.scope.mark();
        let item = self.item(statement.iteration, indices).unwrap_or(Value::Poison);
        self.bind(statement.pattern, item, statement.iteration.loc);
        let _ = self.block(statement.body);
        self.scope.close(mark);
    }

    /// What the loop's pattern is bound to in one iteration.
    fn item(&mut self, iteration: &Iteration, indices: &[ValueId]) -> Flow<Value> {
        let loc = iteration.loc;
        match &iteration.item {
            Item::Index { dtype } => self.index_item(indices[0], *dtype, loc),
            Item::Falling { dtype, sum } => {
                let index = self.builder.binary(OpKind::Sub, *sum, indices[0], loc);
                let index = self.check(index, &Site::new("rev", loc))?;
                self.index_item(index, *dtype, loc)
            }
            Item::Indices => Ok(Value::Tuple(indices.iter().map(|i| Value::Scalar(*i)).collect())),
            Item::Place { shape, written } => {
                let mut valid = Vec::with_capacity(shape.len());
                for ((extent, index), Span { upper, .. }) in shape.iter().zip(indices).zip(&iteration.dims) {
                    let limit = self.builder.extent(*upper);
                    let rest = self.builder.remaining(limit, *index, loc);
                    let least = rest.and_then(|rest| self.builder.min_extent(Extent::Const(*extent), rest, loc));
                    valid.push(self.check(least, &Site::new("tiles", loc))?);
                }
                let shape = shape.iter().map(|n| Extent::Const(*n)).collect();
                Ok(Value::At(At { offset: indices.to_vec(), shape, valid, written: *written }.into()))
            }
        }
    }

    fn index_item(&mut self, index: ValueId, dtype: DType, loc: Loc) -> Flow<Value> {
        if dtype == DType::I64 {
            return Ok(Value::Scalar(index));
        }
        let cast = self.builder.cast(index, dtype, Round::None, loc);
        self.check(cast, &Site::new("for", loc)).map(Value::Scalar)
    }

    fn one_loop(&mut self, statement: &ForStatement<'_>, span: Span, indices: &mut Vec<ValueId>) {
        let carried = self.carried(&statement.assigned);
        let index_name = match statement.pattern {
            Pattern::Name { name, .. } if statement.iteration.dims.len() == 1 => Some(name.name.to_owned()),
            _ => None,
        };
        let head = ForLoop {
            kind: statement.iteration.kind,
            lower: span.lower,
            upper: span.upper,
            step: span.step,
            initial: carried.initial.clone(),
            index_name,
            names: carried.names(),
            loc: statement.loc,
        };
        let checkpoint = self.checkpoint();
        let mut varying: Vec<Varying> = Vec::new();
        loop {
            let opened = self.builder.begin_for(&head, &varying);
            let site = Site::new("for", statement.iteration.loc);
            let Ok((index, arguments)) = self.check(opened, &site) else {
                self.poison(&carried.slots);
                return;
            };
            let arguments = self.enter(&carried, &arguments);
            self.conditional += 1;
            indices.push(index);
            self.iterate(statement, indices);
            indices.pop();
            self.conditional -= 1;
            let exit = self.exit(&carried, &arguments);
            let outcome = self.builder.end_for(&exit.yields);
            if let Next::Done = self.close_loop(&carried, &arguments, exit, outcome, &checkpoint, &mut varying) {
                return;
            }
        }
    }

    pub fn while_statement(&mut self, condition: &'static Expr, body: &'static Block, loc: Loc) {
        let assigned = Assigned::in_loop(None, body);
        let carried = self.carried(&assigned);
        let checkpoint = self.checkpoint();
        let mut varying: Vec<Varying> = Vec::new();
        loop {
            let arguments = self.builder.begin_while(&carried.initial, &carried.names(), &varying, loc);
            self.enter(&carried, &arguments);
            self.conditional += 1;
            let goes_on = self.operand(condition).and_then(|c| self.scalar_of(&c, Some(DType::Bool)));
            let opened = goes_on.and_then(|goes_on| {
                let opened = self.builder.begin_while_body(goes_on);
                self.check(opened, &Site::new("while", loc))
            });
            let Ok(arguments) = opened else {
                self.conditional -= 1;
                self.rollback(&checkpoint, true);
                self.scope.restore(&carried.slots, &carried.entry);
                self.walk_unknown(None, body, &assigned);
                return;
            };
            let arguments = self.enter(&carried, &arguments);
            let _ = self.block(body);
            self.conditional -= 1;
            let exit = self.exit(&carried, &arguments);
            let outcome = self.builder.end_while(&exit.yields);
            if let Next::Done = self.close_loop(&carried, &arguments, exit, outcome, &checkpoint, &mut varying) {
                return;
            }
        }
    }

    fn carried(&mut self, assigned: &[&'static str]) -> Carried {
        let slots = self.slots(assigned);
        let before: Vec<Variable> = self.scope.save(&slots);
        let kept = self.make_carriable(&slots);
        let kept: Vec<usize> = (0..slots.len()).filter(|i| kept[*i]).collect();
        let before = kept.iter().map(|i| before[*i].value.clone().unwrap_or(Value::Poison)).collect();
        let slots: Vec<Slot> = kept.iter().map(|i| slots[*i]).collect();
        let entry = self.scope.save(&slots);
        let (mut initial, mut owner) = (Vec::new(), Vec::new());
        for (i, variable) in entry.iter().enumerate() {
            if let Some(value) = &variable.value {
                // Cannot fail: the structure is the value's own.
                let _ = flatten(value, value, &mut initial);
            }
            owner.resize(initial.len(), i);
        }
        Carried { slots, before, entry, initial, owner }
    }

    /// Gives the variables the values that they have within the region.
    fn enter(&mut self, carried: &Carried, arguments: &[ValueId]) -> Vec<Value> {
        let mut values = arguments.iter().copied();
        let mut inside = Vec::with_capacity(carried.slots.len());
        for ((slot, entry), before) in carried.slots.iter().zip(&carried.entry).zip(&carried.before) {
            let value = entry.value.as_ref().map_or(Value::Poison, |like| rebuild(like, &mut values));
            self.guess_literals(before, &value, entry.loc);
            self.scope.set(*slot, Some(value.clone()), entry.loc);
            inside.push(value);
        }
        inside
    }

    /// What the variables hold at the end of the body.
    fn exit(&mut self, carried: &Carried, arguments: &[Value]) -> Exit {
        let mut yields = Vec::with_capacity(carried.initial.len());
        let mut variables = self.scope.save(&carried.slots);
        for (variable, argument) in variables.iter_mut().zip(arguments) {
            let value = variable.value.clone().unwrap_or(Value::Poison);
            let value = self.adapted(value, argument, variable.loc);
            if flatten(&value, argument, &mut yields).is_none() {
                if !matches!(value, Value::Poison) {
                    self.kind_changed(variable.name, variable.loc);
                }
                variable.value = Some(Value::Poison);
                let _ = flatten(argument, argument, &mut yields);
            }
        }
        Exit { yields, variables }
    }

    /// Gives the variables their values after the loop, or prepares for another walk.
    fn close_loop(
        &mut self,
        carried: &Carried,
        arguments: &[Value],
        exit: Exit,
        outcome: Result<Vec<ValueId>, RuleError>,
        checkpoint: &Checkpoint,
        varying: &mut Vec<Varying>,
    ) -> Next {
        match outcome {
            Ok(results) => {
                let mut results = results.into_iter();
                for (i, slot) in carried.slots.iter().enumerate() {
                    let value = rebuild(&arguments[i], &mut results);
                    self.guess_literals(&carried.before[i], &value, carried.entry[i].loc);
                    let poisoned = matches!(exit.variables[i].value, Some(Value::Poison));
                    let value = if poisoned { Value::Poison } else { value };
                    self.scope.set(*slot, Some(value), exit.variables[i].loc);
                }
                Next::Done
            }
            // Problems would be reported twice, and the program is not going to be used.
            Err(RuleError::CarriedValid { varying: more }) if self.unit.problems.0.len() == checkpoint.problems => {
                varying.extend(more);
                self.rollback(checkpoint, false);
                self.scope.restore(&carried.slots, &carried.entry);
                Next::Again
            }
            Err(error) => {
                let diagnostic = carried.mismatch(&error, &exit);
                if let Some(diagnostic) = diagnostic {
                    self.report(diagnostic);
                }
                self.rollback(checkpoint, true);
                self.poison(&carried.slots);
                Next::Done
            }
        }
    }
}

impl Carried {
    fn names(&self) -> Vec<Option<String>> {
        self.owner.iter().map(|i| Some(self.entry[*i].name.to_owned())).collect()
    }

    /// A carried variable that ends the body with another type.
    fn mismatch(&self, error: &RuleError, exit: &Exit) -> Option<Diagnostic> {
        match error {
            RuleError::CarriedType { index, initial, yielded } => {
                let variable = self.owner[*index];
                let (entry, end) = (&self.entry[variable], &exit.variables[variable]);
                let (first, last) = (type_text(initial), type_text(yielded));
                let title = format!("`{}` enters the loop as {first} and leaves it as {last}", entry.name);
                let diagnostic =
                    Diagnostic::error(codes::LOOP_TYPES, end.loc, title, format!("{last} is assigned here"));
                Some(
                    diagnostic
                        .label(entry.loc, format!("{first} before the loop"))
                        .help("a variable keeps its shape and element type from one iteration to the next"),
                )
            }
            RuleError::CarriedValid { .. } => None,
            other => {
                let loc = exit.variables.first().or(self.entry.first()).map(|v| v.loc)?;
                Some(rule_message::explain(other, &Site::new("loop", loc)))
            }
        }
    }
}
