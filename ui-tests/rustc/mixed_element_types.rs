use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 2>, b: &Tensor<f16, 2>, #[out] c: &mut Tensor<f32, 2>) {
    c.set(a.load_all() + b.load_all());
}

fn main() {}
