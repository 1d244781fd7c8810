//! Capture of a body as generic IR, in one walk that also checks the accepted subset.
//!
//! The walk writes words (see [`crate::code`]). What rustc has to resolve for us, callees and constants, is emitted apart as
//! tokens, and the words refer to it by index.
//!
//! Where something is rejected the walk notes an error and goes on with a placeholder; the words are then not used.

mod blocks;
mod calls;
mod control;
mod exits;
mod expressions;
mod items;
mod literals;
mod macros;
mod matches;
pub mod names;
mod operators;
mod patterns;
mod printing;
mod rejected;
mod returns;

use proc_macro2::Group;
use syn::Ident;

use crate::code;
use crate::errors::Errors;
use crate::scope::Scope;
use exits::Exits;
use names::Names;

/// The state of the walk.
pub struct Capture<'a> {
    errors: &'a mut Errors,
    scope: Scope,
    type_params: &'a [Ident],
    /// Parameters that are tensors.
    tensors: Vec<String>,
    names: Names,
    /// Extents and meta parameters.
    compile_time: Vec<String>,
    /// Of the loops around, outermost first: `None` for those that are not left early.
    exits: Vec<Option<Exits>>,
}

/// A captured body.
pub struct Body {
    /// A block in words.
    pub text: String,
    pub names: Names,
}

/// How a block is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The body of the function; `true` where the function returns something.
    Function(bool),
    /// The rest of the body, within a branch: its value is the function's.
    Tail(bool),
    /// Its value is used.
    Value,
    /// Its value is `()`.
    Unit,
}

impl Use {
    /// Whether there is no value, so that statements may leave the block early.
    fn is_unit(self) -> bool {
        matches!(self, Use::Unit | Use::Function(false) | Use::Tail(false))
    }
}

/// Captures a body in which `locals` are in scope; those of `compile_time` are integers that specialization knows, those of `tensors`
/// tensors.
pub fn body(
    body: &Group,
    statements: &[syn::Stmt],
    returns: bool,
    locals: impl IntoIterator<Item = String>,
    compile_time: Vec<String>,
    type_params: &[Ident],
    tensors: Vec<String>,
    errors: &mut Errors,
) -> Body {
    let mut capture = Capture {
        errors,
        scope: Scope::new(locals),
        type_params,
        tensors,
        names: Names::default(),
        compile_time,
        exits: Vec::new(),
    };
    let span = code::between(body.span_open(), body.span_close());
    let text = if !returns && returns::leaves_early(statements) {
        capture.leavable_function(statements, span)
    } else {
        capture.block(statements, span, Use::Function(returns))
    };
    Body { text, names: capture.names }
}
