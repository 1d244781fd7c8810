//! One artifact for every number of rows: `dyn M` keeps the extent out of the specialization key.

use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, platform, random, report, run, softmax_f64, wide};

#[pypto::jit(meta(TM = 16))]
pub fn softmax(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

/// Kernels that this process compiled or took from the disk cache.
fn specializations() -> u64 {
    let stats = pypto::jit::stats();
    stats.compiled + stats.loaded
}

pub fn main() -> Outcome {
    let before = specializations();
    for m in [0, 1, 2, 15, 16, 17, 100, 1000] {
        let x = random([m, 200], 26);
        let mut y = Tensor::zeros([m, 200]);
        let time = best_time(|| run!(softmax; &x, &mut y))?;
        let mut expected = wide(&x);
        softmax_f64(&mut expected, 200);
        report(&format!("dynamic_rows {m}"), max_error(&y, &expected), 1e-6, time)?;
    }
    if platform()?.is_some() {
        // Artifacts are made anew for every extent that is asked for.
        return Ok(());
    }
    let made = specializations() - before;
    println!("dynamic_rows: {made} specialization for 8 extents");
    if made == 1 { Ok(()) } else { Err(format!("{made} specializations where one was expected").into()) }
}

#[test]
fn checks_itself() {
    main().unwrap();
}
