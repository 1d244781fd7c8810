//! Operators, assignments, casts and ranges.

use quote::ToTokens;
use syn::{BinOp, Expr, ExprAssign, ExprBinary, ExprCast, ExprRange, ExprUnary, RangeLimits, UnOp};

use super::Capture;
use crate::code::{self, plain};
use crate::types;

/// The variant of `BinaryOp` for an infix operator that is no assignment.
fn infix(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "Add",
        BinOp::Sub(_) => "Sub",
        BinOp::Mul(_) => "Mul",
        BinOp::Div(_) => "Div",
        BinOp::Rem(_) => "Rem",
        BinOp::BitAnd(_) => "BitAnd",
        BinOp::BitOr(_) => "BitOr",
        BinOp::BitXor(_) => "BitXor",
        BinOp::Shl(_) => "Shl",
        BinOp::Shr(_) => "Shr",
        BinOp::Eq(_) => "Eq",
        BinOp::Ne(_) => "Ne",
        BinOp::Lt(_) => "Lt",
        BinOp::Le(_) => "Le",
        BinOp::Gt(_) => "Gt",
        BinOp::Ge(_) => "Ge",
        BinOp::And(_) => "And",
        BinOp::Or(_) => "Or",
        _ => return None,
    })
}

/// The variant of `BinaryOp` for a compound assignment.
pub(super) fn compound(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "Add",
        BinOp::SubAssign(_) => "Sub",
        BinOp::MulAssign(_) => "Mul",
        BinOp::DivAssign(_) => "Div",
        BinOp::RemAssign(_) => "Rem",
        BinOp::BitAndAssign(_) => "BitAnd",
        BinOp::BitOrAssign(_) => "BitOr",
        BinOp::BitXorAssign(_) => "BitXor",
        BinOp::ShlAssign(_) => "Shl",
        BinOp::ShrAssign(_) => "Shr",
        _ => return None,
    })
}

