//! Every kernel of every example program compiles for both Ascend targets with every planner, and gives in the simulator
//! what it gives on the host, within rounding: the same bits, but for functions that the vector unit does not have and for
//! the sums of products.

use pypto::config::{MemoryPlanner, Platform, RunConfig};
use pypto::prelude::*;
use pypto_examples::random;
use pypto_tests::examples::{
    dynamic_rows, elementwise, ffn, flash_attention, fused_linear, hello_world, layer_norm, matmul, minilm_layer,
    paged_attention, rms_norm, rope, softmax, split_k_matmul, task_graph,
};
use safetensors::SafeTensors;

/// The largest difference, relative to the largest result.
fn difference<const R: usize>(a: &Tensor<f32, R>, b: &Tensor<f32, R>) -> f32 {
    let (a, b) = (a.to_vec(), b.to_vec());
    let largest = b.iter().fold(1e-6f32, |m, x| m.max(x.abs()));
    a.iter()
        .zip(&b)
        .map(|(x, y)| (x - y).abs() / largest)
        .fold(0.0, |m, d| if d.is_nan() { f32::NAN } else { m.max(d) })
}

/// Runs a kernel on the host and on both targets; the last parameter is its output, of the given extents.
macro_rules! agree {
    ($kernel:expr, [$($input:expr),+], $dims:expr, $bound:expr) => {{
        let dims = $dims;
        let mut expected = Tensor::<f32, _>::zeros(dims);
        ($kernel)($($input,)+ &mut expected).unwrap();
        for platform in [Platform::A2a3Sim, Platform::A5Sim] {
            for planner in [MemoryPlanner::DsaRp, MemoryPlanner::Pypto, MemoryPlanner::Ptoas] {
                let config = RunConfig::builder().platform(platform).memory_planner(planner).build().unwrap();
                let mut actual = Tensor::<f32, _>::zeros(dims);
                let compiled = ($kernel).compile(&($($input,)+ &actual), &config);
                let compiled = compiled.unwrap_or_else(|error| panic!("{platform}, {planner}: {error}"));
                let outcome = compiled.call(($($input,)+ &mut actual)).map(drop);
                outcome.unwrap_or_else(|error| panic!("{platform}, {planner}: {error}"));
                let found = difference(&actual, &expected);
                assert!(found <= $bound, "{platform}, {planner}: differs by {found}");
            }
        }
    }};
}

#[test]
fn hello_world() {
    agree!(hello_world::add, [&random([300, 77], 1), &random([300, 77], 2)], [300, 77], 0.0);
}

#[test]
fn elementwise() {
    agree!(elementwise::chain, [&random([100, 200], 1), 0.5, -1.25], [100, 200], 1e-6);
}

#[test]
fn softmax() {
    agree!(softmax::softmax, [&random([64, 64], 1)], [64, 64], 0.0);
    agree!(softmax::softmax, [&random([77, 131], 1)], [77, 131], 0.0);
}

#[test]
fn dynamic_rows() {
    agree!(dynamic_rows::softmax, [&random([100, 200], 1)], [100, 200], 0.0);
    agree!(dynamic_rows::softmax, [&random([17, 200], 1)], [17, 200], 0.0);
}

#[test]
fn layer_norm() {
    let (gamma, beta) = (random([1, 131], 2), random([1, 131], 3));
    agree!(layer_norm::layer_norm, [&random([77, 131], 1), &gamma, &beta], [77, 131], 1e-6);
}

#[test]
fn rms_norm() {
    agree!(rms_norm::rms_norm::<f32>, [&random([77, 131], 1), &random([1, 131], 2)], [77, 131], 1e-6);
}

#[test]
fn matmul() {
    for [m, k, n] in [[64, 64, 64], [129, 130, 131], [256, 256, 256], [512, 512, 512]] {
        agree!(matmul::matmul_tiled, [&random([m, k], 1), &random([k, n], 2)], [m, n], 1e-5);
        agree!(matmul::matmul_whole, [&random([m, k], 1), &random([k, n], 2)], [m, n], 1e-5);
    }
}

/// The tensor's elements rounded to another type.
fn narrow<T: Element>(x: &Tensor<f32, 2>) -> Tensor<T, 2> {
    let mut y = Tensor::zeros(x.dims());
    y.set(x.cast::<T>());
    y
}

