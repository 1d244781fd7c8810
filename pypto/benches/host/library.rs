//! `pypto::kernels` beside the same kernels written by hand: for f32 and fixed extents, without element types, `dyn` extents and checks.

use std::cell::RefCell;
use std::time::Duration;

use pypto::jit::Result;
use pypto::kernels as library;
use pypto::prelude::*;

use crate::measure::interleaved;
use crate::{Line, Outcome, kernels, line, pattern};

/// Rows and columns of the inputs, and repetitions.
const ROWS: i64 = 4096;
const COLUMNS: i64 = 1024;
const REPETITIONS: usize = 60;

#[pypto::jit(meta(TM = 16))]
fn layer_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(1, N)] gamma: &Tensor<f32, 2>,
    #[shape(1, N)] beta: &Tensor<f32, 2>,
    epsilon: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let centred = t - t.row_sum() / N as f32;
        let variance = (centred * centred).row_sum() / N as f32;
        y.store(at, centred * (variance + epsilon).rsqrt() * gamma + beta);
    }
}

#[pypto::jit(meta(TM = 16))]
fn rms_norm(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[shape(1, N)] gamma: &Tensor<f32, 2>,
    epsilon: f32,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        y.store(at, t * ((t * t).row_sum() / N as f32 + epsilon).rsqrt() * gamma);
    }
}

#[pypto::jit]
fn gelu(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(0.5 * x * (1.0 + (x * std::f32::consts::FRAC_1_SQRT_2).erf()));
}

#[pypto::jit]
fn swiglu(
    #[shape(M, N)] gate: &Tensor<f32, 2>,
    #[shape(M, N)] up: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    // As in the library: `gate / (1.0 + (-gate).exp())` loses what is left of very negative numbers.
    let e = (-gate.abs()).exp();
    y.set(gate.lt(0.0).select(gate * e, gate) / (1.0 + e) * up);
}

#[pypto::jit]
fn rope(
    #[shape(S, H, D)] x: &Tensor<f32, 3>,
    #[shape(S, HALF)] cos: &Tensor<f32, 2>,
    #[shape(S, HALF)] sin: &Tensor<f32, 2>,
    #[out]
    #[shape(S, H, D)]
    y: &mut Tensor<f32, 3>,
) {
    for s in 0..S {
        let (c, i) = (cos.tile([s, 0], [1, HALF]), sin.tile([s, 0], [1, HALF]));
        let (a, b) = (x.at(s).tile([0, 0], [H, HALF]), x.at(s).tile([0, HALF], [H, HALF]));
        y.at_mut(s).store([0, 0], a * c - b * i);
        y.at_mut(s).store([0, HALF], b * c + a * i);
    }
}

#[pypto::jit(meta(TM = 16))]
fn log_softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let centred = t - t.row_max();
        y.store(at, centred - centred.exp().row_sum().log());
    }
}

#[pypto::jit(meta(TM = 16))]
fn cross_entropy(
    #[shape(M, N)] logits: &Tensor<f32, 2>,
    #[shape(M, 1)] targets: &Tensor<i32, 2>,
    #[out]
    #[shape(M, 1)]
    loss: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let (t, class) = (logits.load(at), Tile::<i32>::iota([1, N], 1, 0));
        let centred = t - t.row_max();
        let of_target = select(class.eq(targets.tile([at.offset(0), 0], [TM, 1])), centred, 0.0).row_sum();
        loss.store([at.offset(0), 0], centred.exp().row_sum().log() - of_target);
    }
}

#[pypto::jit]
fn w8a8_linear(
    #[shape(M, K)] x: &Tensor<i8, 2>,
    #[shape(M, 1)] x_scale: &Tensor<f32, 2>,
    #[shape(N, K)] w: &Tensor<i8, 2>,
    #[shape(1, N)] w_scale: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w.t()).cast::<f32>() * x_scale * w_scale);
}

/// One query for each head, over all keys at once.
#[pypto::jit]
fn decode(
    #[shape(H, D)] q: &Tensor<f32, 2>,
    #[shape(H, L, D)] k: &Tensor<f32, 3>,
    #[shape(H, L, D)] v: &Tensor<f32, 3>,
    #[out]
    #[shape(H, D)]
    o: &mut Tensor<f32, 2>,
) {
    for h in 0..H {
        let scores = matmul(q.tile([h, 0], [1, D]), k.at(h).load_all().t()) * (1.0 / (D as f32).sqrt());
        let e = (scores - scores.row_max()).exp();
        o.store([h, 0], matmul(e, v.at(h).load_all()) / e.row_sum());
    }
}

/// One of the two that are compared; it writes into what it is given.
type Contender<'a, Output> = &'a dyn Fn(&mut Output) -> Result<()>;

/// The line of one kernel: how many times as fast the library's is. Both write into the same tensor: where one of two lies in memory can be
/// worth a tenth of the time.
fn compared<O>(name: &str, mut y: O, own: Contender<'_, O>, library: Contender<'_, O>) -> Result<Line> {
    own(&mut y)?;
    library(&mut y)?;
    let y = RefCell::new(y);
    let [own, library]: [Duration; 2] =
        interleaved(REPETITIONS, [&mut || drop(own(&mut y.borrow_mut())), &mut || drop(library(&mut y.borrow_mut()))]);
    let ratio = own.as_secs_f64() / library.as_secs_f64();
    let measured = format!("{ratio:.2} x ({:.0} us)", library.as_secs_f64() * 1e6);
    Ok(line(format!("pypto::kernels::{name}, to one by hand"), measured, ">= 0.95 x", ratio >= 0.95))
}