impl Capture<'_> {
    pub(super) fn unary(&mut self, unary: &ExprUnary) -> String {
        match (&unary.op, &*unary.expr) {
            // The smallest integer has no positive counterpart, so the sign belongs to the literal.
            (UnOp::Neg(_), Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }))
                if !matches!(literal.suffix(), "f32" | "f16") =>
            {
                self.int(literal, true)
            }
            (UnOp::Neg(_), value) => format!("unary Neg {}", self.expr(value)),
            (UnOp::Not(_), value) => format!("unary Not {}", self.expr(value)),
            // What a reference refers to is what it is, here.
            (_, value) => format!("borrow false {}", self.expr(value)),
        }
    }

    pub(super) fn binary(&mut self, binary: &ExprBinary) -> String {
        let (left, right) = (self.expr(&binary.left), self.expr(&binary.right));
        match infix(&binary.op) {
            Some(op) => format!("binary {op} {left} {right}"),
            None => {
                self.errors.over(binary.op, "an assignment is a statement: it has no value to use");
                String::new()
            }
        }
    }

    pub(super) fn assign(&mut self, assign: &ExprAssign) -> String {
        self.assignment(&assign.left, None, &assign.right)
    }

    pub(super) fn compound_assign(&mut self, binary: &ExprBinary) -> String {
        self.assignment(&binary.left, compound(&binary.op), &binary.right)
    }

    fn assignment(&mut self, target: &Expr, op: Option<&'static str>, value: &Expr) -> String {
        if let (Expr::Index(element), _) = (target, op)
            && let Expr::Path(path) = &*element.expr
            && let Some(name) = path.path.get_ident()
        {
            if self.is_tensor(&element.expr) {
                let message = format!(
                    "`{name}` is a tensor, which has no `[..]`: `{name}.put([i, j], value)` writes an element, \
                     `{name}.store(offset, tile)` a part"
                );
                self.errors.over(element, message);
                return String::new();
            }
            self.is_variable(name);
            let (index, value) = (self.expr(&element.index), self.expr(value));
            return format!("assignelement {} {index} {} {value}", code::ident(name), code::option(op));
        }
        if let (Expr::Tuple(targets), None) = (target, op) {
            return self.destructuring(targets, value);
        }
        if let (Expr::Unary(ExprUnary { op: UnOp::Deref(_), expr: tensor, .. }), Some(op)) = (target, op) {
            return self.update(tensor, op, value);
        }
        let value = self.expr(value);
        let name = match target {
            Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
            _ => None,
        };
        let Some(name) = name else {
            let message = match target {
                Expr::Index(_) => {
                    "only variables and elements of arrays are assigned in a kernel body: write tensors with `store` and \
                     `put`"
                }
                Expr::Infer(_) => "use `let _ = ..` to drop a value",
                Expr::Unary(_) => "only variables are assigned in a kernel body: write tensors with `store` and `set`",
                _ => "only variables are assigned in a kernel body: bind a new value with `let`",
            };
            self.errors.over(target, message);
            return String::new();
        };
        self.is_variable(name);
        format!("assign {} {} {value}", code::ident(name), code::option(op))
    }

    /// `*tensor op= value`, as `tensor.set(tensor op value)`.
    fn update(&mut self, tensor: &Expr, op: &str, value: &Expr) -> String {
        let (place, whole) = (code::range(tensor), self.expr(tensor));
        let value = self.expr(value);
        let set =
            |tensor: &str| format!("{place} method {tensor} set {place} 0 1 {place} binary {op} {tensor} {value}");
        if let Expr::Path(_) = tensor {
            return format!("expr {}", set(&whole));
        }
        // A view is made once. A number is no variable of the user's.
        let binding = format!("{place} let name 0 {place} false 0 1 {whole}");
        let set = set(&format!("{place} local 0"));
        format!("expr {place} block 2 {binding} {place} expr {set} 0 {place}")
    }

    fn is_variable(&mut self, name: &syn::Ident) {
        if !self.scope.contains(&plain(name)) {
            let message = format!("`{name}` is not a variable of this function: kernels have no mutable globals");
            self.errors.at(name.span(), message);
        }
    }

    /// `(a, b) = value`, as a block that takes the value apart and assigns one by one.
    fn destructuring(&mut self, targets: &syn::ExprTuple, value: &Expr) -> String {
        let place = code::range(targets);
        let value = self.expr(value);
        let (mut names, mut assigned) = (Vec::new(), Vec::new());
        for (index, target) in targets.elems.iter().enumerate() {
            // A number is no variable of the user's.
            let hidden = index.to_string();
            let at = code::range(target);
            match target {
                Expr::Path(path) if path.path.get_ident().is_some() => {
                    let name = path.path.get_ident().map(code::ident).unwrap_or_default();
                    path.path.get_ident().iter().for_each(|name| self.is_variable(name));
                    assigned.push(format!("{at} assign {name} 0 {at} local {hidden}"));
                    names.push(format!("name {hidden} {at} false"));
                }
                Expr::Infer(_) => names.push(format!("ignore {at}")),
                other => {
                    let message = "destructuring assignment in a kernel body is to variables and `_`";
                    self.errors.over(other, message);
                }
            }
        }
        let binding = format!("{place} let tuple {} {place} 0 1 {value}", code::list(names));
        let statements = std::iter::once(binding).chain(assigned);
        format!("expr {place} block {} 0 {place}", code::list(statements))
    }

    pub(super) fn cast(&mut self, cast: &ExprCast) -> String {
        let value = self.expr(&cast.expr);
        let ty = self.errors.take(types::element(&cast.ty, self.type_params)).map(types::Element::text);
        format!("cast {value} {}", ty.unwrap_or_default())
    }

    pub(super) fn range(&mut self, range: &ExprRange) -> String {
        match (&range.start, &range.end) {
            (Some(lower), Some(upper)) => {
                let (lower, place) = (self.expr(lower), code::range(upper));
                let upper = self.expr(upper);
                match range.limits {
                    RangeLimits::Closed(_) => format!("range {lower} {place} binary Add {upper} {place} int 1 -"),
                    RangeLimits::HalfOpen(_) => format!("range {lower} {upper}"),
                }
            }
            _ => {
                let tokens = range.limits.to_token_stream();
                self.errors.over(tokens, "a range in a kernel body has both ends: `0..n`");
                String::new()
            }
        }
    }
}
