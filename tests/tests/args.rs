//! Structs of tensors and scalars as one parameter of kernels: `#[derive(pypto::Args)]`.

use pypto::diagnostics::codes;
use pypto::ir::text::{PrintOptions, parse, print};
use pypto::prelude::*;

#[derive(pypto::Args)]
struct Linear<'a> {
    #[shape(K, N)]
    weight: &'a Tensor<f32, 2>,
    #[shape(1, N)]
    bias: &'a Tensor<f32, 2>,
}

/// Structs within a struct, a scalar, and a specialized scalar.
#[derive(pypto::Args)]
struct Network<'a> {
    first: Linear<'a>,
    second: Linear<'a>,
    scale: f32,
    #[spec]
    repeat: i64,
}

#[pypto::function(inline)]
fn linear(x: Tile<f32>, layer: &Linear<'_>) -> Tile<f32> {
    matmul(x, layer.weight) + layer.bias
}

#[pypto::jit]
fn network(#[shape(M, _)] x: &Tensor<f32, 2>, net: &Network<'_>, #[out] y: &mut Tensor<f32, 2>) {
    let mut hidden = linear(x.load_all(), &net.first) * net.scale;
    for _i in unroll(0..net.repeat) {
        hidden = hidden.max(0.0) + net.first.bias;
    }
    y.set(linear(hidden, &net.second));
}

/// By value: the struct holds what is written, too.
#[derive(pypto::Args)]
struct Update<'a, T: Element> {
    #[shape(dyn N)]
    input: &'a Tensor<T, 1>,
    #[shape(dyn N)]
    state: &'a mut Tensor<T, 1>,
    #[out]
    #[shape(dyn N)]
    output: &'a mut Tensor<T, 1>,
}

#[pypto::jit]
fn update(u: Update<'_, f32>, factor: f32) {
    for at in tiles([u.input.dim(0)], [16]) {
        let next = u.state.load(at) * factor + u.input.load(at);
        u.state.store(at, next);
        u.output.store(at, next * next);
    }
}

/// It owns its tensors, and is passed by reference.
#[derive(pypto::Args)]
struct Buffers {
    sum: Tensor<f32, 1>,
    count: Tensor<i64, 1>,
}

#[pypto::jit]
fn accumulate(#[shape(N)] x: &Tensor<f32, 1>, into: &mut Buffers) {
    for i in 0..N {
        into.sum.put([0], into.sum.get([0]) + x.get([i]));
    }
    into.count.put([0], into.count.get([0]) + N);
}

/// Dispatches an in-core function with a struct.
#[pypto::function(incore)]
fn block(#[shape(M, K)] x: &Tensor<f32, 2>, layer: &Linear<'_>, #[out] y: &mut Tensor<f32, 2>) {
    y.set(matmul(x, layer.weight) + layer.bias);
}

#[pypto::jit(orchestration)]
fn dispatched(#[shape(M, K)] x: &Tensor<f32, 2>, layer: Linear<'_>, #[out] y: &mut Tensor<f32, 2>) {
    for r in parallel(range(0, M, 2)) {
        block(&x.rows(r, 2), &layer, &mut y.rows_mut(r, 2));
    }
}

fn sample(shape: [i64; 2], seed: i64) -> Tensor<f32, 2> {
    Tensor::from_fn(shape, |[i, j]| ((i * 7 + j * 3 + seed) % 11) as f32 / 4.0 - 1.0)
}

struct Weights {
    w1: Tensor<f32, 2>,
    b1: Tensor<f32, 2>,
    w2: Tensor<f32, 2>,
    b2: Tensor<f32, 2>,
}

fn weights() -> Weights {
    Weights { w1: sample([5, 7], 1), b1: sample([1, 7], 2), w2: sample([7, 3], 3), b2: sample([1, 3], 4) }
}

impl Weights {
    fn network(&self) -> Network<'_> {
        let first = Linear { weight: &self.w1, bias: &self.b1 };
        let second = Linear { weight: &self.w2, bias: &self.b2 };
        Network { first, second, scale: 0.5, repeat: 2 }
    }
}

#[test]
fn eager_and_compiled_agree() {
    let (x, w) = (sample([4, 5], 0), weights());
    let output = Tensor::<f32, 2>::zeros([4, 3]);
    let (mut called, mut eager, mut by_artifact) = (output.clone(), output.clone(), output);
    network(&x, &w.network(), &mut called).unwrap();
    network.eager((&x, &w.network(), &mut eager));
    assert_eq!(called.as_slice(), eager.as_slice());
    let compiled = network.compile(&(&x, &w.network(), &called), &RunConfig::default()).unwrap();
    compiled.call((&x, &w.network(), &mut by_artifact)).unwrap();
    assert_eq!(by_artifact.as_slice(), eager.as_slice());
    let other = Network { repeat: 0, ..w.network() };
    network.with(meta! {})(&x, &other, &mut called).unwrap();
    network.eager((&x, &other, &mut eager));
    assert_eq!(called.as_slice(), eager.as_slice());
    assert_ne!(network.key(&(&x, &other, &called)).unwrap(), *compiled.key(), "`net.repeat` is part of the key");
}

