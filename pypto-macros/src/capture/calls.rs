//! Calls: free functions, associated functions of language types, and methods.

use syn::{AngleBracketedGenericArguments, Expr, ExprCall, ExprMethodCall, GenericArgument, Path, PathArguments};

use super::Capture;
use super::blocks::expr_text;
use crate::code::{self, ident, plain};
use crate::types;

/// Types with associated functions that a kernel may call. Scalars and type parameters have them too.
const LANGUAGE_TYPES: [&str; 4] = ["Tile", "Tensor", "Acc", "At"];

impl Capture<'_> {
    pub(super) fn call(&mut self, call: &ExprCall) -> String {
        let mut callee = &*call.func;
        while let Expr::Paren(syn::ExprParen { expr, .. }) | Expr::Group(syn::ExprGroup { expr, .. }) = callee {
            callee = expr;
        }
        let args = self.exprs(&call.args);
        let kind = match callee {
            Expr::Path(path) if path.qself.is_none() => self.path_call(&path.path, call, &args),
            _ => {
                self.errors.over(callee, "only functions that are named by a path can be called in a kernel body");
                String::new()
            }
        };
        expr_text(kind, call)
    }

    fn path_call(&mut self, path: &Path, call: &ExprCall, args: &str) -> String {
        let Some(last) = path.segments.last() else { return String::new() };
        let name = ident(&last.ident);
        let owner = path.segments.iter().rev().nth(1);
        if let Some(owner) = owner {
            let ty = plain(&owner.ident);
            let known = LANGUAGE_TYPES.contains(&ty.as_str()) || types::is_scalar_name(&ty);
            if known || self.type_params.contains(&owner.ident) {
                let type_args = self.type_args([&owner.arguments, &last.arguments]);
                return format!("associated {ty} {name} {type_args} {args}");
            }
            if ty.starts_with(|c: char| c.is_uppercase()) {
                let message = format!(
                    "`{ty}` is not a type of the language: kernels call associated functions of `Tile`, \
                                       `Tensor` and scalars, and annotated free functions"
                );
                self.errors.over(&owner.ident, message);
                return String::new();
            }
        }
        let text = plain(&last.ident);
        if owner.is_none() && self.scope.contains(&text) {
            self.errors.over(&last.ident, format!("`{text}` is a variable here, and only functions can be called"));
            return String::new();
        }
        if text.starts_with(|c: char| c.is_uppercase()) {
            let message = format!("constructors such as `{text}(..)` are not supported in a kernel body: use a tuple");
            self.errors.over(&last.ident, message);
            return String::new();
        }
        let type_args = self.type_args([&last.arguments]);
        let callee = self.names.callee(path, call.paren_token.span.open());
        format!("call {name} {callee} {type_args} {args}")
    }

    pub(super) fn method(&mut self, call: &ExprMethodCall) -> String {
        let receiver = self.expr(&call.receiver);
        let args = self.exprs(&call.args);
        let type_args = call.turbofish.as_ref().map(|t| self.element_args(t)).unwrap_or_default();
        format!("method {receiver} {} {} {args}", ident(&call.method), code::list(type_args))
    }

    /// The element types among the arguments of path segments.
    fn type_args<'p>(&mut self, arguments: impl IntoIterator<Item = &'p PathArguments>) -> String {
        let mut texts = Vec::new();
        for arguments in arguments {
            match arguments {
                PathArguments::None => {}
                PathArguments::AngleBracketed(list) => texts.extend(self.element_args(list)),
                PathArguments::Parenthesized(list) => self.errors.over(list, "expected element types in `<..>`"),
            }
        }
        code::list(texts)
    }

    /// The element types of `::<..>`. Ranks follow from the operands, and `_` from the rest of the call.
    fn element_args(&mut self, list: &AngleBracketedGenericArguments) -> Vec<String> {
        let mut texts = Vec::new();
        for argument in &list.args {
            match argument {
                GenericArgument::Type(syn::Type::Infer(_)) | GenericArgument::Const(_) => {}
                GenericArgument::Type(ty) => {
                    texts.extend(self.errors.take(types::element(ty, self.type_params)).map(types::Element::text));
                }
                other => self.errors.over(other, "type arguments in a kernel body are element types and ranks"),
            }
        }
        texts
    }
}
