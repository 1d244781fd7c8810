//! Messages of assertions show the values that the failing assertion saw, in every mode as eager runs show them.

use pypto::config::{Platform, RunConfig};
use pypto::prelude::*;

/// In a kernel, from its loads.
#[pypto::jit]
fn in_a_kernel(
    #[shape(dyn N)] x: &Tensor<f32, 1>,
    limit: f32,
    #[out]
    #[shape(dyn N)]
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..N {
        let v = x.get([i]);
        let positive = v > 0.0;
        assert!(v < limit, "element {i} of {N} is {v:.2}, {{limit}} is {limit:?}: {positive} {:>4}|{:<4}|", i * 2, 7);
        y.put([i], v);
    }
}

/// Before any kernel: scalars of the call.
#[pypto::jit(orchestration)]
fn before_kernels(
    #[shape(N)] x: &Tensor<f32, 1>,
    n: i64,
    h: f16,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    device_assert!(n + 1 < N, "n is {n}, h is {h}, {}", n < 0);
    y.set(x * 2.0);
}

/// Every type, and more values than a message shows.
#[pypto::jit]
fn of_every_type(
    a: i8,
    b: u8,
    c: i16,
    d: u16,
    e: u32,
    f: bf16,
    g: bool,
    h: f32,
    x: &Tensor<i32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<i32, 1>,
) {
    for i in 0..N {
        assert!(x.get([i]) > 0, "{a} {b} {c} {d} {e} {f} {g} {h} {}", x.get([i]));
        y.put([i], x.get([i]));
    }
}

#[pypto::jit]
fn equal(
    #[shape(N)] x: &Tensor<i32, 1>,
    n: i32,
    #[out]
    #[shape(N)]
    y: &mut Tensor<i32, 1>,
) {
    for i in 0..N {
        assert_eq!(x.get([i]), n);
        y.put([i], n);
    }
}

/// A tile has no place in a message: its name stands for it.
#[pypto::function(inline)]
fn checked(t: Tile<f32>, least: f32) -> Tile<f32> {
    let sum = t.row_sum().get([0, 0]);
    assert!(sum >= least, "{sum} of {t:?} is below {least}");
    t / sum
}

#[pypto::jit]
fn in_a_function(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    least: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [1, N]) {
        y.store(at, checked(x.load(at), least));
    }
}

/// The first line of what a run reports, with the message; of eager runs, that of the panic.
macro_rules! messages {
    ($kernel:expr, [$($input:expr),*], $out:expr, $platforms:expr) => {{
        let mut all = Vec::new();
        for platform in $platforms {
            let config = RunConfig::new().with_platform(platform).with_cache(false).with_threads(2);
            let compiled = $kernel.compile(&($($input,)* &$out,), &config).unwrap_or_else(|e| panic!("{platform}: {e}"));
            let error = compiled.call(($($input,)* &mut $out,)).unwrap_err().to_string();
            all.push((platform, error));
        }
        all
    }};
}

const HOST: [Platform; 2] = [Platform::Interpreter, Platform::Host];

fn expect(messages: Vec<(Platform, String)>, expected: &str) {
    for (platform, error) in messages {
        assert!(error.contains(expected), "{platform}: {error}");
    }
}

#[test]
fn values_of_a_kernel() {
    let x = Tensor::from_fn([70], |[i]| i as f32 * 0.5);
    let mut y = Tensor::<f32, 1>::zeros([70]);
    let expected = "element 63 of 70 is 31.50, {limit} is 31.5: true  126|7   |";
    expect(messages!(in_a_kernel, [&x, 31.5f32], y, HOST), expected);
    let eager = std::panic::catch_unwind(|| in_a_kernel.eager((&x, 31.5f32, &mut Tensor::zeros([70]))));
    assert_eq!(eager.unwrap_err().downcast_ref::<String>().unwrap(), expected);
}

#[test]
fn values_before_kernels() {
    let x = Tensor::<f32, 1>::zeros([4]);
    let (h, mut y) = (f16::from_f32(0.5), Tensor::<f32, 1>::zeros([4]));
    let expected = "n is 9, h is 0.5, false";
    expect(messages!(before_kernels, [&x, 9i64, h], y, HOST), expected);
    expect(messages!(before_kernels, [&x, 9i64, h], y, [Platform::A2a3Sim, Platform::A5Sim]), expected);
    assert!(before_kernels(&x, -5, h, &mut y).is_ok());
    let error = before_kernels(&x, 3, h, &mut y).unwrap_err().to_string();
    assert!(error.contains("n is 3, h is 0.5, false"), "{error}");
}

