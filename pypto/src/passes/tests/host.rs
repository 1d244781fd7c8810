//! The host pipeline on kernels of each form.

use super::kernels::*;
use crate::ir::*;
use crate::ops::OpKind;
use crate::passes::pipeline;
use crate::passes::tensor_tiling::Limits;

fn lowered(mut program: Program) -> String {
    pipeline::host(&mut program, &Limits::for_threads(2)).unwrap();
    let text = program.to_string();
    assert!(crate::ir::text::parse(&text, "text").is_ok(), "{text}");
    text
}

#[test]
fn a_loop_over_tiles_becomes_one_kernel() {
    insta::assert_snapshot!(lowered(softmax(100, 1024, 64)));
}

#[test]
fn a_run_time_extent_becomes_a_parameter() {
    insta::assert_snapshot!(lowered(softmax(-1, 1024, 64)));
}

#[test]
fn an_expression_over_whole_tensors_becomes_a_loop() {
    let dims = [1000, 512];
    let params: [Declared<'_>; 3] =
        [("a", &dims, Direction::In), ("b", &dims, Direction::In), ("y", &dims, Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let sum = b.binary(OpKind::Add, t[0], t[1], at(2))?;
        b.unary(OpKind::Exp, sum, at(2))
    });
    insta::assert_snapshot!(lowered(program));
}
