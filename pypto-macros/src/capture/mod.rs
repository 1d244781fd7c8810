//! Capture of a body as generic IR, in one walk that also checks the accepted subset.
//!
//! The walk writes the text of a static (the names are those of `pypto::frontend::generic::notation`) instead of tokens:
//! handing a text to rustc at once is several times cheaper than handing over thousands of single tokens. What rustc has
//! to resolve for us, callees and constants, is emitted apart as tokens and occurs in the text as `__f0`, `__k0`, ...
//!
//! Where something is rejected the walk notes an error and goes on with a placeholder; the text is then not used.

mod blocks;
mod calls;
mod control;
mod expressions;
mod literals;
mod macros;
pub mod names;
mod operators;
mod patterns;
mod rejected;

use proc_macro2::Group;
use syn::Ident;

use crate::errors::Errors;
use crate::range;
use crate::scope::Scope;
use names::Names;

/// The state of the walk.
pub struct Capture<'a> {
    errors: &'a mut Errors,
    scope: Scope,
    type_params: &'a [Ident],
    names: Names,
}

/// A captured body.
pub struct Body {
    /// A `Block` in the notation of expansions.
    pub text: String,
    pub names: Names,
}

/// How a block is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The body of the function; `true` where the function returns something.
    Function(bool),
    /// Its value is used.
    Value,
    /// Its value is `()`.
    Unit,
}

/// Captures a body in which `locals` are in scope.
pub fn body(
    body: &Group,
    statements: &[syn::Stmt],
    returns: bool,
    locals: impl IntoIterator<Item = String>,
    type_params: &[Ident],
    errors: &mut Errors,
) -> Body {
    let mut capture = Capture { errors, scope: Scope::new(locals), type_params, names: Names::default() };
    let span = range::between(body.span_open(), body.span_close());
    let text = capture.block(statements, span, Use::Function(returns));
    Body { text, names: capture.names }
}

/// A name with its place in the notation of expansions.
pub fn ident(name: &Ident) -> String {
    format!("I{{name:{:?},span:{}}}", plain(name), range::of_span(name.span()))
}

/// The name without `r#`.
fn plain(name: &Ident) -> String {
    syn::ext::IdentExt::unraw(name).to_string()
}
