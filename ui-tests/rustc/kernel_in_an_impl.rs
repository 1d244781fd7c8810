use pypto::prelude::*;

struct Layer;

impl Layer {
    #[pypto::jit]
    fn k(&self, #[out] b: &mut Tensor<f32, 2>) {
        b.set(1.0);
    }
}

fn main() {}
