//! `PYPTO_CHECK=nan`: a run stops at the operation that makes the first NaN, and says which and where. The variable is read
//! once in a process, so the runs are in one of their own.

use pypto::prelude::*;

#[pypto::jit]
fn normalized(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [4, N]) {
        let t = x.load(at);
        let shifted = t - t.row_max();
        y.store(at, shifted / t.row_sum());
    }
}

/// The line of the quotient above.
const QUOTIENT: u32 = 16;

#[test]
fn the_first_nan_is_named() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_looks_for_nans", "--ignored", "--nocapture"])
        .env("PYPTO_CHECK", "nan")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{text}");
}

#[test]
#[ignore = "the part of `the_first_nan_is_named` that runs with the variable"]
fn child_looks_for_nans() {
    if std::env::var("PYPTO_CHECK").is_err() {
        return;
    }
    // A row of zeros: 0 / 0.
    let (x, mut y) = (Tensor::from_fn([6, 5], |[i, _]| (i % 5) as f32), Tensor::zeros([6, 5]));
    let text = normalized(&x, &mut y).map(drop).unwrap_err().to_string();
    assert!(text.contains("`div` makes a NaN") && text.contains(&format!("nan_check.rs:{QUOTIENT}:")), "{text}");

    // What is given as a NaN is not made.
    let x = Tensor::from_fn([6, 5], |[_, j]| if j == 0 { f32::NAN } else { 1.0 });
    normalized(&x, &mut y).unwrap();

    let host = RunConfig::new().with_platform(pypto::config::Platform::Host);
    let text = normalized.compile(&(&x, &y), &host).map(drop).unwrap_err().to_string();
    assert!(text.contains("PYPTO_CHECK"), "{text}");
}