#[test]
fn fields_are_parameters_of_the_program() {
    let (x, w) = (sample([4, 5], 0), weights());
    let program = network.lower(&(&x, &w.network(), &Tensor::<f32, 2>::zeros([4, 3]))).unwrap();
    let text = print(&program, PrintOptions { locations: false });
    for name in ["net.first.weight", "net.first.bias", "net.second.weight", "net.second.bias", "net.scale"] {
        assert!(program.entry_function().params.iter().any(|p| p.name == name), "{name}\n{text}");
    }
    let read = parse(&text, "printed").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&read, PrintOptions { locations: false }), text);
}

#[test]
fn structs_are_written_through_their_borrows() {
    let input = Tensor::from_fn([20], |[i]| i as f32);
    let run = |call: &dyn Fn(Update<'_, f32>)| {
        let (mut state, mut output) = (Tensor::full([20], 1.0), Tensor::zeros([20]));
        call(Update { input: &input, state: &mut state, output: &mut output });
        (state.to_vec(), output.to_vec())
    };
    let compiled = run(&|u| {
        update(u, 2.0).unwrap();
    });
    assert_eq!(compiled, run(&|u| update.eager((u, 2.0))));
    assert_eq!((compiled.0[3], compiled.1[3]), (5.0, 25.0));
}

#[test]
fn owned_tensors_are_lent() {
    let x = Tensor::from_fn([6], |[i]| i as f32);
    let mut buffers = Buffers { sum: Tensor::zeros([1]), count: Tensor::zeros([1]) };
    accumulate(&x, &mut buffers).unwrap();
    accumulate.eager((&x, &mut buffers));
    assert_eq!((buffers.sum.get([0]), buffers.count.get([0])), (30.0, 12));
}

#[test]
fn tasks_take_structs() {
    let (x, w) = (sample([6, 5], 0), weights());
    let (mut called, mut eager) = (Tensor::zeros([6, 7]), Tensor::zeros([6, 7]));
    dispatched(&x, w.network().first, &mut called).unwrap();
    dispatched.eager((&x, w.network().first, &mut eager));
    assert_eq!(called.as_slice(), eager.as_slice());
}

#[test]
fn errors_name_the_field() {
    let (x, mut w) = (sample([4, 5], 0), weights());
    w.b2 = sample([1, 4], 0);
    let error = network(&x, &w.network(), &mut Tensor::zeros([4, 3])).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_EXTENT));
    let text = error.to_string();
    assert!(text.contains("`net.second.N` is 3 in `net.second.weight` and 4 in `net.second.bias`"), "{text}");
    w.b2 = sample([2, 3], 0);
    let text = network(&x, &w.network(), &mut Tensor::zeros([4, 3])).unwrap_err().to_string();
    assert!(text.contains("dimension 0 of `net.second.bias` must be 1, got 2"), "{text}");
}

#[test]
#[should_panic(expected = "dimension 1 of `net.second.bias` is 4, but its `#[shape]` says `N`, which is 3")]
fn eager_runs_check_the_fields() {
    let (x, mut w) = (sample([4, 5], 0), weights());
    w.b2 = sample([1, 4], 0);
    network.eager((&x, &w.network(), &mut Tensor::zeros([4, 3])));
}

#[test]
fn dynamic_extents_of_fields_share_one_artifact() {
    let call = |n: i64| {
        let (mut state, mut output) = (Tensor::zeros([n]), Tensor::zeros([n]));
        let input = Tensor::full([n], 3.0);
        update(Update { input: &input, state: &mut state, output: &mut output }, 0.0).unwrap();
        assert_eq!(output.to_vec(), vec![9.0; n as usize]);
    };
    call(5);
    call(33);
    let key = |n: i64| {
        let input = Tensor::<f32, 1>::zeros([n]);
        let (mut state, mut output) = (input.clone(), input.clone());
        update.key(&(Update { input: &input, state: &mut state, output: &mut output }, 0.0f32)).unwrap()
    };
    assert_eq!(key(5), key(33));
    let (input, mut state, mut output) = (Tensor::zeros([4]), Tensor::zeros([4]), Tensor::zeros([5]));
    let error = update(Update { input: &input, state: &mut state, output: &mut output }, 0.0).unwrap_err();
    assert!(error.to_string().contains("`u.N` is 4 in `u.input` and 5 in `u.output`"), "{error}");
}
