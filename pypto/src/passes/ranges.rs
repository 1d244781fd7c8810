//! What is known of index values: their form as [`Affine`] expressions and bounds from below and above.
//!
//! Bounds come from loop bounds, `min` and `max`, divisions and remainders by positive constants, and from extents,
//! which are never negative. A proof that fails says nothing; a proof that succeeds holds for every run in which index
//! arithmetic does not overflow.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::affine::Affine;
use super::definitions::{Definitions, Origin};
use crate::ir::{Attr, AttrKey, Extent, Op, ParamRole, Type, ValueId};
use crate::ops::OpKind;

/// How many substitutions a proof may stack; kernels nest fewer loops than that.
const DEPTH: usize = 10;

/// How many expressions a proof may look at before it gives up: a proof that exists is short.
const EFFORT: u32 = 4000;

/// Which side of a value a bound is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Lower,
    Upper,
}

impl Side {
    fn opposite(self) -> Side {
        match self {
            Side::Lower => Side::Upper,
            Side::Upper => Side::Lower,
        }
    }
}

/// Index facts of one function.
#[derive(Debug)]
pub struct Ranges<'f> {
    pub definitions: Definitions<'f>,
    forms: RefCell<HashMap<ValueId, Affine>>,
    effort: Cell<u32>,
}

