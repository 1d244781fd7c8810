//! candle on the CPU. Every operator makes a new tensor.

use std::hint::black_box;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops;

use crate::products::extents;
use crate::{Contender, normal};

type Call = Box<dyn FnMut() -> Result<Tensor>>;

fn tensor(shape: &[usize], seed: u64) -> Result<Tensor> {
    Tensor::from_vec(normal(shape.iter().product(), seed), shape, &Device::Cpu)
}

/// candle, if it can do the case.
pub fn prepare(case: &str) -> Option<Contender> {
    let made = products(case).transpose().or_else(|| rows(case).transpose());
    let mut call = made.or_else(|| others(case).transpose())?.ok()?;
    Some(Contender::new("candle", move || call().map(|result| drop(black_box(result))).map_err(|e| e.to_string())))
}

fn call(function: impl FnMut() -> Result<Tensor> + 'static) -> Option<Call> {
    Some(Box::new(function))
}

fn products(case: &str) -> Result<Option<Call>> {
    let short = match case {
        "matmul f16 1024" => Some(DType::F16),
        "matmul bf16 1024" => Some(DType::BF16),
        _ => None,
    };
    if let Some(dtype) = short {
        let (a, b) = (tensor(&[1024, 1024], 1)?.to_dtype(dtype)?, tensor(&[1024, 1024], 2)?.to_dtype(dtype)?);
        return Ok(call(move || a.matmul(&b)));
    }
    let Some((m, k, n)) = extents(case) else { return Ok(None) };
    let (a, b) = (tensor(&[m, k], 1)?, tensor(&[k, n], 2)?);
    Ok(call(move || a.matmul(&b)))
}

fn rows(case: &str) -> Result<Option<Call>> {
    let softmax = case.strip_prefix("softmax ").and_then(|words| words.split_once(" x "));
    if let Some((m, n)) = softmax
        && let (Ok(m), Ok(n)) = (m.parse(), n.parse())
    {
        let x = tensor(&[m, n], 1)?;
        return Ok(call(move || ops::softmax_last_dim(&x)));
    }
    let (x, gamma, beta) = (tensor(&[4096, 1024], 1)?, tensor(&[1024], 2)?, tensor(&[1024], 3)?);
    Ok(match case {
        "rms_norm 4096 x 1024" => call(move || ops::rms_norm(&x, &gamma, 1e-5)),
        "layer_norm 4096 x 1024" => call(move || ops::layer_norm(&x, &gamma, &beta, 1e-5)),
        _ => None,
    })
}

fn others(case: &str) -> Result<Option<Call>> {
    Ok(match case {
        "gelu_tanh 1M" => gelu(1 << 20)?,
        "gelu_tanh 64K" => gelu(1 << 16)?,
        "swiglu 1M" => swiglu(1 << 20)?,
        "swiglu 64K" => swiglu(1 << 16)?,
        "chain 32K" => chain()?,
        "ffn 512 x 768 x 3072" => feed_forward()?,
        "attention 8 x 1024 x 64" => attention(AttnMask::None)?,
        "attention 8 x 1024 x 64 causal" => attention(AttnMask::causal())?,
        "attention decode 8 x 4096 x 64" => decode()?,
        "row_sum 4096 x 4096" => matrix(|x| x.sum(1))?,
        "col_sum 4096 x 4096" => matrix(|x| x.sum(0))?,
        "transpose 4096 x 4096" => matrix(|x| x.t()?.contiguous())?,
        "embedding 512 of 32000 x 768" => embedding()?,
        "sort rows 1024 x 1024" => {
            let x = tensor(&[1024, 1024], 1)?;
            call(move || x.sort_last_dim(false).map(|(sorted, _)| sorted))
        }
        "warm call, 64 elements" => {
            let x = tensor(&[64], 1)?;
            call(move || x.affine(2.0, 1.0))
        }
        _ => None,
    })
}

fn gelu(n: usize) -> Result<Option<Call>> {
    let x = tensor(&[n], 1)?;
    Ok(call(move || x.gelu()))
}

fn swiglu(n: usize) -> Result<Option<Call>> {
    let (gate, up) = (tensor(&[n], 1)?, tensor(&[n], 2)?);
    Ok(call(move || gate.silu()? * &up))
}

fn chain() -> Result<Option<Call>> {
    let x = tensor(&[1 << 15], 1)?;
    Ok(call(move || {
        let bell = x.affine(1.5, 0.25)?.sqr()?.neg()?.exp()?;
        (bell * x.tanh()?)? + x.abs()?.sqrt()?
    }))
}

fn feed_forward() -> Result<Option<Call>> {
    let (x, w1, b1) = (tensor(&[512, 768], 1)?, tensor(&[768, 3072], 2)?, tensor(&[3072], 3)?);
    let (w2, b2) = (tensor(&[3072, 768], 4)?, tensor(&[768], 5)?);
    Ok(call(move || x.matmul(&w1)?.broadcast_add(&b1)?.gelu()?.matmul(&w2)?.broadcast_add(&b2)))
}

/// Its operator takes batch, position, head.
fn attention(mask: AttnMask) -> Result<Option<Call>> {
    let shape = [1, 1024, 8, 64];
    let (q, k, v) = (tensor(&shape, 1)?, tensor(&shape, 2)?, tensor(&shape, 3)?);
    Ok(call(move || flash_attn::<f32>(&q, &k, &v, 0.125, mask.clone(), None, None)))
}

fn decode() -> Result<Option<Call>> {
    let (q, k, v) = (tensor(&[8, 1, 64], 1)?, tensor(&[8, 4096, 64], 2)?, tensor(&[8, 4096, 64], 3)?);
    Ok(call(move || {
        let scores = (q.matmul(&k.t()?)? * 0.125)?;
        ops::softmax_last_dim(&scores)?.matmul(&v)
    }))
}

fn matrix(function: fn(&Tensor) -> Result<Tensor>) -> Result<Option<Call>> {
    let x = tensor(&[4096, 4096], 1)?;
    Ok(call(move || function(&x)))
}

fn embedding() -> Result<Option<Call>> {
    let table = tensor(&[32000, 768], 1)?;
    let ids: Vec<u32> = (0..512).map(|i| i * 7919 % 32000).collect();
    let ids = Tensor::from_vec(ids, 512, &Device::Cpu)?;
    Ok(call(move || table.index_select(&ids, 0)))
}
