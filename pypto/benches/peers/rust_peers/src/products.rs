//! Products of matrices, row-major, into memory that exists.

use gemm::{Parallelism, gemm};
use half::f16;
use ndarray::Array2;
use ndarray::linalg::general_mat_mul;

use crate::{Contender, normal};

/// Rows, inner extent and columns of a case.
pub fn extents(case: &str) -> Option<(usize, usize, usize)> {
    let words = case.strip_prefix("matmul ")?;
    let numbers: Option<Vec<usize>> = words.split(" x ").map(|word| word.parse().ok()).collect();
    match numbers?[..] {
        [n] => Some((n, n, n)),
        [m, k, n] => Some((m, k, n)),
        _ => None,
    }
}

/// The crates that can do a case.
pub fn prepare(case: &str, threads: usize) -> Vec<Contender> {
    if case == "matmul f16 1024" {
        return vec![of_f16(1024, threads)];
    }
    let Some((m, k, n)) = extents(case) else { return Vec::new() };
    vec![with_gemm(m, k, n, threads), with_matrixmultiply(m, k, n), with_faer(m, k, n, threads), with_ndarray(m, k, n)]
}

fn parallelism(threads: usize) -> Parallelism {
    if threads == 1 { Parallelism::None } else { Parallelism::Rayon(threads) }
}

/// `c = a b` of row-major matrices.
fn multiply<T: 'static>(
    (m, k, n): (usize, usize, usize),
    [a, b]: [&[T]; 2],
    c: &mut [T],
    [zero, one]: [T; 2],
    threads: usize,
) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (inner, row) = (k as isize, n as isize);
    // SAFETY: row-major matrices of these lengths, `c` exclusively borrowed.
    unsafe {
        gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            row,
            false,
            a.as_ptr(),
            1,
            inner,
            b.as_ptr(),
            1,
            row,
            zero,
            one,
            false,
            false,
            false,
            parallelism(threads),
        );
    }
}

fn with_gemm(m: usize, k: usize, n: usize, threads: usize) -> Contender {
    let (a, b, mut c) = (normal(m * k, 1), normal(k * n, 2), vec![0.0f32; m * n]);
    Contender::new("gemm", move || {
        multiply((m, k, n), [&a, &b], &mut c, [0.0, 1.0], threads);
        Ok(())
    })
}

fn of_f16(n: usize, threads: usize) -> Contender {
    let [a, b] = [1, 2].map(|seed| normal(n * n, seed).into_iter().map(f16::from_f32).collect::<Vec<_>>());
    let mut c = vec![f16::ZERO; n * n];
    Contender::new("gemm", move || {
        multiply((n, n, n), [&a, &b], &mut c, [f16::ZERO, f16::ONE], threads);
        Ok(())
    })
}

/// It takes the number of threads from `MATMUL_NUM_THREADS`.
fn with_matrixmultiply(m: usize, k: usize, n: usize) -> Contender {
    let (a, b, mut c) = (normal(m * k, 1), normal(k * n, 2), vec![0.0f32; m * n]);
    Contender::new("matrixmultiply", move || {
        let (inner, row) = (k as isize, n as isize);
        // SAFETY: row-major matrices of these extents, `c` exclusively borrowed.
        unsafe {
            matrixmultiply::sgemm(m, k, n, 1.0, a.as_ptr(), inner, 1, b.as_ptr(), row, 1, 0.0, c.as_mut_ptr(), row, 1);
        }
        Ok(())
    })
}

fn with_faer(m: usize, k: usize, n: usize, threads: usize) -> Contender {
    use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
    let (a, b, mut c) = (normal(m * k, 1), normal(k * n, 2), vec![0.0f32; m * n]);
    Contender::new("faer", move || {
        let (a, b) = (MatRef::from_row_major_slice(&a, m, k), MatRef::from_row_major_slice(&b, k, n));
        let c = MatMut::from_row_major_slice_mut(&mut c, m, n);
        matmul(c, Accum::Replace, a, b, 1.0f32, if threads == 1 { Par::Seq } else { Par::rayon(threads) });
        Ok(())
    })
}

fn with_ndarray(m: usize, k: usize, n: usize) -> Contender {
    let of = |rows, columns, seed| {
        Array2::from_shape_fn((rows, columns), {
            let values = normal(rows * columns, seed);
            move |(i, j)| values[i * columns + j]
        })
    };
    let (a, b, mut c) = (of(m, k, 1), of(k, n, 2), Array2::<f32>::zeros((m, n)));
    Contender::new("ndarray", move || {
        general_mat_mul(1.0, &a, &b, 0.0, &mut c);
        Ok(())
    })
}