impl<'f> Ranges<'f> {
    /// Facts of the function that the definitions describe.
    pub fn new(definitions: Definitions<'f>) -> Ranges<'f> {
        Ranges { definitions, forms: RefCell::default(), effort: Cell::new(0) }
    }

    /// The value as a polynomial over values that are none.
    pub fn form(&self, value: ValueId) -> Affine {
        if let Some(known) = self.forms.borrow().get(&value) {
            return known.clone();
        }
        let form = self.expand(value).unwrap_or_else(|| Affine::value(value));
        self.forms.borrow_mut().insert(value, form.clone());
        form
    }

    /// An extent as a polynomial.
    pub fn extent(&self, extent: Extent) -> Affine {
        match extent {
            Extent::Const(n) => Affine::constant(n),
            Extent::Value(v) => self.form(v),
        }
    }

    fn expand(&self, value: ValueId) -> Option<Affine> {
        let op = self.definitions.op(value)?;
        if *self.definitions.function.ty(value) != Type::INDEX {
            return None;
        }
        let operand = |i: usize| self.form(op.operands[i]);
        match op.kind {
            OpKind::Constant => match op.attrs.get(AttrKey::Value) {
                Some(Attr::Int(n)) => Some(Affine::constant(*n)),
                _ => None,
            },
            OpKind::Add => operand(0).add(&operand(1)),
            OpKind::Sub => operand(0).sub(&operand(1)),
            OpKind::Mul => operand(0).mul(&operand(1)),
            OpKind::Neg => Affine::constant(0).sub(&operand(0)),
            OpKind::Shl => {
                let amount = operand(1).as_constant().filter(|n| (0..62).contains(n))?;
                operand(0).mul(&Affine::constant(1 << amount))
            }
            OpKind::Div | OpKind::Rem | OpKind::Min | OpKind::Max => self.fold(op, &operand(0), &operand(1)),
            _ => None,
        }
    }

    fn fold(&self, op: &Op, a: &Affine, b: &Affine) -> Option<Affine> {
        if a == b && matches!(op.kind, OpKind::Min | OpKind::Max) {
            return Some(a.clone());
        }
        let (x, y) = (a.as_constant()?, b.as_constant()?);
        let folded = match op.kind {
            OpKind::Div => x.checked_div(y)?,
            OpKind::Rem => x.checked_rem(y)?,
            OpKind::Min => x.min(y),
            _ => x.max(y),
        };
        Some(Affine::constant(folded))
    }

    /// Expressions that bound an elementary value from one side; all of them hold.
    pub fn bounds(&self, value: ValueId, side: Side) -> Vec<Affine> {
        match self.definitions.origin(value) {
            Some(Origin::Param(param)) => match (param.role, side) {
                (ParamRole::Extent { .. } | ParamRole::Stride { .. }, Side::Lower) => vec![Affine::constant(0)],
                _ => Vec::new(),
            },
            Some(Origin::Argument { op, index: 0, .. }) if op.kind == OpKind::For => self.loop_bounds(op, side),
            Some(Origin::Result { op, .. }) => self.operation_bounds(op, side),
            _ => Vec::new(),
        }
    }

    /// Bounds of a loop's index. The step is positive by the language.
    fn loop_bounds(&self, op: &Op, side: Side) -> Vec<Affine> {
        let (lower, upper, step) = (self.form(op.operands[0]), self.form(op.operands[1]), self.form(op.operands[2]));
        if side == Side::Lower {
            return vec![lower];
        }
        if let (Some(lo), Some(hi), Some(step)) = (lower.as_constant(), upper.as_constant(), step.as_constant())
            && hi > lo
            && step > 0
        {
            return vec![Affine::constant(lo + (hi - 1 - lo) / step * step)];
        }
        upper.sub(&Affine::constant(1)).into_iter().collect()
    }

    fn operation_bounds(&self, op: &Op, side: Side) -> Vec<Affine> {
        if op.operands.len() != 2 {
            return Vec::new();
        }
        let (a, b) = (self.form(op.operands[0]), self.form(op.operands[1]));
        match (op.kind, side) {
            (OpKind::Min, Side::Upper) | (OpKind::Max, Side::Lower) => vec![a, b],
            // The smaller of two is bounded from below by a number that bounds both.
            (OpKind::Min, Side::Lower) | (OpKind::Max, Side::Upper) => {
                let (x, y) = (self.number_bound(&a, side, DEPTH), self.number_bound(&b, side, DEPTH));
                let pick = |x: i64, y: i64| if side == Side::Lower { x.min(y) } else { x.max(y) };
                x.zip(y).map(|(x, y)| Affine::constant(pick(x, y))).into_iter().collect()
            }
            (OpKind::Div, _) => self.quotient_bounds(&a, &b, side),
            (OpKind::Rem, _) => self.remainder_bounds(&a, &b, side),
            _ => Vec::new(),
        }
    }

    /// Truncated division by a positive number: between 0 and the dividend where that is not negative.
    fn quotient_bounds(&self, a: &Affine, b: &Affine, side: Side) -> Vec<Affine> {
        let Some(divisor) = b.as_constant().filter(|n| *n > 0) else { return Vec::new() };
        if let Some(n) = self.number_bound(a, side, DEPTH) {
            return vec![Affine::constant(n / divisor)];
        }
        match side {
            Side::Lower if self.not_negative(a) => vec![Affine::constant(0)],
            Side::Upper if self.not_negative(a) => vec![a.clone()],
            _ => Vec::new(),
        }
    }

    /// Truncated remainder: sign of the dividend, below the divisor.
    fn remainder_bounds(&self, a: &Affine, b: &Affine, side: Side) -> Vec<Affine> {
        let positive = b.sub(&Affine::constant(1)).is_some_and(|x| self.not_negative(&x));
        if !positive {
            return Vec::new();
        }
        match side {
            Side::Upper => b.sub(&Affine::constant(1)).into_iter().collect(),
            Side::Lower if self.not_negative(a) => vec![Affine::constant(0)],
            Side::Lower => Affine::constant(1).sub(b).into_iter().collect(),
        }
    }

    /// A number that bounds the expression.
    fn number_bound(&self, e: &Affine, side: Side, depth: usize) -> Option<i64> {
        let unwanted = |_: ValueId| true;
        let candidates = self.eliminate(e, side, &unwanted, depth);
        let numbers = candidates.iter().filter_map(Affine::as_constant);
        if side == Side::Lower { numbers.max() } else { numbers.min() }
    }

    /// Bounds of `e` from one side that mention no unwanted value; several may hold, none may be known.
    pub fn bounds_without(&self, e: &Affine, side: Side, unwanted: &dyn Fn(ValueId) -> bool) -> Vec<Affine> {
        let outermost = self.effort.get() == 0;
        if outermost {
            self.effort.set(EFFORT);
        }
        let found = self.eliminate(e, side, unwanted, DEPTH);
        if outermost {
            self.effort.set(0);
        }
        found
    }

    fn eliminate(&self, e: &Affine, side: Side, unwanted: &dyn Fn(ValueId) -> bool, depth: usize) -> Vec<Affine> {
        // The value defined last first: its bounds may mention those defined before it.
        let Some(v) = e.values().into_iter().rev().find(|v| unwanted(*v)) else { return vec![e.clone()] };
        let Some((factor, _)) = e.split(v) else { return Vec::new() };
        let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
        let bound_side = if self.sign(&factor, depth) == Some(true) {
            side
        } else if self.sign(&factor, depth) == Some(false) {
            side.opposite()
        } else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for bound in self.bounds(v, bound_side) {
            if let Some(replaced) = e.substitute(v, &bound) {
                found.extend(self.eliminate(&replaced, side, unwanted, depth));
            }
        }
        found
    }

    /// `Some(true)` where the factor is proved not negative, `Some(false)` where it is proved not positive.
    fn sign(&self, factor: &Affine, depth: usize) -> Option<bool> {
        if let Some(n) = factor.as_constant() {
            return Some(n >= 0);
        }
        if self.prove(factor, depth) {
            return Some(true);
        }
        let negated = Affine::constant(0).sub(factor)?;
        self.prove(&negated, depth).then_some(false)
    }

    /// Whether `e >= 0` is proved.
    pub fn not_negative(&self, e: &Affine) -> bool {
        if self.effort.get() == 0 {
            self.effort.set(EFFORT);
            let proved = self.prove(e, DEPTH);
            self.effort.set(0);
            return proved;
        }
        // Asked from within a proof: on its account.
        self.prove(e, DEPTH / 2)
    }

    /// Whether `a <= b` is proved.
    pub fn at_most(&self, a: &Affine, b: &Affine) -> bool {
        b.sub(a).is_some_and(|d| self.not_negative(&d))
    }

    fn prove(&self, e: &Affine, depth: usize) -> bool {
        if let Some(n) = e.as_constant() {
            return n >= 0;
        }
        if e.terms().all(|(monomial, coefficient)| coefficient > 0 && monomial.iter().all(|v| self.natural(*v, depth)))
        {
            return true;
        }
        let (Some(depth), 2..) = (depth.checked_sub(1), self.effort.get()) else { return false };
        self.effort.set(self.effort.get() - 1);
        for v in e.values().into_iter().rev() {
            let Some((factor, _)) = e.split(v) else { continue };
            let side = match self.sign(&factor, depth.min(3)) {
                Some(true) => Side::Lower,
                Some(false) => Side::Upper,
                None => continue,
            };
            for bound in self.bounds(v, side) {
                if e.substitute(v, &bound).is_some_and(|replaced| self.prove(&replaced, depth)) {
                    return true;
                }
            }
        }
        false
    }

    fn natural(&self, v: ValueId, depth: usize) -> bool {
        let (Some(depth), 2..) = (depth.checked_sub(1), self.effort.get()) else { return false };
        self.effort.set(self.effort.get() - 1);
        self.bounds(v, Side::Lower).iter().any(|bound| self.prove(bound, depth))
    }
}
