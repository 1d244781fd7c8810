//! `pypto::kernels` on both Ascend targets: every kernel compiles, or is refused with the exact reason, and gives in the
//! simulator what it gives on the host, within rounding.

use pypto::config::{Platform, RunConfig};
use pypto::jit::Result;
use pypto::kernels;
use pypto::prelude::*;
use pypto_examples::random;

/// The numbers of every output.
type Outputs = Vec<Vec<f64>>;

/// Of any element type, as f64.
fn numbers<T: Element, const R: usize>(tensor: &Tensor<T, R>) -> Vec<f64> {
    let mut wide = Tensor::<f32, R>::zeros(tensor.dims());
    wide.set(tensor.cast::<f32>());
    wide.to_vec().into_iter().map(f64::from).collect()
}

/// Random numbers of an element type.
fn of<T: Element, const R: usize>(dims: [i64; R], seed: u64) -> Tensor<T, R> {
    let mut x = Tensor::zeros(dims);
    x.set(random(dims, seed).cast::<T>());
    x
}

/// The largest difference, relative to the largest number of the output.
fn difference(actual: &Outputs, expected: &Outputs) -> f64 {
    let of_output = |(a, e): (&Vec<f64>, &Vec<f64>)| {
        let largest = e.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
        let apart = |(a, e): (&f64, &f64)| if a == e { 0.0 } else { (a - e).abs() / largest };
        a.iter().zip(e).map(apart).fold(0.0, |m: f64, d| if d.is_nan() { f64::INFINITY } else { m.max(d) })
    };
    assert_eq!(actual.len(), expected.len());
    actual.iter().zip(expected).map(of_output).fold(0.0, f64::max)
}

