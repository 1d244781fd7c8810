//! Before and after of a pass, as IR text.

use crate::diagnostics::Diagnostics;
use crate::ir::Program;
use crate::ir::text::{PrintOptions, parse, print};
use crate::ir::verify;

/// Parses functions, the first of which is the entry.
pub(super) fn program(functions: &str) -> Program {
    let name = functions.split('@').nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("f");
    let text = format!("program \"test\" entry @{name}\n{functions}");
    parse(&text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs a pass on functions; the result must be the other functions, and valid.
pub(super) fn check_pass(pass: fn(&mut Program) -> Result<(), Diagnostics>, before: &str, after: &str) {
    let mut program_before = program(before);
    verify(&program_before).unwrap_or_else(|e| panic!("before: {e:#?}"));
    pass(&mut program_before).unwrap_or_else(|e| panic!("{e:#?}"));
    let found = print(&program_before, PrintOptions::BRIEF);
    let expected = print(&program(after), PrintOptions::BRIEF);
    assert!(found == expected, "found\n{found}\nexpected\n{expected}");
    verify(&program_before).unwrap_or_else(|e| panic!("after: {e:#?}\n{found}"));
}
