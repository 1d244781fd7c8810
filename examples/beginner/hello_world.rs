//! The first kernel: adds two matrices, tile by tile. The extents need not be multiples of the tile's.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, wide};

#[pypto::jit]
pub fn add(
    #[shape(M, N)] a: &Tensor<f32, 2>,
    #[shape(M, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [128, 128]) {
        c.store(at, a.load(at) + b.load(at));
    }
}

pub fn main() -> Outcome {
    let (a, b) = (random([300, 500], 1), random([300, 500], 2));
    let mut c = Tensor::zeros([300, 500]);
    let time = best_time(|| run!(add; &a, &b, &mut c))?;

    let expected: Vec<f64> = wide(&a).iter().zip(wide(&b)).map(|(a, b)| a + b).collect();
    report("hello_world", max_error(&c, &expected), 2e-7, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