/// Runs on the host and in both simulators.
fn agree(name: &str, bound: f64, run: impl Fn(&RunConfig) -> Result<Outputs>) -> Vec<String> {
    let expected = run(&RunConfig::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut problems = Vec::new();
    for platform in [Platform::A2a3Sim, Platform::A5Sim] {
        match run(&RunConfig::new().with_platform(platform)) {
            Ok(actual) => {
                let found = difference(&actual, &expected);
                if found > bound {
                    problems.push(format!("{name} on {platform}: differs by {found}"));
                }
            }
            Err(error) => problems.push(format!("{name} on {platform}: {error}")),
        }
    }
    problems
}

/// A run of a kernel with these inputs, whose outputs have these types and extents.
macro_rules! run {
    ($kernel:expr; $($input:expr),*; $($output:ident: $ty:ty = $dims:expr),+) => {
        |config: &RunConfig| -> Result<Outputs> {
            $(let mut $output = <$ty>::zeros($dims);)+
            let compiled = ($kernel).compile(&($($input,)* $(&$output,)+), config)?;
            compiled.call(($($input,)* $(&mut $output,)+))?;
            Ok(vec![$(numbers(&$output)),+])
        }
    };
}

fn none(problems: Vec<Vec<String>>) {
    let problems = problems.concat();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn rows_of<T: Element>(m: i64, n: i64, bound: f64) -> Vec<Vec<String>> {
    let name = |kernel: &str| format!("{kernel} of {m} x {n}, {}", std::any::type_name::<T>());
    let (x, gamma, beta) = (of::<T, 2>([m, n], 1), of::<T, 2>([1, n], 2), of::<T, 2>([1, n], 3));
    let y = [m, n];
    vec![
        agree(&name("gelu"), bound, run!(kernels::gelu::<T>; &x; y: Tensor<T, 2> = y)),
        agree(&name("gelu_tanh"), bound, run!(kernels::gelu_tanh::<T>; &x; y: Tensor<T, 2> = y)),
        agree(&name("silu"), bound, run!(kernels::silu::<T>; &x; y: Tensor<T, 2> = y)),
        agree(&name("swiglu"), bound, run!(kernels::swiglu::<T>; &x, &x; y: Tensor<T, 2> = y)),
        agree(&name("softmax"), bound, run!(kernels::softmax::<T>; &x; y: Tensor<T, 2> = y)),
        agree(&name("log_softmax"), bound, run!(kernels::log_softmax::<T>; &x; y: Tensor<T, 2> = y)),
        agree(
            &name("layer_norm"),
            bound,
            run!(kernels::layer_norm::<T>; &x, &gamma, &beta, 1e-5f32; y: Tensor<T, 2> = y),
        ),
        agree(&name("rms_norm"), bound, run!(kernels::rms_norm::<T>; &x, &gamma, 1e-5f32; y: Tensor<T, 2> = y)),
        agree(
            &name("quantize_rows"),
            bound,
            run!(kernels::quantize_rows::<T>; &x; q: Tensor<i8, 2> = y, scale: Tensor<f32, 2> = [m, 1]),
        ),
    ]
}

#[test]
fn rows() {
    let all = [rows_of::<f32>(37, 96, 2e-6), rows_of::<f16>(37, 131, 2e-3), rows_of::<bf16>(20, 64, 2e-2)];
    none(all.concat());
}

#[test]
fn long_rows() {
    let all = [
        rows_of::<f32>(32, 768, 2e-6),
        rows_of::<f16>(32, 1000, 2e-3),
        rows_of::<f32>(5, 8192, 2e-6),
        rows_of::<f16>(2, 32768, 2e-3),
    ];
    none(all.concat());
}

#[test]
fn losses() {
    let (logits, targets) = (of::<f32, 2>([37, 100], 1), Tensor::from_fn([37, 1], |[i, _]| i as i32 * 2 - 1));
    none(vec![agree(
        "cross_entropy",
        1e-5,
        run!(kernels::cross_entropy::<f32>; &logits, &targets; loss: Tensor<f32, 2> = [37, 1]),
    )]);
}

#[test]
fn linear_layers() {
    let bytes = |dims: [i64; 2], seed| {
        let mut x = Tensor::<i8, 2>::zeros(dims);
        x.set((random(dims, seed).load_all() * 100.0).cast::<i8>());
        x
    };
    let (x, w) = (bytes([70, 96], 1), bytes([40, 96], 2));
    let (x_scale, w_scale) = (of::<f32, 2>([70, 1], 3), of::<f32, 2>([1, 40], 4));
    let exact = run!(kernels::w8a8_linear::<f32>; &x, &x_scale, &w, &w_scale; y: Tensor<f32, 2> = [70, 40]);
    let (a, b) = (Tensor::full([33, 64], 0x38u8), Tensor::full([16, 64], 0xb8u8));
    let (a_scale, b_scale) = (Tensor::full([33, 2], 128u8), Tensor::full([16, 2], 127u8));
    let scaled = run!(kernels::mx_linear::<f32>; &a, &a_scale, &b, &b_scale; y: Tensor<f32, 2> = [33, 16]);
    none(vec![agree("w8a8_linear", 1e-6, exact)]);
    // The scale of a block is gathered for each of its elements.
    let refusals = agree("mx_linear", 1e-6, scaled);
    for (refusal, target) in refusals.iter().zip(["a2a3", "a5"]) {
        let expected = [
            format!("target `{target}` has no `gather` on the vector unit"),
            "an index outside of a row stops the kernel".to_owned(),
            "target `host` has it".to_owned(),
        ];
        assert!(expected.iter().all(|part| refusal.contains(part.as_str())), "{refusal}");
    }
    assert_eq!(refusals.len(), 2, "where it runs, this test is out of date");
}

#[test]
fn rotation() {
    let (x, cos, sin) = (of::<f32, 3>([9, 4, 64], 1), of::<f32, 2>([9, 32], 2), of::<f32, 2>([9, 32], 3));
    none(vec![agree("rope", 1e-6, run!(kernels::rope::<f32>; &x, &cos, &sin; y: Tensor<f32, 3> = [9, 4, 64]))]);
}

#[test]
fn routing() {
    let (x, w) = (of::<f32, 2>([37, 64], 1), of::<f32, 2>([8, 64], 2));
    none(vec![agree(
        "moe_gate",
        1e-5,
        run!(kernels::moe_gate::<f32>; &x, &w; experts: Tensor<i32, 2> = [37, 2], weights: Tensor<f32, 2> = [37, 2]),
    )]);
}

#[test]
fn attention() {
    let (q, k, v) =
        (of::<f32, 4>([2, 4, 30, 64], 1), of::<f32, 4>([2, 2, 100, 64], 2), of::<f32, 4>([2, 2, 100, 64], 3));
    let lengths = Tensor::from_vec(vec![100, 57], [2]);
    let plain = run!(kernels::attention::<f32>; &q, &k, &v, &lengths; o: Tensor<f32, 4> = [2, 4, 30, 64]);
    let causal = run!(kernels::attention::<f32>.with(meta! { CAUSAL: 1 }); &q, &k, &v, &lengths; o: Tensor<f32, 4> = [2, 4, 30, 64]);
    let one = of::<f32, 3>([2, 4, 64], 1);
    let decoded = run!(kernels::attention_decode::<f32>; &one, &k, &v, &lengths; o: Tensor<f32, 3> = [2, 4, 64]);
    let (q, k, v) = (of::<f32, 3>([2, 4, 64], 1), of::<f32, 4>([5, 2, 16, 64], 2), of::<f32, 4>([5, 2, 16, 64], 3));
    let (table, lengths) = (Tensor::from_vec(vec![2, 0, 4, 1, 3, 0], [2, 3]), Tensor::from_vec(vec![48, 17], [2]));
    let paged = run!(kernels::paged_attention::<f32>; &q, &k, &v, &table, &lengths; o: Tensor<f32, 3> = [2, 4, 64]);
    none(vec![
        agree("attention", 1e-5, plain),
        agree("causal attention", 1e-5, causal),
        agree("attention_decode", 1e-5, decoded),
        agree("paged_attention", 1e-5, paged),
    ]);
}
