//! Results do not depend on how many threads there are, nor on who else calls at the same time.

use pypto::kernels;
use pypto::prelude::*;

fn numbers<const R: usize>(shape: [i64; R], seed: u32) -> Tensor<f32, R> {
    let mut state = seed;
    Tensor::from_fn(shape, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    })
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

#[pypto::jit]
fn sums(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, 1)]
    rows: &mut Tensor<f32, 2>,
    #[out]
    #[shape(1, N)]
    columns: &mut Tensor<f32, 2>,
) {
    rows.set(x.row_sum());
    columns.set(x.col_sum());
}

#[pypto::jit]
fn tally(
    #[shape(N)] x: &Tensor<i32, 1>,
    #[shape(N)] weights: &Tensor<i32, 1>,
    #[shape(BINS)] bins: &mut Tensor<i32, 1>,
    #[shape(BINS, 2)] pairs: &mut Tensor<i32, 2>,
) {
    for i in 0..N {
        let bin = x.get([i]) as i64;
        bins.put([bin], bins.get([bin]) + 1);
    }
    for i in range(3, N, 2) {
        let bin = x.get([i]) as i64;
        pairs.put([bin, i % 2], weights.get([i]) * 3 + pairs.get([bin, i % 2]));
    }
}

/// Iterations depend on one another: what is added is an element of the same tensor.
#[pypto::jit]
fn chained(#[shape(N)] x: &Tensor<i32, 1>, #[shape(BINS)] bins: &mut Tensor<i32, 1>) {
    for i in 0..N {
        let bin = x.get([i]) as i64;
        bins.put([bin], bins.get([bin]) + bins.get([0]));
    }
}

const THREADS: [usize; 4] = [1, 2, 3, 7];

/// The bits that a call gives on each number of threads, which must be the same.
fn same_bits(what: &str, call: impl Fn(&RunConfig) -> Vec<f32>) {
    let bits = |threads| -> Vec<u32> {
        call(&RunConfig::new().with_threads(threads)).iter().map(|value| value.to_bits()).collect()
    };
    let first = bits(THREADS[0]);
    for threads in &THREADS[1..] {
        assert!(bits(*threads) == first, "{what} on {threads} threads");
    }
}

#[test]
fn parts_of_a_loop_that_counts_are_added_up() {
    let n = 20_011i64;
    let x = Tensor::from_fn([n], |[i]| (i * i % 37) as i32);
    let weights = Tensor::from_fn([n], |[i]| (i as i32).wrapping_mul(0x1234_5677));
    let start = (Tensor::from_fn([37], |[i]| i as i32), Tensor::from_fn([37, 2], |[i, j]| (i - j) as i32));
    let (mut expected, mut sums) = (start.0.to_vec(), start.1.to_vec());
    x.to_vec().iter().for_each(|bin| expected[*bin as usize] += 1);
    for i in (3..n).step_by(2) {
        let sum = &mut sums[2 * x.get([i]) as usize + 1];
        *sum = sum.wrapping_add(weights.get([i]).wrapping_mul(3));
    }
    let mut chain = start.0.to_vec();
    chain[0] = 1;
    x.to_vec().iter().for_each(|bin| chain[*bin as usize] = chain[*bin as usize].wrapping_add(chain[0]));
    for threads in THREADS {
        let mut bins = start.0.clone();
        bins.put([0], 1);
        let compiled = chained.compile(&(&x, &bins), &RunConfig::new().with_threads(threads)).unwrap();
        compiled.call((&x, &mut bins)).unwrap();
        assert_eq!(bins.to_vec(), chain, "{threads} threads");
        let (mut bins, mut pairs) = start.clone();
        let compiled = tally.compile(&(&x, &weights, &bins, &pairs), &RunConfig::new().with_threads(threads)).unwrap();
        compiled.call((&x, &weights, &mut bins, &mut pairs)).unwrap();
        assert_eq!((bins.to_vec(), pairs.to_vec()), (expected.clone(), sums.clone()), "{threads} threads");
    }
}

#[test]
fn results_have_the_same_bits_on_any_number_of_threads() {
    let (a, b) = (numbers([300, 700], 1), numbers([700, 260], 2));
    same_bits("a product", |config| {
        let mut c = Tensor::zeros([300, 260]);
        product.compile(&(&a, &b, &c), config).unwrap().call((&a, &b, &mut c)).unwrap();
        c.to_vec()
    });
    same_bits("sums", |config| {
        let (mut rows, mut columns) = (Tensor::zeros([300, 1]), Tensor::zeros([1, 700]));
        sums.compile(&(&a, &rows, &columns), config).unwrap().call((&a, &mut rows, &mut columns)).unwrap();
        [rows.to_vec(), columns.to_vec()].concat()
    });
    same_bits("softmax", |config| {
        let mut y = Tensor::zeros([300, 700]);
        kernels::softmax::<f32>.compile(&(&a, &y), config).unwrap().call((&a, &mut y)).unwrap();
        y.to_vec()
    });
    let [q, k, v] = [3, 4, 5].map(|seed| numbers([1, 2, 130, 32], seed));
    let lengths = Tensor::from_vec(vec![130], [1]);
    same_bits("attention", |config| {
        let mut o = Tensor::zeros([1, 2, 130, 32]);
        let compiled = kernels::attention::<f32>.compile(&(&q, &k, &v, &lengths, &o), config).unwrap();
        compiled.call((&q, &k, &v, &lengths, &mut o)).unwrap();
        o.to_vec()
    });
}

#[test]
fn calls_from_several_threads_at_once_are_right() {
    let (a, b) = (numbers([300, 700], 1), numbers([700, 260], 2));
    let mut expected = Tensor::zeros([300, 260]);
    product(&a, &b, &mut expected).unwrap();
    let (a, b) = (a.to_vec(), b.to_vec());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // A call whose pool is taken by another one runs on its own thread.
                let (a, b) = (Tensor::view_of(&a, [300, 700]), Tensor::view_of(&b, [700, 260]));
                let mut c = Tensor::zeros([300, 260]);
                for _ in 0..20 {
                    c.set(0.0);
                    product(&a, &b, &mut c).unwrap();
                    assert!(c.as_slice() == expected.as_slice());
                }
            });
        }
    });
}

#[pypto::jit]
fn fixed(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [16, 512]) {
        y.store(at, x.load(at).exp());
    }
}

#[pypto::jit]
fn open(
    #[shape(dyn M, dyn N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, dyn N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [16, 512]) {
        y.store(at, x.load(at).exp());
    }
}

/// The estimate of an iteration decides whether a second thread gets some of them. A kernel for any extents must be cut as
/// one for these extents is: its tiles are as large.
#[test]
fn work_of_unknown_extents_is_worth_as_many_threads() {
    let x = Tensor::<f32, 2>::meta([64, 1024]);
    let cost = |compiled: pypto::jit::Compiled| compiled.artifact().executable().kernels[0].cost;
    let config = RunConfig::new();
    let known = cost(fixed.compile(&(&x, &x), &config).unwrap());
    let unknown = cost(open.compile(&(&x, &x), &config).unwrap());
    assert!((0.8..1.25).contains(&(unknown / known)), "{unknown} ns an iteration, and {known} where extents are known");
}
