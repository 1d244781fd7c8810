//! A program of three tasks, for tests of execution.

use std::path::Path;

use pypto::CompiledProgram;
use pypto::prelude::*;

#[pypto::function(incore)]
pub fn scale(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    s: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x * s);
}

#[pypto::function(incore)]
pub fn add(
    #[shape(M, N)] a: &Tensor<f32, 2>,
    #[shape(M, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(a + b);
}

/// `y = 2 x + 3 x`: two tasks that a third one waits for.
#[pypto::jit(orchestration)]
pub fn five_times(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    let mut two = Tensor::<f32, 2>::temp([M, N]);
    let mut three = Tensor::<f32, 2>::temp([M, N]);
    scale(x, 2.0, &mut two);
    scale(x, 3.0, &mut three);
    add(&two, &three, y);
}

/// [`five_times`] of 8 x 16 elements, written to a directory.
pub fn compiled(directory: &Path) -> CompiledProgram {
    let x = Tensor::<f32, 2>::meta([8, 16]);
    five_times.compile(&(&x, &x), &RunConfig::new().with_output_dir(directory)).unwrap().artifact().clone()
}
