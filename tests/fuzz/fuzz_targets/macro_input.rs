//! Any tokens as input of the macros: they give an expansion or errors. The first line is the attribute, the rest the item. The stable
//! driver is `pypto-macros/src/tests/robustness.rs`; the macros' crate exports nothing but macros, so its modules are included.

#![no_main]
#![allow(dead_code, reason = "the modules serve macros that are not here")]

use libfuzzer_sys::fuzz_target;
use proc_macro2::TokenStream;

#[path = "../../../pypto-macros/src/args.rs"]
mod args;
#[path = "../../../pypto-macros/src/attributes.rs"]
mod attributes;
#[path = "../../../pypto-macros/src/capture/mod.rs"]
mod capture;
#[path = "../../../pypto-macros/src/code.rs"]
mod code;
#[path = "../../../pypto-macros/src/emit.rs"]
mod emit;
#[path = "../../../pypto-macros/src/errors.rs"]
mod errors;
#[path = "../../../pypto-macros/src/expand.rs"]
mod expand;
#[path = "../../../pypto-macros/src/fallback.rs"]
mod fallback;
#[path = "../../../pypto-macros/src/function.rs"]
mod function;
#[path = "../../../pypto-macros/src/generics.rs"]
mod generics;
#[path = "../../../pypto-macros/src/kernel_calls.rs"]
mod kernel_calls;
#[path = "../../../pypto-macros/src/lowering_test.rs"]
mod lowering_test;
#[path = "../../../pypto-macros/src/params.rs"]
mod params;
#[path = "../../../pypto-macros/src/program.rs"]
mod program;
#[path = "../../../pypto-macros/src/scope.rs"]
mod scope;
#[path = "../../../pypto-macros/src/shape.rs"]
mod shape;
#[path = "../../../pypto-macros/src/source.rs"]
mod source;
#[path = "../../../pypto-macros/src/suggest.rs"]
mod suggest;
#[path = "../../../pypto-macros/src/types.rs"]
mod types;

fuzz_target!(|text: &str| {
    let (attribute, item) = text.split_once('\n').unwrap_or(("", text));
    let (Ok(attribute), Ok(item)) = (attribute.parse::<TokenStream>(), item.parse::<TokenStream>()) else { return };
    expand::function(expand::Form::Jit, attribute.clone(), item.clone());
    expand::function(expand::Form::Function, attribute.clone(), item.clone());
    args::expand(item.clone());
    program::expand(attribute, item);
});
