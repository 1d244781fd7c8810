use pypto::prelude::*;

#[pypto::jit]
fn first_rows(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    y.set(x[0..4] * 2.0);
    y[0] = 1.0;
}

fn main() {}
