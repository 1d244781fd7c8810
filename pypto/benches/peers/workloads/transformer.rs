//! A layer of a small transformer, with the shapes of all-MiniLM-L6-v2: 2 sentences of 17 tokens, 384 features, 12 heads.

use std::rc::Rc;

use pypto::jit::Result;
use pypto::kernels::inline::gelu;
use pypto::prelude::*;

use super::normalization::softmax_f64;
use super::product::row_times;
use crate::inputs::{normal, row};
use crate::workload::{Prepared, Work, Workload, on, prepared};

const BATCH: i64 = 2;
const TOKENS: i64 = 17;
const FEATURES: i64 = 384;
const HIDDEN: i64 = 4 * FEATURES;
const HEADS: i64 = 12;
const WIDTH: i64 = FEATURES / HEADS;
const EPSILON: f32 = 1e-12;

pub fn workloads() -> Vec<Workload> {
    let (rows, d, f) = ((BATCH * TOKENS) as f64, FEATURES as f64, HIDDEN as f64);
    let weights = 4.0 * d * d + 2.0 * d * f;
    let flops = 2.0 * rows * weights + 4.0 * rows * TOKENS as f64 * d;
    let work = Work::new(flops, 4.0 * (weights + rows * d), 4.0 * rows * d);
    vec![Workload { name: "minilm layer, 2 x 17 tokens", work, tolerance: 1e-5, prepare }]
}

/// `x W + b`.
#[derive(pypto::Args)]
struct Linear {
    #[shape(IN, OUT)]
    weight: Tensor<f32, 2>,
    #[shape(1, OUT)]
    bias: Tensor<f32, 2>,
}

#[derive(pypto::Args)]
struct Norm {
    #[shape(1, D)]
    gamma: Tensor<f32, 2>,
    #[shape(1, D)]
    beta: Tensor<f32, 2>,
}

#[derive(pypto::Args)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    output_norm: Norm,
}

#[pypto::function(inline)]
fn linear(x: Tile<f32>, layer: &Linear) -> Tile<f32> {
    matmul(x, &layer.weight) + &layer.bias
}

#[pypto::function(inline)]
fn normalized(x: Tile<f32>, norm: &Norm) -> Tile<f32> {
    let count = x.dim(1) as f32;
    let centred = x - x.row_sum() / count;
    let variance = (centred * centred).row_sum() / count;
    centred * (variance + EPSILON).rsqrt() * &norm.gamma + &norm.beta
}

#[pypto::jit]
fn layer_of_minilm(
    #[shape(R, D)] x: &Tensor<f32, 2>,
    #[shape(B, S)] mask: &Tensor<f32, 2>,
    layer: &Layer,
    #[out]
    #[shape(R, D)]
    y: &mut Tensor<f32, 2>,
) {
    let mut q = Tensor::temp([R, D]);
    let mut k = Tensor::temp([R, D]);
    let mut v = Tensor::temp([R, D]);
    q.set(linear(x.load_all(), &layer.query));
    k.set(linear(x.load_all(), &layer.key));
    v.set(linear(x.load_all(), &layer.value));

    let width = D / HEADS;
    let scale = 1.0 / (width as f32).sqrt();
    let mut context = Tensor::temp([R, D]);
    for (b, h) in grid(B, HEADS) {
        let at = [b * S, h * width];
        let ignored = (1.0 - mask.tile([b, 0], [1, S])) * -1e9;
        let scores = matmul(q.tile(at, [S, width]), k.tile(at, [S, width]).t()) * scale + ignored;
        let e = (scores - scores.row_max()).exp();
        context.store(at, matmul(e / e.row_sum(), v.tile(at, [S, width])));
    }

    let attended = normalized(linear(context.load_all(), &layer.attention) + x, &layer.attention_norm);
    let hidden = gelu(linear(attended, &layer.up));
    y.set(normalized(linear(hidden, &layer.down) + attended, &layer.output_norm));
}

fn made_linear(inputs: i64, outputs: i64, seed: u64) -> Linear {
    let scale = 1.0 / (inputs as f32).sqrt();
    let unscaled = normal([inputs, outputs], seed);
    let weight = Tensor::from_vec(unscaled.as_slice().iter().map(|w| w * scale).collect(), [inputs, outputs]);
    Linear { weight: weight.into_weights(), bias: normal([1, outputs], seed + 100) }
}

