//! `kernel.explain(..)`: work is counted exactly where the extents tell it, and what stops fusion is named with its place.

use pypto::ir::DType;
use pypto::jit::explain::{GroupStep, Reason, StepKind};
use pypto::jit::{Explanation, TensorSpec};
use pypto::kernels;
use pypto::prelude::*;

fn f32s(dims: &[i64]) -> TensorSpec {
    TensorSpec::new(DType::F32, dims)
}

fn groups(explanation: &Explanation) -> Vec<&GroupStep> {
    let steps = explanation.kernels.iter().flat_map(|kernel| &kernel.steps);
    steps
        .filter_map(|step| match &step.kind {
            StepKind::Group(group) => Some(group),
            _ => None,
        })
        .collect()
}

#[test]
fn softmax_is_one_group_dealt_to_the_threads() {
    let x = f32s(&[64, 1000]);
    let explanation = kernels::softmax::<f32>.explain(&(x.clone(), x)).unwrap();
    let bytes = 4.0 * 64.0 * 1000.0;
    let work = explanation.work;
    assert_eq!((work.read, work.written, work.functions, work.exact), (bytes, bytes, 64_000.0, true));
    assert_eq!(explanation.kernels.len(), 1);
    assert_eq!((explanation.kernels[0].iterations, explanation.kernels[0].calls), (4.0, 1.0));
    let groups = groups(&explanation);
    assert_eq!(groups.len(), 1, "{explanation}");
    assert!(groups[0].vectorized && groups[0].column_loops == 3 && groups[0].ended.is_none(), "{explanation}");
    assert!(explanation.share_of_limit().is_none());
}

#[pypto::jit]
fn product(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    c.set(matmul(a, b));
}

#[test]
fn flops_of_a_product_are_those_of_its_extents() {
    for (m, k, n) in [(256, 512, 128), (37, 300, 19)] {
        let explanation = product.explain(&(f32s(&[m, k]), f32s(&[k, n]), f32s(&[m, n]))).unwrap();
        let (m, k, n) = (m as f64, k as f64, n as f64);
        assert_eq!(explanation.work.flops, 2.0 * m * k * n, "{explanation}");
        assert_eq!(explanation.work.read, 4.0 * (m * k + k * n), "{explanation}");
    }
}

#[pypto::jit(meta(T = 16))]
fn scaled_product(
    #[shape(M, K)] a: &Tensor<f32, 2>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    c: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [T, N]) {
        let e = a.tile([at.offset(0), 0], [T, K]).exp();
        c.store(at, matmul(e, b.load_all()).relu());
    }
}

#[test]
fn a_product_ends_a_group_and_says_where() {
    let line = line!() - 6;
    let explanation = scaled_product.explain(&(f32s(&[64, 32]), f32s(&[32, 48]), f32s(&[64, 48]))).unwrap();
    let groups = groups(&explanation);
    assert_eq!(groups.len(), 2, "{explanation}");
    let end = groups[0].ended.unwrap();
    assert_eq!((end.reason, end.loc.line), (Reason::Product, line), "{explanation}");
    let text = explanation.to_string();
    assert!(text.contains(&format!("explanations.rs:{line}")) && text.contains("is a product of matrices"), "{text}");
}

/// Sums of the first `i + 1` rows: iteration `i` is longer than the one before.
#[pypto::jit]
fn triangle(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for i in 0..M {
        let mut sum = Tile::<f32>::zeros([1, N]);
        for j in 0..i + 1 {
            sum += x.tile([j, 0], [1, N]);
        }
        y.store([i, 0], sum);
    }
}

#[test]
fn loops_that_grow_are_counted_iteration_by_iteration() {
    let x = f32s(&[20, 64]);
    let explanation = triangle.explain(&(x.clone(), x)).unwrap();
    assert_eq!(explanation.work.flops, 64.0 * 20.0 * 21.0 / 2.0, "{explanation}");
    assert!(explanation.work.exact);
    // Rows are read again and again, but the tensor has no more bytes than these.
    assert_eq!(explanation.work.read, 4.0 * 20.0 * 64.0);
}

#[pypto::jit]
fn running_sum(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    let mut sum = 0.0;
    for i in 0..N {
        sum += x.get([i]);
        y.put([i], sum);
    }
}

#[test]
fn work_on_single_elements_is_named() {
    let explanation = running_sum.explain(&(f32s(&[100]), f32s(&[100]))).unwrap();
    assert_eq!(explanation.kernels[0].iterations, 1.0);
    assert_eq!((explanation.work.read, explanation.work.written), (400.0, 400.0), "{explanation}");
    let text = explanation.to_string();
    assert!(text.contains("runs on one thread") && text.contains("element by element"), "{text}");
}

#[test]
fn a_measured_explanation_has_a_share_of_the_limit() {
    let (x, mut y) = (Tensor::full([64, 64], 1.0f32), Tensor::zeros([64, 64]));
    let explanation = kernels::gelu::<f32>.explain(&(&x, &y)).unwrap();
    let measured = explanation.timed(|| kernels::gelu(&x, &mut y).map(drop)).unwrap();
    let share = measured.share_of_limit().unwrap();
    assert!(share > 0.0 && share.is_finite(), "{measured}");
    assert!(measured.to_string().contains("% of the limit"));
}
