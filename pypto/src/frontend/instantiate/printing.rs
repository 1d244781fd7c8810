//! `static_print!`: values as specialization knows them; `print!` and `checkpoint!`: values as the running kernel has them.

use super::coerce::Operand;
use super::rule_message::Site;
use super::value::Value;
use super::{Flow, Walker};
use crate::frontend::generic::Expr;
use crate::frontend::static_print::Printed;
use crate::ir::report::template::{self, Part};
use crate::ir::report::{MAX_SHOWN, Shown};
use crate::ir::{Attr, AttrKey, Attrs, DType, Loc, Op, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;
use crate::ops::reference::Scalar;
use crate::ops::rules::error::type_text;

/// The message of an assertion.
pub(super) struct Message {
    /// With placeholders for the values, and doubled braces.
    pub text: String,
    pub values: Vec<ValueId>,
    /// With the names of the values in place of them, and doubled braces.
    named: String,
}

impl Message {
    /// What is said where the values are not known.
    pub fn named(&self) -> String {
        template::write(&self.named, &[])
    }
}

impl Walker<'_> {
    /// Notes the line; it is printed when the function has been specialized.
    pub fn static_print(&mut self, pieces: &'static [&'static str], args: &'static [Expr], loc: Loc) {
        let values: Vec<String> =
            args.iter().map(|e| self.expr(e).map_or("?".to_owned(), |v| self.shown(&v))).collect();
        let mut text = String::new();
        for (index, piece) in pieces.iter().enumerate() {
            text.push_str(piece);
            text.extend(values.get(index).map(String::as_str));
        }
        self.unit.printed.push(Printed { loc, text });
    }

    /// The message of an assertion: what is known now is in the text, scalars of the running kernel are its values, and of others the text
    /// has the names.
    pub fn assertion_message(&mut self, text: &'static str, args: &'static [Expr]) -> Flow<Message> {
        let (mut parts, mut values, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for operand in self.operands(args)? {
            let scalar = match &operand.value {
                Value::Int(_) | Value::Float(_) | Value::Scalar(_) => Some(self.scalar_of(&operand, None)?),
                _ => None,
            };
            let known = scalar.and_then(|value| self.builder.literal(value).zip(self.builder.ty(value).dtype()));
            parts.push(match (scalar, known) {
                (_, Some((literal, dtype))) => Part::Value(Shown::Scalar(scalar_of_literal(literal, dtype))),
                (Some(value), None) if values.len() < MAX_SHOWN => {
                    values.push(value);
                    names.push(Part::Text(operand.name));
                    Part::Later
                }
                _ if self.is_known(&operand.value) => Part::Text(self.shown(&operand.value)),
                _ => Part::Text(operand.name),
            });
        }
        let text = template::fill(text, &parts);
        let named = template::fill(&text, &names);
        Ok(Message { text, values, named })
    }

    /// Whether `shown` shows the value itself.
    fn is_known(&self, value: &Value) -> bool {
        match value {
            Value::Int(_) | Value::Float(_) | Value::Round(_) | Value::DType(_) => true,
            Value::Scalar(v) => self.builder.literal(*v).is_some(),
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(|part| self.is_known(part)),
            _ => false,
        }
    }

    /// The kernel prints the line when it runs.
    pub fn print(&mut self, text: &'static str, args: &'static [Expr], loc: Loc) -> Flow<()> {
        let operands = self.operands(args)?;
        let values: Flow<Vec<ValueId>> = operands.iter().map(|operand| self.shown_value(operand)).collect();
        let attrs = Attrs::new().with(AttrKey::Message, Attr::Text(text.to_owned()));
        let outcome = self.builder.emit_effect(OpKind::Print, &values?, attrs, loc);
        self.check(outcome, &Site::new("print", loc))
    }

    /// The kernel shows the value under a name when it runs.
    pub fn checkpoint_statement(&mut self, value: &'static Expr, name: &'static str, loc: Loc) -> Flow<()> {
        let operand = self.operand(value)?;
        let value = self.shown_value(&operand)?;
        let attrs = Attrs::new().with(AttrKey::Message, Attr::Text(name.to_owned()));
        let origin = match self.builder.maker(value) {
            Some(Op { kind, loc, .. }) => format!("`{}` in line {}", kind.name(), loc.line),
            None => String::new(),
        };
        let attrs = attrs.with(AttrKey::Origin, Attr::Text(origin));
        let outcome = self.builder.emit_effect(OpKind::Checkpoint, &[value], attrs, loc);
        self.check(outcome, &Site::new("checkpoint", loc))
    }

    /// A scalar, tile or tensor as a running kernel has it.
    fn shown_value(&mut self, operand: &Operand) -> Flow<ValueId> {
        match &operand.value {
            Value::Tile(value) => Ok(*value),
            Value::Tensor(tensor) => Ok(tensor.value),
            Value::Int(_) | Value::Float(_) | Value::Scalar(_) => self.scalar_of(operand, None),
            _ => Err(self.unexpected("a scalar, a tile or a tensor", operand)),
        }
    }

    /// A known scalar's value; of everything else what is known of it.
    fn shown(&self, value: &Value) -> String {
        let list = |parts: &[Value]| parts.iter().map(|v| self.shown(v)).collect::<Vec<_>>().join(", ");
        match value {
            Value::Int(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Scalar(v) => match self.builder.literal(*v) {
                Some(Literal::Int(n)) => n.to_string(),
                Some(Literal::Float(x)) => x.to_string(),
                Some(Literal::Bool(b)) => b.to_string(),
                None => self.type_of(*v),
            },
            Value::Tile(v) => format!("tile {}", self.type_of(*v)),
            Value::Tensor(tensor) => self.type_of(tensor.value),
            Value::Tuple(parts) => format!("({})", list(parts)),
            Value::Array(parts) => format!("[{}]", list(parts)),
            Value::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}: {}", self.shown(value))).collect();
                format!("{{ {} }}", fields.join(", "))
            }
            Value::Round(mode) => mode.name().to_owned(),
            Value::DType(dtype) => dtype.name().to_owned(),
            other => other.kind().to_owned(),
        }
    }

    fn type_of(&self, value: ValueId) -> String {
        type_text(self.builder.ty(value))
    }
}

fn scalar_of_literal(literal: Literal, dtype: DType) -> Scalar {
    match literal {
        Literal::Int(n) => Scalar::from_int(n, dtype),
        Literal::Float(x) => Scalar::from_float(x, dtype),
        Literal::Bool(b) => Scalar::new(b),
    }
}
