use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 2>, #[out] b: &mut Tensor<f32, 2>) {
    b.set(a.load_all());
}

fn main() {
    let mut t = Tensor::<f32, 2>::zeros([4, 4]);
    let _ = k(&t, &mut t);
}
