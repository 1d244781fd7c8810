//! One trained transformer layer: the first layer of all-MiniLM-L6-v2 (BERT-style), checked against its output in f64.
//!
//! The data file holds the layer's f16 weights, an input of 2 sentences x 17 tokens x 384 features with its attention
//! mask, and the expected output. See `examples/data/README.md` for its origin and licence.

use half::f16;
use pypto::prelude::*;
use pypto_examples::{Outcome, best_time, data, max_error, report, run};
use safetensors::SafeTensors;

const HEADS: i64 = 12;
const EPSILON: f32 = 1e-12;

/// `x W^T + b`: the weight is `[outputs, inputs]`, so products read it transposed.
#[derive(pypto::Args)]
pub struct Linear {
    #[shape(OUT, IN)]
    pub weight: Tensor<f32, 2>,
    #[shape(1, OUT)]
    pub bias: Tensor<f32, 2>,
}

#[derive(pypto::Args)]
pub struct LayerNorm {
    #[shape(1, D)]
    pub gamma: Tensor<f32, 2>,
    #[shape(1, D)]
    pub beta: Tensor<f32, 2>,
}

#[derive(pypto::Args)]
pub struct Layer {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub attention: Linear,
    pub attention_norm: LayerNorm,
    pub up: Linear,
    pub down: Linear,
    pub output_norm: LayerNorm,
}

#[pypto::function(inline)]
fn linear(x: Tile<f32>, layer: &Linear) -> Tile<f32> {
    matmul(x, layer.weight.t()) + &layer.bias
}

#[pypto::function(inline)]
fn layer_norm(x: Tile<f32>, norm: &LayerNorm) -> Tile<f32> {
    let count = x.dim(1) as f32;
    let centred = x - x.row_sum() / count;
    let variance = (centred * centred).row_sum() / count;
    centred * (variance + EPSILON).rsqrt() * &norm.gamma + &norm.beta
}

#[pypto::function(inline)]
fn gelu(x: Tile<f32>) -> Tile<f32> {
    0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf())
}

#[pypto::jit]
pub fn minilm_layer(
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

    let attended = linear(context.load_all(), &layer.attention) + x;
    let normed = layer_norm(attended, &layer.attention_norm);
    let hidden = gelu(linear(normed, &layer.up));
    let output = linear(hidden, &layer.down) + normed;
    y.set(layer_norm(output, &layer.output_norm));
}

pub type Failure = Box<dyn std::error::Error>;

/// A rank-2 tensor of the file as f32; a vector becomes one row, leading dimensions are flattened.
pub fn read(file: &SafeTensors, name: &str) -> Result<Tensor<f32, 2>, Failure> {
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
    // Read by every call: products keep them in the order in which they read them.
    Ok(Tensor::from_vec(values, [rows as i64, columns as i64]).into_weights())
}

/// The weights of the layer.
pub fn read_layer(file: &SafeTensors) -> Result<Layer, Failure> {
    let linear = |name: &str| -> Result<Linear, Failure> {
        Ok(Linear { weight: read(file, &format!("{name}.weight"))?, bias: read(file, &format!("{name}.bias"))? })
    };
    let norm = |name: &str| -> Result<LayerNorm, Failure> {
        Ok(LayerNorm { gamma: read(file, &format!("{name}.weight"))?, beta: read(file, &format!("{name}.bias"))? })
    };
    Ok(Layer {
        query: linear("attention.self.query")?,
        key: linear("attention.self.key")?,
        value: linear("attention.self.value")?,
        attention: linear("attention.output.dense")?,
        attention_norm: norm("attention.output.LayerNorm")?,
        up: linear("intermediate.dense")?,
        down: linear("output.dense")?,
        output_norm: norm("output.LayerNorm")?,
    })
}

pub fn main() -> Outcome {
    let path = data("minilm_layer0.safetensors");
    let bytes = std::fs::read(path)?;
    let file = SafeTensors::deserialize(&bytes)?;
    let layer = read_layer(&file)?;
    let (x, mask) = (read(&file, "input.hidden")?, read(&file, "input.mask")?);
    let mut y = Tensor::zeros([x.dim(0), x.dim(1)]);

    let time = best_time(|| run!(minilm_layer; &x, &mask, &layer, &mut y))?;
    let expected: Vec<f64> = read(&file, "expected.output")?.to_vec().into_iter().map(f64::from).collect();
    report("minilm_layer", max_error(&y, &expected), 2e-5, time)
}

#[test]
fn checks_itself() {
    main().unwrap();
}
