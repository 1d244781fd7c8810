//! `static_print!`: values as specialization knows them.

use super::Walker;
use super::value::Value;
use crate::frontend::generic::Expr;
use crate::frontend::static_print::Printed;
use crate::ir::{Loc, ValueId};
use crate::ops::fold::Literal;
use crate::ops::rules::error::type_text;

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
            other => other.kind().to_owned(),
        }
    }

    fn type_of(&self, value: ValueId) -> String {
        type_text(self.builder.ty(value))
    }
}
