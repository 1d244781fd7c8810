//! Which `#[out]` parameters are written in full: what `.lower(..)` shows of them, and that a part which is not written
//! keeps its contents.

use pypto::diagnostics::codes;
use pypto::ir::{DType, Direction, Program};
use pypto::prelude::*;
use pypto_tests::examples;

fn f32s<const R: usize>(dims: [i64; R]) -> TensorSpec {
    TensorSpec::new(DType::F32, dims)
}

/// The direction of the entry's parameter of that name.
fn direction(program: &Program, name: &str) -> Direction {
    program.entry_function().params.iter().find(|p| p.name == name).map(|p| p.direction).unwrap()
}

#[test]
fn examples_write_in_full() {
    let mut found = Vec::new();
    for [m, n] in [[64, 64], [70, 19], [1, 1]] {
        let (x, row) = (f32s([m, n]), f32s([1, n]));
        found.push(("add", direction(&examples::hello_world::add.lower(&(&x, &x, &x)).unwrap(), "c")));
        found.push(("softmax", direction(&examples::softmax::softmax.lower(&(&x, &x)).unwrap(), "y")));
        found.push(("dynamic", direction(&examples::dynamic_rows::softmax.lower(&(&x, &x)).unwrap(), "y")));
        found.push(("norm", direction(&examples::layer_norm::layer_norm.lower(&(&x, &row, &row, &x)).unwrap(), "y")));
        found.push(("matmul", direction(&examples::matmul::matmul_tiled.lower(&(&x, f32s([n, n]), &x)).unwrap(), "c")));
        let (q, k) = (f32s([2, m, n]), f32s([2, 67, n]));
        let attention = examples::flash_attention::flash_attention;
        found.push(("attention", direction(&attention.lower(&(&q, &k, &k, &q)).unwrap(), "o")));
        let rows = f32s([m / 32 * 32, n]);
        let layer = examples::task_graph::layer;
        found.push((
            "layer",
            direction(&layer.lower(&(&rows, f32s([n, 5]), f32s([1, 5]), f32s([m / 32 * 32, 5]))).unwrap(), "y"),
        ));
    }
    let others: Vec<_> = found.into_iter().filter(|(_, direction)| *direction != Direction::Out).collect();
    assert_eq!(others, []);
}

#[pypto::jit]
fn halves(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    flag: bool,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let half = M / 2;
    y.rows_mut(0, half).set(x.rows(0, half).exp());
    if flag {
        y.rows_mut(half, M - half).set(x.rows(half, M - half));
    } else {
        y.rows_mut(half, M - half).set(0.0);
    }
}

#[pypto::jit]
fn elements(
    #[shape(dyn N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(dyn N)]
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..N {
        y.put([i], x.get([i]) + 1.0);
    }
}

#[pypto::jit]
fn then_some(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    flag: bool,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(0.0);
    if flag {
        y.set(x.exp());
    }
}

#[test]
fn parts_together_are_the_whole() {
    let x = f32s([10, 8]);
    assert_eq!(direction(&halves.lower(&(&x, true, &x)).unwrap(), "y"), Direction::Out);
    assert_eq!(direction(&then_some.lower(&(&x, true, &x)).unwrap(), "y"), Direction::Out);
    assert_eq!(direction(&elements.lower(&(f32s([9]), f32s([9]))).unwrap(), "y"), Direction::Out);
}

#[pypto::jit]
fn valid_rows(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    count: i64,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.store([0, 0], x.load_all().set_valid([count, N]));
}

/// Whole tiles only; what is left over is written where there is some.
#[pypto::jit(meta(TM = 4))]
fn with_a_rest(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in range(0, M - TM + 1, TM) {
        y.rows_mut(i, TM).set(x.rows(i, TM).exp());
    }
    let rest = M % TM;
    if rest > 0 {
        y.rows_mut(M - rest, rest).set(x.rows(M - rest, rest).exp());
    }
}

#[test]
fn what_is_not_shown_keeps_its_contents() {
    let x = Tensor::<f32, 2>::full([6, 3], 2.0);
    let mut y = Tensor::full([6, 3], 7.0);
    assert_eq!(direction(&valid_rows.lower(&(&x, 2i64, &y)).unwrap(), "y"), Direction::InOut);
    valid_rows(&x, 2, &mut y).unwrap();
    assert_eq!(y.as_slice()[..6], [2.0; 6]);
    assert_eq!(y.as_slice()[6..], [7.0; 12]);
    assert_eq!(direction(&with_a_rest.lower(&(&x, &y)).unwrap(), "y"), Direction::InOut);
    with_a_rest(&x, &mut y).unwrap();
    assert!(y.as_slice().iter().all(|v| *v == 2f32.exp()));
}

#[pypto::function(incore)]
fn some_rows(
    #[shape(R, N)] x: &Tensor<f32, 2>,
    count: i64,
    #[out]
    #[shape(R, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.store([0, 0], x.load_all().set_valid([count, N]));
}

#[pypto::jit(orchestration)]
fn over(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    count: i64,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    some_rows(x, count, y);
}

#[test]
fn callers_follow_their_callees() {
    let x = f32s([6, 3]);
    let program = over.lower(&(&x, 2i64, &x)).unwrap();
    assert_eq!(direction(&program, "y"), Direction::InOut);
    let callee = program.function("some_rows").unwrap();
    assert_eq!(callee.params.iter().find(|p| p.name == "y").unwrap().direction, Direction::InOut);
}

#[pypto::jit]
fn conditional(
    #[shape(N)] x: &Tensor<f32, 1>,
    at: &Tensor<i32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    if at.get([0]) > 3 {
        y.set(x.exp());
    }
}

#[test]
fn one_condition_around_all_writes_is_an_error() {
    let at = TensorSpec::new(DType::I32, [1]);
    let error = conditional.lower(&(f32s([9]), at, f32s([9]))).unwrap_err();
    assert_eq!(error.code(), Some(codes::WRITTEN_ON_SOME_PATHS), "{error}");
}
