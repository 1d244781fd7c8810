//! How many parameters a kernel has handles for.
//!
//! Handles, samples and call arguments are traits of functions and tuples, so each number of parameters is an impl of its
//! own. The impls are thin: what they do is in functions that all of them share.

/// Calls a macro with the identifiers of one to twenty-four type parameters. `pypto-macros` knows the limit too
/// (`function.rs`), and rejects longer signatures.
macro_rules! for_each_arity {
    ($callback:ident) => {
        $crate::language::arity::for_each_arity!(
            @grow $callback [A1] A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24
        );
    };
    (@grow $callback:ident [$($name:ident)+]) => {
        $callback!($($name),+);
    };
    (@grow $callback:ident [$($name:ident)+] $next:ident $($rest:ident)*) => {
        $callback!($($name),+);
        $crate::language::arity::for_each_arity!(@grow $callback [$($name)+ $next] $($rest)*);
    };
}
pub(crate) use for_each_arity;
