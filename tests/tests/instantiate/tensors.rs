//! Whole tensors: expressions, views, single elements, rows by index, temporaries.

use pypto::prelude::*;

use crate::{agree, sample};

#[pypto::jit]
pub fn gelu(x: &Tensor<f32, 2>, w: &Tensor<f32, 2>, b: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    let h = matmul(x, w) + b;
    y.set(h * 0.5 * ((h * std::f32::consts::FRAC_1_SQRT_2).erf() + 1.0));
}

#[test]
fn expressions_over_tensors() {
    let (x, w, b) = (sample([6, 5]), sample([5, 4]), sample([1, 4]));
    agree!(gelu(&x, &w, &b; f32, [6, 4]));
}

#[pypto::jit]
pub fn views(#[shape(B, M, N)] x: &Tensor<f32, 3>, #[out] y: &mut Tensor<f32, 3>) {
    for i in 0..B {
        let plane = x.at(i);
        let mut out = y.at_mut(i);
        out.rows_mut(0, 2).set(plane.rows(1, 2).load_all() * 2.0);
        out.view_mut([2, 0], [M - 2, N]).set(plane.view([0, 0], [M - 2, N]).load_all() - 1.0);
    }
}

#[test]
fn views_of_parts() {
    let x = sample([2, 5, 3]);
    agree!(views(&x; f32, [2, 5, 3]));
}

#[pypto::jit]
pub fn rows_by_index(
    #[shape(V, D)] table: &Tensor<f32, 2>,
    #[shape(M, _)] index: &Tensor<i32, 2>,
    #[out]
    #[shape(M, D)]
    y: &mut Tensor<f32, 2>,
) {
    let rows = table.gather_rows(index);
    y.set(0.0);
    y.scatter_rows(Tile::iota([M, 1], 0, 0), rows);
}

#[test]
fn rows_are_gathered_and_scattered() {
    let table = sample([7, 3]);
    let index = Tensor::from_vec(vec![6i32, 0, 0, 3], [4, 1]);
    agree!(rows_by_index(&table, &index; f32, [4, 3]));
}

#[pypto::jit]
pub fn through_memory(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut h = Tensor::temp([M, N]);
    h.set(x.load_all().cast::<f16>());
    let mut ones = Tensor::<f32, 2>::full([M, 1], 1.0);
    ones.put([0, 0], 2.0);
    y.set(h.cast::<f32>() + &ones);
}

#[test]
fn temporaries_take_the_type_of_what_is_stored() {
    let x = sample([3, 4]);
    agree!(through_memory(&x; f32, [3, 4]));
}
