//! Calls: inline functions, generic ones, in-core functions as tasks, returned tensors.

use pypto::frontend::generic::Callee;
use pypto::ir::text::{PrintOptions, print};
use pypto::prelude::*;

use crate::{agree, sample};

const EPSILON: f32 = 1e-5;

#[pypto::function(inline)]
fn normalized(t: Tile<f32>, n: f32) -> Tile<f32> {
    let centered = t - t.row_sum() / n;
    let variance = (centered * centered).row_sum() / n;
    centered * (variance + EPSILON).rsqrt()
}

#[pypto::jit(meta(TM = 2))]
pub fn layer_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        y.store(at, normalized(x.load(at), N as f32) * w);
    }
}

#[test]
fn inline_functions_take_tiles() {
    let (x, w) = (sample([5, 6]), sample([1, 6]));
    agree!(layer_norm(&x, &w; f32, [5, 6]));
}

#[pypto::function(incore)]
fn scale<T: Element>(
    #[shape(dyn M, N)] x: &Tensor<T, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<T, 2>,
) {
    for at in tiles([M, N], [4, N]) {
        let t = x.load(at);
        y.store(at, t + t);
    }
}

#[pypto::function(incore)]
fn square(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let t = x.load_all();
    y.set(t * t);
}

#[pypto::jit(orchestration, meta(ROWS = 4))]
pub fn tasks(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut h = Tensor::temp([M, N]);
    for r in range(0, M, ROWS) {
        let n = ROWS.min(M - r);
        scale(&x.rows(r, n), &mut h.rows_mut(r, n));
    }
    #[task(first)]
    square(&h.rows(0, 2), &mut y.rows_mut(0, 2));
    #[task(after = [first])]
    square(&h.rows(2, M - 2), &mut y.rows_mut(2, M - 2));
}

#[test]
fn in_core_functions_are_instantiated_for_their_arguments() {
    let x = sample([10, 3]);
    let mut expected = Tensor::zeros([10, 3]);
    tasks.eager((&x, &mut expected));
    let program = agree!(tasks(&x; f32, [10, 3]));
    let text = print(&program, PrintOptions { locations: false });
    assert!(text.contains("@square_2"), "{text}");
}

#[pypto::jit]
pub fn doubled(#[shape(M, N)] x: &Tensor<f32, 2>) -> Tensor<f32, 2> {
    let mut y = Tensor::temp([M, N]);
    y.set(x + x);
    y
}

#[test]
fn returned_tensors_are_parameters_of_the_program() {
    use pypto::jit::KernelArgument;
    let x = sample([3, 4]);
    let program = crate::program::<doubled>(&[], &[(&x).argument()]);
    let result = program.entry_function().params.last().expect("a parameter");
    assert!(result.returned && result.name == "y");
    let mut y = Tensor::<f32, 2>::zeros([3, 4]);
    crate::interpret(&program, &[(&x).argument(), (&mut y).argument()]);
    assert_eq!(crate::bits(&y), crate::bits(&doubled.eager((&x,))));
    let Callee::Function(generic) = <doubled as pypto::frontend::generic::Callable>::callee() else { unreachable!() };
    assert_eq!(generic.name.name, "doubled");
}
