//! Programs that are grouped by `#[pypto::program]` print and parse back to themselves after every pass, and the verifier
//! accepts each of them. The example programs go through the same in `examples_three_ways`.

use pypto::frontend::Specialization;
use pypto::frontend::generic::{Callable, Callee};
use pypto::ir::text::{PrintOptions, canonicalize, parse, print};
use pypto::jit::Samples;
use pypto::prelude::*;
use pypto_tests::stages::stages;

#[pypto::program]
mod grouped {
    use pypto::prelude::*;

    #[pypto::function(inline)]
    pub fn gelu(t: Tile<f32>) -> Tile<f32> {
        0.5 * t * (1.0 + (t * std::f32::consts::FRAC_1_SQRT_2).erf())
    }

    #[pypto::function(incore)]
    pub fn scale(
        #[shape(R, N)] x: &Tensor<f32, 2>,
        s: f32,
        #[out]
        #[shape(R, N)]
        y: &mut Tensor<f32, 2>,
    ) {
        y.set(gelu(x.load_all() * s));
    }

    #[pypto::function(incore)]
    pub fn project(
        #[shape(R, K)] x: &Tensor<f32, 2>,
        #[shape(K, N)] w: &Tensor<f32, 2>,
        #[out]
        #[shape(R, N)]
        y: &mut Tensor<f32, 2>,
    ) {
        y.set(matmul(x, w));
    }

    #[pypto::jit(orchestration, meta(ROWS = 16))]
    pub fn entry(
        #[shape(dyn M, 24)] x: &Tensor<f32, 2>,
        #[shape(24, 40)] w: &Tensor<f32, 2>,
        s: f32,
        #[out]
        #[shape(dyn M, 40)]
        y: &mut Tensor<f32, 2>,
    ) {
        let mut h = Tensor::temp([M, 24]);
        for r in parallel(range(0, M - ROWS + 1, ROWS)) {
            #[task(first)]
            scale(&x.rows(r, ROWS), s, &mut h.rows_mut(r, ROWS));
            #[task(second, after = [first])]
            project(&h.rows(r, ROWS), w, &mut y.rows_mut(r, ROWS));
        }
        let rest = M % ROWS;
        if rest > 0 {
            scale(&x.rows(M - rest, rest), s, &mut h.rows_mut(M - rest, rest));
            project(&h.rows(M - rest, rest), w, &mut y.rows_mut(M - rest, rest));
        }
    }
}

/// Control flow, elements and rows by index.
#[pypto::program(entry = collatz)]
mod searching {
    use pypto::prelude::*;

    #[pypto::jit]
    pub fn collatz(
        #[shape(N)] start: &Tensor<i64, 1>,
        #[shape(R, D)] table: &Tensor<f32, 2>,
        #[shape(N, 1)] index: &Tensor<i32, 2>,
        limit: i64,
        #[out]
        #[shape(N)]
        steps: &mut Tensor<i64, 1>,
        #[out]
        #[shape(N, D)]
        rows: &mut Tensor<f32, 2>,
    ) {
        for i in 0..N {
            let mut n = start.get([i]);
            let mut count = 0;
            while n > 1 && count < limit {
                n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
                count += 1;
            }
            steps.put([i], count);
        }
        let picked = table.gather_rows(index.load_all());
        rows.set(picked.max(f32::MIN_POSITIVE).t().t());
    }

    #[pypto::jit]
    pub fn returned(#[shape(M, 7)] x: &Tensor<f16, 2>) -> (Tensor<f32, 2>, Tensor<i32, 2>) {
        let mut wide = Tensor::temp([M, 7]);
        let mut best = Tensor::temp([M, 1]);
        for at in tiles([M, 7], [8, 7]) {
            let t = x.load(at).cast::<f32>();
            wide.store(at, t);
            best.store([at.offset(0), 0], t.row_argmax());
        }
        (wide, best)
    }
}

fn round_trips<K: Callable>(samples: &impl Samples) -> Vec<String> {
    let Callee::Function(function) = K::callee() else { panic!("not a kernel") };
    let specialization = Specialization::for_call(function, &[], &samples.samples(), &[]).unwrap();
    stages(function, &specialization, 2).into_iter().map(|stage| stage.name).collect()
}

fn f32s<const R: usize>(dims: [i64; R]) -> TensorSpec {
    TensorSpec::new(pypto::ir::DType::F32, dims)
}

#[test]
fn an_orchestration_of_dynamic_rows() {
    for m in [0, 16, 37] {
        let names = round_trips::<grouped::entry>(&(f32s([m, 24]), f32s([24, 40]), 0.5f32, f32s([m, 40])));
        assert_eq!(names.first().map(String::as_str), Some("00 frontend"));
        assert!(names.len() > 10, "{names:?}");
    }
}

#[test]
fn loops_branches_and_indices() {
    let i64s = |n: i64| TensorSpec::new(pypto::ir::DType::I64, [n]);
    let index = TensorSpec::new(pypto::ir::DType::I32, [9, 1]);
    round_trips::<searching::collatz>(&(i64s(9), f32s([5, 3]), index, 100i64, i64s(9), f32s([9, 3])));
    round_trips::<searching::returned>(&(TensorSpec::new(pypto::ir::DType::F16, [19, 7]),));
}

#[test]
fn the_program_of_a_module() {
    let samples = (f32s([37, 24]), f32s([24, 40]), 0.5f32, f32s([37, 40]));
    let mut program = grouped::program_for(&samples).unwrap();
    canonicalize(&mut program);
    let text = print(&program, PrintOptions::FULL);
    assert_eq!(parse(&text, "dump").unwrap(), program);
    assert!(searching::program().is_err(), "no extent of its entry is stated");
}