/// Every kernel of the library that one would write oneself.
pub fn checks() -> Outcome {
    let mut lines: Vec<Line> = of_rows()?.into();
    for (rows, columns) in [(ROWS, COLUMNS), (1 << 14, 16), (1 << 8, 11008)] {
        let x = pattern([rows, columns]);
        let name = format!("swiglu, {rows} x {columns}");
        lines.push(compared(&name, zeros([rows, columns]), &|y| swiglu(&x, &x, y).map(drop), &|y| {
            library::swiglu(&x, &x, y).map(drop)
        })?);
    }
    lines.extend([rotation()?, entropies()?, linear()?, attention()?, attention_of_one()?]);
    Ok(lines)
}

fn zeros<const R: usize>(shape: [i64; R]) -> Tensor<f32, R> {
    Tensor::zeros(shape)
}

/// Kernels whose result has the shape of their operand.
fn of_rows() -> Result<[Line; 5]> {
    let x = pattern([ROWS, COLUMNS]);
    let (gamma, beta) = (pattern([1, COLUMNS]), pattern([1, COLUMNS]));
    let y = || zeros([ROWS, COLUMNS]);
    Ok([
        compared("softmax", y(), &|y| kernels::softmax(&x, y).map(drop), &|y| library::softmax(&x, y).map(drop))?,
        compared("layer_norm", y(), &|y| layer_norm(&x, &gamma, &beta, 1e-5, y).map(drop), &|y| {
            library::layer_norm(&x, &gamma, &beta, 1e-5, y).map(drop)
        })?,
        compared("rms_norm", y(), &|y| rms_norm(&x, &gamma, 1e-5, y).map(drop), &|y| {
            library::rms_norm(&x, &gamma, 1e-5, y).map(drop)
        })?,
        compared("gelu", y(), &|y| gelu(&x, y).map(drop), &|y| library::gelu(&x, y).map(drop))?,
        compared("log_softmax", y(), &|y| log_softmax(&x, y).map(drop), &|y| library::log_softmax(&x, y).map(drop))?,
    ])
}

fn rotation() -> Result<Line> {
    let (positions, heads, depth) = (ROWS / 4, 32, 128);
    let x = pattern([positions, heads, depth]);
    let (cos, sin) = (pattern([positions, depth / 2]), pattern([positions, depth / 2]));
    compared("rope", zeros([positions, heads, depth]), &|y| rope(&x, &cos, &sin, y).map(drop), &|y| {
        library::rope(&x, &cos, &sin, y).map(drop)
    })
}

fn entropies() -> Result<Line> {
    let x = pattern([ROWS, COLUMNS]);
    let targets = Tensor::from_fn([ROWS, 1], |[i, _]| (i * 7 % COLUMNS) as i32);
    compared("cross_entropy", zeros([ROWS, 1]), &|y| cross_entropy(&x, &targets, y).map(drop), &|y| {
        library::cross_entropy(&x, &targets, y).map(drop)
    })
}

fn linear() -> Result<Line> {
    let (m, n, k) = (256, 1024, 1024);
    let bytes = |rows| Tensor::from_fn([rows, k], |[i, j]| ((i * 31 + j * 17) % 255 - 127) as i8);
    let (x, w, x_scale, w_scale) = (bytes(m), bytes(n), pattern([m, 1]), pattern([1, n]));
    compared("w8a8_linear", zeros([m, n]), &|y| w8a8_linear(&x, &x_scale, &w, &w_scale, y).map(drop), &|y| {
        library::w8a8_linear(&x, &x_scale, &w, &w_scale, y).map(drop)
    })
}

fn attention_of_one() -> Result<Line> {
    let (heads, length, depth) = (8i64, 4096i64, 64i64);
    let (q, [k, v]) = (pattern([heads, depth]), [(), ()].map(|()| pattern([heads, length, depth])));
    let four = |x: &Tensor<f32, 3>| Tensor::from_vec(x.to_vec(), [1, heads, length, depth]);
    let (q3, k4, v4) = (Tensor::from_vec(q.to_vec(), [1, heads, depth]), four(&k), four(&v));
    let lengths = Tensor::from_vec(vec![length as i32], [1]);
    let outputs = (zeros([heads, depth]), zeros([1, heads, depth]));
    compared("attention_decode", outputs, &|(o, _)| decode(&q, &k, &v, o).map(drop), &|(_, o)| {
        library::attention_decode(&q3, &k4, &v4, &lengths, o).map(drop)
    })
}

fn attention() -> Result<Line> {
    let (heads, length, depth) = (8i64, 1024i64, 64i64);
    let [q, k, v] = std::array::from_fn(|_| pattern([heads * length, depth]));
    let four = |x: &Tensor<f32, 2>| Tensor::from_vec(x.to_vec(), [1, heads, length, depth]);
    let (q4, k4, v4) = (four(&q), four(&k), four(&v));
    let lengths = Tensor::from_vec(vec![length as i32], [1]);
    let outputs = (zeros([heads * length, depth]), zeros([1, heads, length, depth]));
    compared("attention", outputs, &|(o, _)| kernels::attention(&q, &k, &v, o).map(drop), &|(_, o)| {
        library::attention(&q4, &k4, &v4, &lengths, o).map(drop)
    })
}
