//! Tensors that are weights give the results of others, bit for bit, whatever happens to them between calls.

use pypto::config::RunOptions;
use pypto::language::DynamicTensor;
use pypto::prelude::*;
use pypto::runtime::worker::{ChipWorker, Worker};

#[pypto::jit]
fn linear(
    #[shape(dyn M, K)] x: &Tensor<f32, 2>,
    #[shape(K, N)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w));
}

#[pypto::jit]
fn of_rows(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(N, K)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    y.set(matmul(x, w.t()));
}

/// By tiles whose parts of the weights do and do not begin with a panel.
#[pypto::jit(meta(BN = 48))]
fn by_tiles(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(K, N)] w: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [M, BN]) {
        let mut sum = Tile::zeros([M, BN]);
        for k in range(0, K, 50) {
            sum = sum.mma(x.tile([0, k], [M, 50]), w.tile([k, at.offset(1)], [50, BN]));
        }
        y.store(at, sum);
    }
}

/// A change of the weights.
#[pypto::jit]
fn scaled(#[shape(K, N)] w: &mut Tensor<f32, 2>) {
    w.set(w.load_all() * 0.5);
}

/// A product with the result of another.
#[pypto::jit]
fn through_both(
    #[shape(M, K)] x: &Tensor<f32, 2>,
    #[shape(K, K)] first: &Tensor<f32, 2>,
    #[shape(K, K)] second: &Tensor<f32, 2>,
    #[out]
    #[shape(M, K)]
    y: &mut Tensor<f32, 2>,
) {
    let mut hidden = Tensor::temp([M, K]);
    hidden.set(matmul(x, first));
    y.set(matmul(&hidden, second));
}

fn numbers<const R: usize>(dims: [i64; R], seed: i64) -> Tensor<f32, R> {
    let mut state = seed;
    Tensor::from_fn(dims, |_| {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        state as f32 / (1u64 << 30) as f32 - 1.0
    })
}

fn copy(w: &Tensor<f32, 2>) -> Tensor<f32, 2> {
    Tensor::from_vec(w.to_vec(), w.dims())
}

fn bits(y: &Tensor<f32, 2>) -> Vec<u32> {
    y.to_vec().iter().map(|value| value.to_bits()).collect()
}

/// The result of a kernel of (x, w, y).
macro_rules! result {
    ($kernel:expr, $x:expr, $w:expr, $dims:expr) => {{
        let mut y = Tensor::zeros($dims);
        $kernel($x, $w, &mut y).unwrap();
        bits(&y)
    }};
}

#[test]
fn weights_give_the_results_of_other_tensors() {
    let (k, n) = (150, 200);
    let plain = numbers([k, n], 1);
    let weights = copy(&plain).into_weights();
    assert!(weights.is_weights() && !plain.is_weights());
    let (plain_rows, rows) = (numbers([n, k], 2), numbers([n, k], 2).into_weights());
    for m in [1, 5, 17, 34, 70, 300] {
        let x = numbers([m, k], m);
        for _ in 0..2 {
            assert!(result!(linear, &x, &weights, [m, n]) == result!(linear, &x, &plain, [m, n]), "{m}");
        }
        assert!(result!(of_rows, &x, &rows, [m, n]) == result!(of_rows, &x, &plain_rows, [m, n]), "{m}");
        assert!(result!(by_tiles, &x, &weights, [m, n]) == result!(by_tiles, &x, &plain, [m, n]), "{m}");
    }
}

/// The copies are used: of products that pack their right factor, the code asks for them.
#[test]
fn products_ask_for_panels() {
    let (x, w, rows, y) =
        (numbers([64, 256], 1), numbers([256, 512], 2), numbers([512, 256], 3), Tensor::<f32, 2>::zeros([64, 512]));
    let linear = linear.compile(&(&x, &w, &y), &RunConfig::new()).unwrap();
    let of_rows = of_rows.compile(&(&x, &rows, &y), &RunConfig::new()).unwrap();
    for text in [linear.lir_text().unwrap(), of_rows.lir_text().unwrap()] {
        assert!(text.contains("_panels"), "{text}");
    }
}

#[test]
fn whoever_writes_weights_is_seen() {
    let (m, k, n) = (40, 64, 96);
    let x = numbers([m, k], 3);
    let mut w = numbers([k, n], 4).into_weights();
    let check = |w: &Tensor<f32, 2>, what: &str| {
        assert!(result!(linear, &x, w, [m, n]) == result!(linear, &x, &copy(w), [m, n]), "{what}");
    };
    check(&w, "at first");
    w.as_mut_slice()[5] = 7.0;
    check(&w, "a slice");
    w.rows_mut(3, 2).set(0.25);
    check(&w, "a view");
    {
        let mut view = w.view_mut([0, 0], [k, n]);
        check(&view, "through a mutable view");
        view.as_mut_slice()[9] = -3.0;
        check(&view, "through a mutable view that was written");
    }
    check(&w, "after it");
    scaled(&mut w).unwrap();
    check(&w, "a kernel");
    scaled.eager((&mut w,));
    check(&w, "an eager kernel");
    assert!(w.is_weights());
}

#[test]
fn parts_of_a_stack_are_weights_too() {
    let (m, k) = (50, 64);
    let stack = numbers([3, k, k], 5).into_weights();
    let x = numbers([m, k], 6);
    let of = |i| Tensor::from_vec(stack.at(i).to_vec(), [k, k]);
    for [first, second] in [[0, 1], [1, 2], [2, 2], [0, 1]] {
        let (mut marked, mut plain) = (Tensor::zeros([m, k]), Tensor::zeros([m, k]));
        assert!(stack.at(first).is_weights());
        through_both(&x, &stack.at(first), &stack.at(second), &mut marked).unwrap();
        through_both(&x, &of(first), &of(second), &mut plain).unwrap();
        assert!(bits(&marked) == bits(&plain), "{first}, {second}");
    }
}

/// Tensors of a worker are weights without being told, once they are read again and again.
#[test]
fn tensors_of_a_worker_are_seen_to_change() {
    let (m, k, n) = (40, 64, 96);
    let x = numbers([m, k], 7);
    let program =
        linear.compile(&(&x, &numbers([k, n], 8), &Tensor::<f32, 2>::zeros([m, n])), &RunConfig::new()).unwrap();
    let worker = ChipWorker::new(RunOptions::default()).unwrap();
    let mut w = worker.upload(&DynamicTensor::from(&numbers([k, n], 8))).unwrap();
    let mut y = worker.alloc_tensor(pypto::ir::DType::F32, &[m, n]).unwrap();
    for step in 0..12 {
        let seed = 8 + step / 5;
        if step % 5 == 0 {
            worker.copy_to_device(&DynamicTensor::from(&numbers([k, n], seed)), &mut w).unwrap();
        }
        worker.run(program.artifact(), (&x, &w, &mut y)).unwrap();
        let found = worker.download(&y).unwrap().into_tensor::<f32, 2>().unwrap();
        assert!(bits(&found) == result!(linear, &x, &numbers([k, n], seed), [m, n]), "{step}");
    }
}
