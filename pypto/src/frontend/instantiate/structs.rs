//! Struct parameters: groups of the parameters that their fields are.

use std::rc::Rc;

use super::coerce::Operand;
use super::value::Value;
use super::{Flow, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{Expr, Function, Ident};
use crate::frontend::structs::{FieldType, StructType};
use crate::frontend::suggest;

impl Walker<'_> {
    /// Brings the struct parameters into scope, whose fields are there already.
    pub fn struct_names(&mut self, function: &'static Function) {
        for group in function.structs {
            let mut fields = function.params[group.first..].iter().map(|param| param.name.name);
            let value = self.struct_value(group.ty, &mut fields);
            let place = self.loc(group.name.span);
            self.scope.define(group.name.name, Some(value), place);
        }
    }

    fn struct_value(&self, ty: &StructType, names: &mut impl Iterator<Item = &'static str>) -> Value {
        let field = |ty: &FieldType, names: &mut _| match ty {
            FieldType::Struct(inner) => self.struct_value(inner(), names),
            FieldType::Value { .. } => {
                let slot = Iterator::next(names).and_then(|name| self.scope.find(name));
                slot.and_then(|slot| self.scope.get(slot).value.clone()).unwrap_or(Value::Poison)
            }
        };
        Value::Struct(ty.fields.iter().map(|f| (f.name, field(&f.ty, names))).collect::<Rc<[_]>>())
    }

    /// The arguments of a call as the callee's flattened parameters want them.
    pub fn flattened(&mut self, function: &'static Function, args: Vec<Operand>) -> Flow<Vec<Operand>> {
        if function.structs.is_empty() {
            return Ok(args);
        }
        let mut flat = Vec::with_capacity(function.params.len());
        for (position, arg) in args.into_iter().enumerate() {
            match function.structs.iter().any(|group| group.position == position) {
                true => self.fields_of(&arg, &mut flat)?,
                false => flat.push(arg),
            }
        }
        Ok(flat)
    }

    fn fields_of(&mut self, operand: &Operand, into: &mut Vec<Operand>) -> Flow<()> {
        let Value::Struct(fields) = &operand.value else { return Err(self.unexpected("a struct", operand)) };
        for (name, value) in fields.iter() {
            let name = format!("`{}.{name}`", operand.name.trim_matches('`'));
            let field = Operand { value: value.clone(), loc: operand.loc, name };
            match value {
                Value::Struct(_) => self.fields_of(&field, into)?,
                _ => into.push(field),
            }
        }
        Ok(())
    }

    /// `base.name`
    pub fn field(&mut self, base: &'static Expr, name: Ident) -> Flow<Value> {
        let base = self.operand(base)?;
        let loc = self.loc(name.span);
        match &base.value {
            Value::Poison | Value::Struct(_) => {}
            other => {
                let title = format!("{} has no field `{}` in kernels", other.kind(), name.name);
                return Err(self.error(codes::UNKNOWN_NAME, loc, title, ""));
            }
        }
        let Value::Struct(fields) = &base.value else { return Err(super::Reported) };
        match fields.iter().find(|(field, _)| *field == name.name) {
            Some((_, Value::Poison)) => Err(super::Reported),
            Some((_, value)) => Ok(value.clone()),
            None => {
                let title = format!("{} has no field `{}`", base.name, name.name);
                let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, loc, title, "");
                let similar = suggest::closest(name.name, fields.iter().map(|(field, _)| *field));
                Err(self.report(match similar {
                    Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
                    None => diagnostic,
                }))
            }
        }
    }
}