fn widens<T: Element>() {
    for [m, k, n] in [[64, 64, 64], [129, 130, 131], [256, 256, 256], [512, 512, 512]] {
        let (a, b) = (narrow::<T>(&random([m, k], 1)), narrow::<T>(&random([k, n], 2)));
        agree!(matmul::matmul_widening::<T>, [&a, &b], [m, n], 1e-5);
    }
}

#[test]
fn matmul_of_f16_and_bf16() {
    widens::<f16>();
    widens::<bf16>();
}

#[test]
fn split_k_matmul() {
    for [m, k, n] in [[64, 1024, 64], [33, 300, 70]] {
        agree!(split_k_matmul::split_k_matmul, [&random([m, k], 1), &random([k, n], 2)], [m, n], 1e-5);
    }
}

#[test]
fn rope() {
    for [h, s, d] in [[2, 128, 64], [3, 77, 48], [1, 5, 6]] {
        let [cos, sin] = rope::tables(s, d / 2);
        agree!(rope::rope, [&random([h, s, d], 1), &cos, &sin], [h, s, d], 0.0);
    }
}

#[test]
fn paged_attention() {
    for (lengths, [h, d, page]) in [(vec![100i64, 17, 64], [16, 64, 32]), (vec![1, 50], [5, 48, 16])] {
        let b = lengths.len() as i64;
        let (table, pages) = paged_attention::page_table(&lengths, page);
        let filled = Tensor::from_fn([b], |[i]| lengths[i as usize] as i32);
        let (k, v) = (random([pages, page, d], 2), random([pages, page, d], 3));
        agree!(paged_attention::paged_attention, [&random([b, h, d], 1), &k, &v, &table, &filled], [b, h, d], 1e-5);
    }
}

#[test]
fn fused_linear() {
    let (w, b) = (random([96, 130], 2), random([1, 130], 3));
    agree!(fused_linear::fused_linear, [&random([70, 96], 1), &w, &b], [70, 130], 1e-5);
}

#[test]
fn ffn() {
    let (w1, b1, w2, b2) = (random([64, 200], 2), random([1, 200], 3), random([200, 64], 4), random([1, 64], 5));
    agree!(ffn::ffn, [&random([70, 64], 1), &w1, &b1, &w2, &b2], [70, 64], 1e-5);
}

#[test]
fn swiglu() {
    let (gate, up, down) = (random([64, 200], 2), random([64, 200], 3), random([200, 64], 4));
    agree!(ffn::swiglu, [&random([70, 64], 1), &gate, &up, &down], [70, 64], 1e-5);
}

#[test]
fn flash_attention() {
    for ([h, s, t, d], causal) in [([2, 100, 77, 32], 0), ([1, 131, 131, 48], 1)] {
        let (q, k, v) = (random([h, s, d], 1), random([h, t, d], 2), random([h, t, d], 3));
        agree!(flash_attention::flash_attention.with(meta! { CAUSAL: causal }), [&q, &k, &v], [h, s, d], 1e-5);
    }
}

#[test]
fn task_graph() {
    let (w, bias) = (random([64, 96], 2), random([1, 96], 3));
    agree!(task_graph::layer, [&random([96, 64], 1), &w, &bias], [96, 96], 1e-5);
}

#[test]
fn minilm_layer() {
    let bytes = std::fs::read(pypto_examples::data("minilm_layer0.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |name: &str| minilm_layer::read(&file, name).unwrap();
    let layer = minilm_layer::read_layer(&file).unwrap();
    let (x, mask) = (tensor("input.hidden"), tensor("input.mask"));
    let mut expected = Tensor::<f32, 2>::zeros(x.dims());
    minilm_layer::minilm_layer(&x, &mask, &layer, &mut expected).unwrap();
    for platform in [Platform::A2a3Sim, Platform::A5Sim] {
        let config = RunConfig::new().with_platform(platform);
        let mut actual = Tensor::<f32, 2>::zeros(x.dims());
        let compiled = minilm_layer::minilm_layer.compile(&(&x, &mask, &layer, &actual), &config).unwrap();
        compiled.call((&x, &mask, &layer, &mut actual)).unwrap();
        let found = difference(&actual, &expected);
        assert!(found <= 1e-4, "{platform}: differs by {found}");
    }
}
