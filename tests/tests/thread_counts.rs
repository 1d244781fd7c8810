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