fn made_norm(seed: u64) -> Norm {
    Norm { gamma: normal([1, FEATURES], seed), beta: normal([1, FEATURES], seed + 100) }
}

fn prepare(threads: usize) -> Result<Prepared> {
    let square = |seed| made_linear(FEATURES, FEATURES, seed);
    let layer = Rc::new(Layer {
        query: square(1),
        key: square(2),
        value: square(3),
        attention: square(4),
        attention_norm: made_norm(5),
        up: made_linear(FEATURES, HIDDEN, 6),
        down: made_linear(HIDDEN, FEATURES, 7),
        output_norm: made_norm(8),
    });
    let rows = BATCH * TOKENS;
    let (x, y) = (Rc::new(normal([rows, FEATURES], 9)), Tensor::zeros([rows, FEATURES]));
    let mask = Tensor::full([BATCH, TOKENS], 1.0f32);
    let compiled = layer_of_minilm.compile(&(&*x, &mask, &*layer, &y), &on(threads))?;
    let (input, weights) = (x.clone(), layer.clone());
    let call = move |y: &mut Tensor<f32, 2>| compiled.call((&*x, &mask, &*layer, y));
    Ok(prepared(y, rows as usize, call, move |i| exact_row(&input, &weights, i)))
}

fn exact_linear(x: &[f64], layer: &Linear) -> Vec<f64> {
    let mut y = row_times(x, &layer.weight);
    y.iter_mut().zip(row(&layer.bias, 0)).for_each(|(y, b)| *y += b);
    y
}

fn exact_norm(x: &[f64], norm: &Norm) -> Vec<f64> {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    let factor = 1.0 / (variance + f64::from(EPSILON)).sqrt();
    let affine = row(&norm.gamma, 0).into_iter().zip(row(&norm.beta, 0));
    x.iter().zip(affine).map(|(v, (g, b))| (v - mean) * factor * g + b).collect()
}

/// The attention of one row to all tokens of its sentence, before the projection.
fn exact_context(x: &Tensor<f32, 2>, layer: &Layer, at: usize) -> Vec<f64> {
    let tokens = TOKENS as usize;
    let sentence = at / tokens * tokens;
    let of_tokens = |linear| -> Vec<Vec<f64>> {
        (sentence..sentence + tokens).map(|token| exact_linear(&row(x, token), linear)).collect()
    };
    let (query, keys, values) =
        (exact_linear(&row(x, at), &layer.query), of_tokens(&layer.key), of_tokens(&layer.value));
    let mut context = Vec::new();
    for head in 0..HEADS as usize {
        let part = head * WIDTH as usize..(head + 1) * WIDTH as usize;
        let product = |key: &Vec<f64>| -> f64 {
            let products = query[part.clone()].iter().zip(&key[part.clone()]).map(|(a, b)| a * b);
            products.sum::<f64>() / (WIDTH as f64).sqrt()
        };
        let shares = softmax_f64(&keys.iter().map(product).collect::<Vec<_>>());
        context.extend(part.map(|j| shares.iter().zip(&values).map(|(share, value)| share * value[j]).sum::<f64>()));
    }
    context
}

fn exact_row(x: &Tensor<f32, 2>, layer: &Layer, at: usize) -> Vec<f64> {
    let add = |a: Vec<f64>, b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
    let attended = add(exact_linear(&exact_context(x, layer, at), &layer.attention), &row(x, at));
    let attended = exact_norm(&attended, &layer.attention_norm);
    let mut hidden = exact_linear(&attended, &layer.up);
    hidden.iter_mut().for_each(|v| *v *= 0.5 * (1.0 + erf(*v * std::f64::consts::FRAC_1_SQRT_2)));
    exact_norm(&add(exact_linear(&hidden, &layer.down), &attended), &layer.output_norm)
}

/// The error function by its series, or by its continued fraction where that converges faster.
fn erf(x: f64) -> f64 {
    let (square, size) = (x * x, x.abs());
    let scale = 2.0 / std::f64::consts::PI.sqrt() * (-square).exp();
    let value = if size < 3.0 {
        let (mut term, mut sum) = (size, size);
        for n in 1..60 {
            term *= 2.0 * square / f64::from(2 * n + 1);
            sum += term;
        }
        scale * sum
    } else {
        let fraction = (1..60).rev().fold(size, |below, n| size + f64::from(n) / 2.0 / below);
        1.0 - scale / 2.0 / fraction
    };
    value.copysign(x)
}
