//! Functions of Rust's floats whose last bits differ between platforms, versions and calls: "the precision of this function is
//! non-deterministic". An eager run has those of the standard library, which compiled code does not know.

use super::super::method::MethodCall;
use super::super::{Reported, Walker};
use crate::diagnostics::{Diagnostic, codes};

/// A function of `f32`, and the method of tiles that computes it the same way in every mode, where there is one.
#[derive(Clone, Copy)]
pub(in super::super) struct Inexact {
    name: &'static str,
    of_tiles: Option<&'static str>,
}

const fn on_tiles(name: &'static str, of_tiles: &'static str) -> Inexact {
    Inexact { name, of_tiles: Some(of_tiles) }
}

const fn alone(name: &'static str) -> Inexact {
    Inexact { name, of_tiles: None }
}

/// `powi` of an exponent that is not small and known.
pub(super) const POWI: Inexact = alone("powi");

const FUNCTIONS: &[Inexact] = &[
    on_tiles("exp", "exp()"),
    on_tiles("exp2", "exp2()"),
    on_tiles("exp_m1", "expm1()"),
    on_tiles("ln", "log()"),
    on_tiles("ln_1p", "log1p()"),
    on_tiles("log2", "log2()"),
    on_tiles("powf", "pow(..)"),
    on_tiles("sin", "sin()"),
    on_tiles("cos", "cos()"),
    on_tiles("tanh", "tanh()"),
    alone("log"),
    alone("log10"),
    alone("cbrt"),
    alone("hypot"),
    alone("tan"),
    alone("asin"),
    alone("acos"),
    alone("atan"),
    alone("atan2"),
    alone("sin_cos"),
    alone("sinh"),
    alone("cosh"),
    alone("asinh"),
    alone("acosh"),
    alone("atanh"),
    alone("gamma"),
    alone("ln_gamma"),
];

/// The function of that name, if its last bits are open.
pub(super) fn find(name: &str) -> Option<Inexact> {
    FUNCTIONS.iter().copied().find(|function| function.name == name)
}

impl Walker<'_> {
    /// Refuses the function on a scalar.
    pub(super) fn inexact(&mut self, function: Inexact, call: &MethodCall) -> Reported {
        let name = function.name;
        let written = call.receiver.name.strip_prefix('`').and_then(|written| written.strip_suffix('`'));
        let receiver = written.map_or("a scalar".to_owned(), |written| format!("the scalar `{written}`"));
        let title = format!("`{name}` of {receiver} has other bits eagerly than compiled");
        let label = "Rust leaves the last bits of this function open";
        let mut diagnostic = Diagnostic::error(codes::INEXACT_SCALAR, call.loc, title, label);
        let argument = written.unwrap_or("value");
        if let Some(method) = function.of_tiles {
            let tile = format!("`Tile::full([1, 1], {argument}).{method}`");
            diagnostic = diagnostic
                .help(format!("a tile gives the same bits in every mode: {tile}, and `.get([0, 0])` for a scalar"));
        }
        if name == POWI.name {
            diagnostic = diagnostic.help(format!("multiply: `{argument} * {argument} * {argument}`"));
        }
        let before = "compute it before the call, and pass it as a parameter";
        self.report(diagnostic.help(format!("{before}; of extents and constants, `comptime!(..)` computes it")))
    }
}
