//! A task that waits for one that there is not.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::function(incore)]
fn doubled(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
    y.set(x * 2.0);
}

#[pypto::jit(orchestration)]
pub fn graph(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
    #[task(second, after = [first])]
    doubled(x, y);
}

pub fn case() -> Case {
    Case::of::<graph>([f32s([4]), f32s([4])])
}
