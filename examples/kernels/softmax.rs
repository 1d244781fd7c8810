//! Softmax of each row. `[TM, 1]` results of row reductions broadcast over the columns.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, random, report, run, softmax_f64, wide};

#[pypto::jit(meta(TM = 64))]
pub fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

fn check(m: i64, n: i64) -> Outcome {
    let x = random([m, n], 4);
    let mut y = Tensor::zeros([m, n]);
    let time = best_time(|| run!(softmax; &x, &mut y))?;

    let mut expected = wide(&x);
    softmax_f64(&mut expected, n as usize);
    report(&format!("softmax {m}x{n}"), max_error(&y, &expected), 1e-6, time)
}

pub fn main() -> Outcome {
    check(64, 1024)?;
    check(4096, 1024)?;
    check(77, 131)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
