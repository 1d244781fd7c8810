use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 2>, #[out] b: &mut Tensor<f32, 2>) {
    b.set(a.load_all().row_maxx());
}

fn main() {}
