use pypto::prelude::*;

#[pypto::function(inline)]
fn first(b: &Tensor<f32, 1>, n: i64) -> f32 {
    for i in 0..n {
        if b.get([i]) > 0.0 {
            return b.get([i]);
        }
    }
    0.0
}

fn main() {}
