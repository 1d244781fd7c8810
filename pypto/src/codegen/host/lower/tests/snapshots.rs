//! The LIR of kernels that show what lowering is for; a change here is a change of the generated code.

use super::kernels::{flash, layer_norm, matmul, softmax};
use crate::codegen::host::cpu::{Isa, Target};
use crate::codegen::host::lir::print_module;
use crate::ir::Function;

/// The kernel itself, without the helpers that come before it.
fn text(function: &Function) -> String {
    let lowered = super::super::lower(function, Target::of(Isa::Avx2)).unwrap();
    let text = print_module(&lowered.module);
    text[text.find("kernel @").unwrap_or(0)..].to_owned()
}

#[test]
fn softmax_is_three_column_loops() {
    insta::assert_snapshot!(text(&softmax(64, 1000, 16)));
}

#[test]
fn layer_norm_recomputes_the_difference() {
    insta::assert_snapshot!(text(&layer_norm(64, 768, 16)));
}

#[test]
fn matmul_writes_to_its_tensor() {
    insta::assert_snapshot!(text(&matmul(200, 300, 400, (128, 256, 400))));
}

#[test]
fn attention_updates_its_state_in_place() {
    insta::assert_snapshot!(text(&flash(8, 1024, 64, (64, 64))));
}
