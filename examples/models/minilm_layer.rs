//! One trained transformer layer: the first layer of all-MiniLM-L6-v2 (BERT-style), checked against its output in f64.
//!
//! The data file holds the layer's f16 weights, an input of 2 sentences x 17 tokens x 384 features with its attention
//! mask, and the expected output. See `examples/data/README.md` for its origin and licence.

use half::f16;
use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, max_error, report};
use safetensors::SafeTensors;

const HEADS: i64 = 12;
const EPSILON: f32 = 1e-12;

#[pypto::function(inline)]
fn layer_norm(x: Tile<f32>, gamma: Tile<f32>, beta: Tile<f32>) -> Tile<f32> {
    let count = x.dim(1) as f32;
    let centred = x - x.row_sum() / count;
    let variance = (centred * centred).row_sum() / count;
    centred * (variance + EPSILON).rsqrt() * gamma + beta
}

#[pypto::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

/// Weights are `[outputs, inputs]`, so each product reads its weight transposed.
#[pypto::jit]
pub fn minilm_layer(
    #[shape(R, D)] x: &Tensor<f32, 2>,
    #[shape(B, S)] mask: &Tensor<f32, 2>,
    #[shape(D, D)] wq: &Tensor<f32, 2>,
    #[shape(1, D)] bq: &Tensor<f32, 2>,
    #[shape(D, D)] wk: &Tensor<f32, 2>,
    #[shape(1, D)] bk: &Tensor<f32, 2>,
    #[shape(D, D)] wv: &Tensor<f32, 2>,
    #[shape(1, D)] bv: &Tensor<f32, 2>,
    #[shape(D, D)] wo: &Tensor<f32, 2>,
    #[shape(1, D)] bo: &Tensor<f32, 2>,
    #[shape(1, D)] attention_gamma: &Tensor<f32, 2>,
    #[shape(1, D)] attention_beta: &Tensor<f32, 2>,
    #[shape(F, D)] w1: &Tensor<f32, 2>,
    #[shape(1, F)] b1: &Tensor<f32, 2>,
    #[shape(D, F)] w2: &Tensor<f32, 2>,
    #[shape(1, D)] b2: &Tensor<f32, 2>,
    #[shape(1, D)] output_gamma: &Tensor<f32, 2>,
    #[shape(1, D)] output_beta: &Tensor<f32, 2>,
    #[out]
    #[shape(R, D)]
    y: &mut Tensor<f32, 2>,
) {
    let mut q = Tensor::temp([R, D]);
    let mut k = Tensor::temp([R, D]);
    let mut v = Tensor::temp([R, D]);
    q.set(matmul(x, wq.t()) + bq);
    k.set(matmul(x, wk.t()) + bk);
    v.set(matmul(x, wv.t()) + bv);

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

    let attended = matmul(&context, wo.t()) + bo + x;
    let normed = layer_norm(attended, attention_gamma.load_all(), attention_beta.load_all());
    let hidden = gelu(matmul(normed, w1.t()) + b1);
    let output = matmul(hidden, w2.t()) + b2 + normed;
    y.set(layer_norm(output, output_gamma.load_all(), output_beta.load_all()));
}

/// A rank-2 tensor of the file as f32; a vector becomes one row, leading dimensions are flattened.
pub fn read(file: &SafeTensors, name: &str) -> Result<Tensor<f32, 2>, Box<dyn std::error::Error>> {
    let view = file.tensor(name)?;
    let columns = *view.shape().last().ok_or_else(|| format!("`{name}` is a scalar"))?;
    let values: Vec<f32> = match view.dtype() {
        safetensors::Dtype::F16 => {
            view.data().chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
        }
        safetensors::Dtype::F32 => {
            view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        }
        other => return Err(format!("`{name}` has dtype {other:?}; f16 or f32 was expected").into()),
    };
    let rows = values.len() / columns.max(1);
    Ok(Tensor::from_vec(values, [rows as i64, columns as i64]))
}

fn main() -> Outcome {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/minilm_layer0.safetensors");
    let bytes = std::fs::read(path)?;
    let file = SafeTensors::deserialize(&bytes)?;
    let linear = |name: &str| {
        Ok::<_, Box<dyn std::error::Error>>((
            read(&file, &format!("{name}.weight"))?,
            read(&file, &format!("{name}.bias"))?,
        ))
    };
    let (wq, bq) = linear("attention.self.query")?;
    let (wk, bk) = linear("attention.self.key")?;
    let (wv, bv) = linear("attention.self.value")?;
    let (wo, bo) = linear("attention.output.dense")?;
    let (attention_gamma, attention_beta) = linear("attention.output.LayerNorm")?;
    let (w1, b1) = linear("intermediate.dense")?;
    let (w2, b2) = linear("output.dense")?;
    let (output_gamma, output_beta) = linear("output.LayerNorm")?;
    let (x, mask) = (read(&file, "input.hidden")?, read(&file, "input.mask")?);
    let mut y = Tensor::zeros([x.dim(0), x.dim(1)]);

    let time = best_time(|| {
        minilm_layer(
            &x,
            &mask,
            &wq,
            &bq,
            &wk,
            &bk,
            &wv,
            &bv,
            &wo,
            &bo,
            &attention_gamma,
            &attention_beta,
            &w1,
            &b1,
            &w2,
            &b2,
            &output_gamma,
            &output_beta,
            &mut y,
        )
        .map(drop)
    })?;
    let expected: Vec<f64> = read(&file, "expected.output")?.to_vec().into_iter().map(f64::from).collect();
    report("minilm_layer", max_error(&y, &expected), 2e-5, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
