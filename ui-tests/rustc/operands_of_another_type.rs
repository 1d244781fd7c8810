use pypto::prelude::*;

#[pypto::jit]
fn generic<T: Element>(#[shape(M, N)] x: &Tensor<T, 2>, #[out] #[shape(M, N)] y: &mut Tensor<T, 2>) {
    y.set(x * 2.0);
}

#[pypto::jit]
fn mean(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, 1)] y: &mut Tensor<f32, 2>) {
    y.set(x.row_sum() / N);
}

fn main() {}
