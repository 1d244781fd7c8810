//! The gate of experts, and linear layers on integers.

use pypto::kernels;
use pypto::prelude::*;

use crate::every_way::{near, outputs, tame, wide};

#[test]
fn moe_gate() {
    for [m, d, e, k] in [[0, 4, 4, 2], [1, 1, 1, 1], [17, 24, 10, 3], [16, 8, 64, 6]] {
        let (x, w) = (tame::<bf16, 2>(1, [m, d]), tame::<bf16, 2>(2, [e, d]));
        let (experts, weights) = outputs!(
            kernels::moe_gate::<bf16>,
            [&x, &w],
            experts = Tensor::<i32, 2>::zeros([m, k]),
            weights = Tensor::<f32, 2>::zeros([m, k])
        );
        let (x, w) = (wide(&x), wide(&w));
        let mut probabilities = Vec::new();
        for (row, chosen) in x.chunks(d as usize).zip(experts.to_vec().chunks(k as usize)) {
            let dot = |expert: &[f64]| expert.iter().zip(row).map(|(a, b)| a * b).sum::<f64>();
            let logits: Vec<f64> = w.chunks(d as usize).map(dot).collect();
            let mut order: Vec<i32> = (0..e as i32).collect();
            order.sort_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]));
            assert_eq!(chosen, &order[..k as usize]);
            let sum: f64 = chosen.iter().map(|c| logits[*c as usize].exp()).sum();
            probabilities.extend(chosen.iter().map(|c| logits[*c as usize].exp() / sum));
        }
        near(&weights, &probabilities);
    }
}

#[test]
fn experts_of_equal_weight_come_in_order() {
    let (x, w) = (Tensor::<f32, 2>::zeros([1, 2]), Tensor::<f32, 2>::zeros([5, 2]));
    let (mut experts, mut weights) = (Tensor::zeros([1, 4]), Tensor::zeros([1, 4]));
    kernels::moe_gate(&x, &w, &mut experts, &mut weights).unwrap();
    assert_eq!(experts.to_vec(), [0, 1, 2, 3]);
}

#[test]
fn quantized_linear_layers() {
    for [m, k, n] in [[0, 4, 4], [1, 1, 1], [17, 300, 65], [3, 24, 70]] {
        let x = tame::<f32, 2>(1, [m, k]);
        let (q, scale) = outputs!(
            kernels::quantize_rows::<f32>,
            [&x],
            q = Tensor::<i8, 2>::zeros([m, k]),
            scale = Tensor::<f32, 2>::zeros([m, 1])
        );
        let back: Vec<f64> =
            q.to_vec().iter().enumerate().map(|(i, q)| f64::from(*q) * wide(&scale)[i / k as usize]).collect();
        for (x, back) in wide(&x).iter().zip(&back) {
            assert!((x - back).abs() <= 0.5 / 127.0 + 1e-6, "{x} became {back}");
        }

        let weights = Tensor::<i8, 2>::from_fn([n, k], |[i, j]| (i * 37 + j * 101) as i8);
        let steps = Tensor::<f32, 2>::from_fn([1, n], |[_, j]| 1.0 / (1000.0 + j as f32));
        let (y,) =
            outputs!(kernels::w8a8_linear::<f32>, [&q, &scale, &weights, &steps], y = Tensor::<f32, 2>::zeros([m, n]));
        let mut expected = Vec::new();
        for row in back.chunks(k as usize) {
            for (j, w) in weights.to_vec().chunks(k as usize).enumerate() {
                let dot: f64 = row.iter().zip(w).map(|(a, b)| a * f64::from(*b)).sum();
                expected.push(dot / (1000.0 + j as f64));
            }
        }
        near(&y, &expected);
    }
}

#[test]
fn a_row_of_zeros_is_quantized_to_zeros() {
    let (mut q, mut scale) = (Tensor::full([1, 3], 1), Tensor::full([1, 1], 1.0));
    kernels::quantize_rows(&Tensor::<f32, 2>::zeros([1, 3]), &mut q, &mut scale).unwrap();
    assert_eq!((q.to_vec(), scale.to_vec()), (vec![0; 3], vec![0.0]));
}

/// A vector and shared weights as operands of a product, as docs/support-matrix.md writes them.
#[pypto::jit]
fn products(
    #[shape(K)] v: &Tensor<f32, 1>,
    #[shape(B, M, K)] a: &Tensor<f32, 3>,
    #[shape(K, N)] b: &Tensor<f32, 2>,
    #[out]
    #[shape(1, N)]
    row: &mut Tensor<f32, 2>,
    #[out]
    #[shape(B, M, N)]
    all: &mut Tensor<f32, 3>,
) {
    let w = b.load_all();
    row.set(matmul(v.load_all().reshape([1, K]), w));
    all.set(matmul(a, w.reshape([1, K, N]).broadcast([B, K, N])));
}

#[test]
fn products_with_a_vector_and_with_shared_weights() {
    for [b, m, k, n] in [[1, 1, 1, 1], [3, 5, 7, 9], [2, 33, 40, 17]] {
        let (v, a, w) = (tame::<f32, 1>(1, [k]), tame::<f32, 3>(2, [b, m, k]), tame::<f32, 2>(3, [k, n]));
        let (row, all) = outputs!(
            products,
            [&v, &a, &w],
            row = Tensor::<f32, 2>::zeros([1, n]),
            all = Tensor::<f32, 3>::zeros([b, m, n])
        );
        let weights = wide(&w);
        let product = |rows: &[f64]| -> Vec<f64> {
            let dot = |row: &[f64], j: i64| (0..k).map(|p| row[p as usize] * weights[(p * n + j) as usize]).sum();
            rows.chunks(k as usize).flat_map(|row| (0..n).map(move |j| (row, j))).map(|(row, j)| dot(row, j)).collect()
        };
        near(&row, &product(&wide(&v)));
        near(&all, &product(&wide(&a)));
    }
}
