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

#[test]
fn row_reductions_stay_in_one_loop() {
    let dims = [300, 768];
    let params: [Declared<'_>; 2] = [("x", &dims, Direction::In), ("y", &dims, Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let max = b.unary(OpKind::RowMax, t[0], at(2))?;
        let shifted = b.binary(OpKind::Sub, t[0], max, at(3))?;
        let e = b.unary(OpKind::Exp, shifted, at(4))?;
        let sum = b.unary(OpKind::RowSum, e, at(5))?;
        b.binary(OpKind::Div, e, sum, at(6))
    });
    insta::assert_snapshot!(lowered(program));
}

/// `tanh(x @ w1 + b1) @ w2`: loops over blocks for each of the products.
#[test]
fn each_product_of_a_chain_has_its_blocks() {
    let params: [Declared<'_>; 5] = [
        ("x", &[-1, 384], Direction::In),
        ("w1", &[384, 1536], Direction::In),
        ("b1", &[1, 1536], Direction::In),
        ("w2", &[1536, 384], Direction::In),
        ("y", &[-1, 384], Direction::InOut),
    ];
    let program = tensor_level(&params, |b, t| {
        let h = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))?;
        let h = b.binary(OpKind::Add, h, t[2], at(3))?;
        let h = b.unary(OpKind::Tanh, h, at(4))?;
        b.matmul(OpKind::Matmul, &[h, t[3]], false, false, at(5))
    });
    insta::assert_snapshot!(lowered(program));
}

/// A product that one block does, with what is added to it, goes to its tensor and to no other.
#[test]
fn a_product_of_one_block_has_no_temporary() {
    let params: [Declared<'_>; 4] = [
        ("x", &[512, 512], Direction::In),
        ("w", &[512, 512], Direction::In),
        ("b", &[1, 512], Direction::In),
        ("y", &[512, 512], Direction::InOut),
    ];
    let mut program = tensor_level(&params, |b, t| {
        let product = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))?;
        b.binary(OpKind::Add, product, t[2], at(3))
    });
    pipeline::host(&mut program, &Limits::for_threads(1)).unwrap();
    let text = program.to_string();
    assert!(text.contains("matmul") && !text.contains("alloc"), "{text}");
}

/// The keys are computed: they are stored before the loop that needs all of them.
#[test]
fn a_computed_right_operand_is_stored_first() {
    let params: [Declared<'_>; 3] =
        [("x", &[500, 64], Direction::In), ("w", &[64, 64], Direction::In), ("y", &[500, 500], Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let q = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))?;
        let k = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(3))?;
        let k = b.unary(OpKind::Transpose, k, at(4))?;
        let s = b.matmul(OpKind::Matmul, &[q, k], false, false, at(5))?;
        let max = b.unary(OpKind::RowMax, s, at(6))?;
        b.binary(OpKind::Sub, s, max, at(7))
    });
    insta::assert_snapshot!(lowered(program));
}

/// Column sums of a row-normalized value: by rows first, then by columns.
#[test]
fn column_reductions_go_by_columns() {
    let params: [Declared<'_>; 2] = [("x", &[700, 1000], Direction::In), ("y", &[1, 1000], Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let sum = b.unary(OpKind::RowSum, t[0], at(2))?;
        let x = b.binary(OpKind::Div, t[0], sum, at(3))?;
        b.unary(OpKind::ColSum, x, at(4))
    });
    insta::assert_snapshot!(lowered(program));
}

#[test]
fn few_rows_are_cut_along_columns() {
    let params: [Declared<'_>; 3] =
        [("x", &[3, 1024], Direction::In), ("w", &[1024, 4096], Direction::In), ("y", &[3, 4096], Direction::InOut)];
    let program = tensor_level(&params, |b, t| b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2)));
    insta::assert_snapshot!(lowered(program));
}

/// Rows of the result are columns of memory: fewer than a cache line of them, however long they are, would read each line several times.
#[test]
fn transposed_rows_are_cut_by_whole_lines() {
    for (rows, columns, block) in [(3000, 4000, 16), (3016, 4096, 16), (4096, 40_000, 16), (1000, 1000, 48)] {
        let params: [Declared<'_>; 2] =
            [("x", &[columns, rows], Direction::In), ("y", &[rows, columns], Direction::InOut)];
        let text = lowered(tensor_level(&params, |b, t| b.unary(OpKind::Transpose, t[0], at(2))));
        let expected = format!("tile<f32>[{block}, ");
        assert!(text.contains(&expected), "{rows} x {columns}: {text}");
    }
}

#[test]
fn a_flat_vector_is_cut() {
    let params: [Declared<'_>; 2] = [("x", &[1_000_000], Direction::In), ("y", &[1_000_000], Direction::InOut)];
    insta::assert_snapshot!(lowered(tensor_level(&params, |b, t| b.unary(OpKind::Exp, t[0], at(2)))));
}

#[test]
fn batched_products_go_by_batch() {
    let params: [Declared<'_>; 3] = [
        ("a", &[12, 512, 64], Direction::In),
        ("b", &[12, 512, 64], Direction::In),
        ("y", &[12, 512, 512], Direction::InOut),
    ];
    let program = tensor_level(&params, |b, t| {
        let s = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, true, at(2))?;
        let e = b.unary(OpKind::Exp, s, at(3))?;
        let sum = b.unary(OpKind::RowSum, e, at(4))?;
        b.binary(OpKind::Div, e, sum, at(5))
    });
    insta::assert_snapshot!(lowered(program));
}

#[test]
fn what_overwrites_its_source_goes_through_a_copy() {
    let params: [Declared<'_>; 1] = [("x", &[400, 400], Direction::InOut)];
    let program = program(vec![function("flip", FunctionKind::Opaque, &params, |b, t| {
        let x = b.load_all(t[0], at(2))?;
        let flipped = b.unary(OpKind::Transpose, x, at(2))?;
        let zero = b.index(0, at(2));
        b.store(flipped, t[0], &[zero, zero], None, at(2))?;
        let x = b.load_all(t[0], at(3))?;
        let y = b.binary(OpKind::Add, x, x, at(3))?;
        b.store(y, t[0], &[zero, zero], None, at(3))
    })]);
    insta::assert_snapshot!(lowered(program));
}