#[test]
fn values_of_every_type() {
    let (a, b, c, d, e) = (-1i8, 255u8, -300i16, 65535u16, u32::MAX);
    let (f, g, h) = (bf16::from_f32(-1.5), true, f32::NAN);
    let x = Tensor::from_vec(vec![1, 0], [2]);
    let mut y = Tensor::<i32, 1>::zeros([2]);
    // Eight values are shown, then names.
    let expected = "-1 255 -300 65535 4294967295 -1.5 true NaN ";
    expect(messages!(of_every_type, [a, b, c, d, e, f, g, h, &x], y, HOST), expected);
}

#[test]
fn both_sides_of_an_equation() {
    let (x, mut y) = (Tensor::from_vec(vec![5, 5, 6], [3]), Tensor::<i32, 1>::zeros([3]));
    expect(messages!(equal, [&x, 5i32], y, HOST), "assertion `left == right` failed: left is 6, right is 5");
}

#[test]
fn values_of_a_function_and_the_names_of_tiles() {
    let x = Tensor::from_fn([3, 4], |[i, _]| 1.0 - i as f32);
    let mut y = Tensor::<f32, 2>::zeros([3, 4]);
    expect(messages!(in_a_function, [&x, 0.5f32], y, HOST), "0 of `t` is below 0.5");
}

#[test]
fn a_saved_artifact_shows_values_too() {
    let directory = tempfile::tempdir().unwrap();
    let x = Tensor::from_fn([4], |[i]| i as f32);
    let mut y = Tensor::<f32, 1>::zeros([4]);
    let compiled = in_a_kernel.compile(&(&x, 1.0f32, &y), &RunConfig::new()).unwrap();
    compiled.artifact().save(directory.path().join("kernel")).unwrap();
    let loaded = pypto::CompiledProgram::from_dir(directory.path().join("kernel")).unwrap();
    let error = loaded.call((&x, 2.5f32, &mut y)).unwrap_err().to_string();
    assert!(error.contains("element 3 of 4 is 3.00, {limit} is 2.5: true    6|7   |"), "{error}");
}

/// The C++ files below a directory.
fn texts(directory: &std::path::Path) -> String {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| match path.is_dir() {
        true => texts(&path),
        false if path.extension().is_some_and(|e| e == "cpp") => std::fs::read_to_string(path).unwrap(),
        false => String::new(),
    };
    paths.map(text).collect()
}

/// What dispatches kernels on a device formats the values itself.
#[test]
fn an_artifact_for_a_device_formats_values() {
    let directory = tempfile::tempdir().unwrap();
    let (x, y) = (Tensor::<f32, 1>::zeros([4]), Tensor::<f32, 1>::zeros([4]));
    let config = RunConfig::new().with_platform(Platform::A2a3).with_output_dir(directory.path().join("kernel"));
    before_kernels.compile(&(&x, 9i64, f16::ONE, &y), &config).unwrap();
    let text = texts(&directory.path().join("kernel"));
    assert!(text.contains("n is %lld, h is %g, %lld\", static_cast<long long>("), "{text}");
}

/// Checks that the compiler adds show what they saw, too.
#[pypto::jit]
fn reads(
    #[shape(dyn M, N)] x: &Tensor<f32, 2>,
    row: i64,
    step: i64,
    #[out]
    #[shape(dyn M, 1)]
    y: &mut Tensor<f32, 2>,
) {
    let table = [1.0, 2.0, 4.0];
    y.set(0.0);
    for i in range(0, M, step) {
        y.put([i, 0], x.get([i + row, 0]) * table[(i / step) as usize]);
    }
}

#[pypto::jit]
fn padded(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    n: i64,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(x.load_all().set_valid([n, N]).fillpad(0.0));
}

#[test]
fn values_of_accesses() {
    let (x, mut y) = (Tensor::<f32, 2>::zeros([4, 8]), Tensor::<f32, 2>::zeros([4, 1]));
    expect(messages!(reads, [&x, 2i64, 1i64], y, HOST), "`get` reaches outside `x` in dimension 0: index 4 of 4");
    expect(messages!(reads, [&x, 0i64, -1i64], y, HOST), "the step of a range must be positive, got -1");
    let (x, mut y) = (Tensor::<f32, 2>::zeros([9, 8]), Tensor::<f32, 2>::zeros([9, 1]));
    expect(messages!(reads, [&x, 0i64, 1i64], y, HOST), "index 3 lies outside the array of 3 elements");
    let (x, mut y) = (Tensor::<f32, 2>::zeros([4, 8]), Tensor::<f32, 2>::zeros([4, 8]));
    expect(messages!(padded, [&x, 5i64], y, HOST), "`set_valid` reaches outside this value in dimension 0: 5 of 4");
}
