//! Programs compute the same bits before and after the host pipeline.

use super::kernels::*;
use crate::ir::interpreter::{Options, run_function};
use crate::ir::*;
use crate::ops::OpKind;
use crate::ops::rules::RuleError;
use crate::passes::pipeline;
use crate::passes::split_columns::split_columns;
use crate::passes::tensor_tiling::Limits;

/// Limits so small that small programs are cut.
const SMALL: Limits = Limits {
    threads: 2,
    block_bytes: 2 << 10,
    small_bytes: 256,
    nested_bytes: 4 << 10,
    remakes: true,
    whole_rows: false,
    copies_factors: true,
};

/// Contents of every tensor parameter after a run, `rows` standing for the run-time extent.
fn run(program: &Program, rows: i64) -> Vec<Vec<f32>> {
    let entry = program.entry_function();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut tensors: Vec<Vec<f32>> = Vec::new();
    for param in &entry.params {
        let Type::Tensor(ty) = entry.ty(param.value) else { continue };
        let count: i64 = ty.dims.iter().map(|d| d.constant().unwrap_or(rows)).product();
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f32) / (1u64 << 22) as f32 - 2.0
        };
        tensors.push((0..count).map(|_| random()).collect());
    }
    let mut next = tensors.iter_mut();
    let words: Vec<u64> =
        entry
            .params
            .iter()
            .map(|p| {
                if p.role == ParamRole::Tensor { next.next().map_or(0, |t| t.as_mut_ptr() as u64) } else { rows as u64 }
            })
            .collect();
    // SAFETY: the words are addresses of vectors of the extents that the types state, alive and used by this call alone.
    unsafe { run_function(program, program.entry, &words, Options { checked: false, nan: false }) }
        .unwrap_or_else(|e| panic!("{e}\n{program}"));
    tensors
}

/// Runs a program before and after the passes.
fn check(program: Program, rows: &[i64]) {
    let mut lowered = program.clone();
    pipeline::host(&mut lowered, &SMALL).unwrap();
    if let Err(errors) = crate::ir::verifier::verify(&lowered) {
        panic!("{errors:#?}\n{lowered}");
    }
    for m in rows {
        let (before, after) = (run(&program, *m), run(&lowered, *m));
        let bits =
            |all: &[Vec<f32>]| all.iter().map(|t| t.iter().map(|x| x.to_bits()).collect()).collect::<Vec<Vec<u32>>>();
        assert!(bits(&before) == bits(&after), "rows {m}: results differ\n{lowered}");
    }
}

const RAGGED: [i64; 5] = [0, 1, 7, 64, 131];

#[test]
fn loops_over_tiles() {
    check(softmax(-1, 40, 16), &RAGGED);
    check(softmax(100, 37, 16), &[0]);
}

#[test]
fn elementwise_over_whole_tensors() {
    let params: [Declared<'_>; 4] = [
        ("a", &[-1, 50], Direction::In),
        ("b", &[-1, 50], Direction::In),
        ("c", &[1, 50], Direction::In),
        ("y", &[-1, 50], Direction::InOut),
    ];
    let program = tensor_level(&params, |b, t| {
        let sum = b.binary(OpKind::Add, t[0], t[1], at(2))?;
        let row = b.unary(OpKind::Exp, t[2], at(2))?;
        b.binary(OpKind::Mul, sum, row, at(2))
    });
    check(program, &RAGGED);
}

#[test]
fn reductions_of_both_kinds() {
    let params: [Declared<'_>; 2] = [("x", &[-1, 70], Direction::In), ("y", &[-1, 70], Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let sum = b.unary(OpKind::RowSum, t[0], at(2))?;
        let x = b.binary(OpKind::Sub, t[0], sum, at(3))?;
        let column = b.unary(OpKind::ColSum, x, at(4))?;
        let max = b.unary(OpKind::ColMax, t[0], at(4))?;
        let z = b.binary(OpKind::Sub, x, column, at(5))?;
        b.binary(OpKind::Max, z, max, at(5))
    });
    check(program, &RAGGED);
}

#[test]
fn chains_of_products() {
    let params: [Declared<'_>; 5] = [
        ("x", &[-1, 24], Direction::In),
        ("w1", &[24, 40], Direction::In),
        ("b1", &[1, 40], Direction::In),
        ("w2", &[40, 24], Direction::In),
        ("y", &[-1, 24], Direction::InOut),
    ];
    let program = tensor_level(&params, |b, t| {
        let h = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))?;
        let h = b.binary(OpKind::Add, h, t[2], at(3))?;
        let h = b.unary(OpKind::Tanh, h, at(4))?;
        b.matmul(OpKind::Matmul, &[h, t[3]], false, false, at(5))
    });
    check(program, &RAGGED);
}

#[test]
fn attention_over_whole_tensors() {
    let params: [Declared<'_>; 4] = [
        ("x", &[-1, 16], Direction::In),
        ("w", &[16, 16], Direction::In),
        ("v", &[-1, 16], Direction::In),
        ("y", &[-1, 16], Direction::InOut),
    ];
    let program = tensor_level(&params, |b, t| {
        let q = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))?;
        let k = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, true, at(3))?;
        let k = b.unary(OpKind::Transpose, k, at(4))?;
        let s = b.matmul(OpKind::Matmul, &[q, k], false, false, at(5))?;
        let max = b.unary(OpKind::RowMax, s, at(6))?;
        let e = b.binary(OpKind::Sub, s, max, at(7))?;
        let e = b.unary(OpKind::Exp, e, at(7))?;
        let sum = b.unary(OpKind::RowSum, e, at(7))?;
        let o = b.matmul(OpKind::Matmul, &[e, t[2]], false, false, at(8))?;
        b.binary(OpKind::Div, o, sum, at(8))
    });
    check(program, &[1, 7, 65]);
}

#[test]
fn batches_vectors_and_few_rows() {
    let params: [Declared<'_>; 3] =
        [("a", &[3, 20, 16], Direction::In), ("b", &[3, 20, 16], Direction::In), ("y", &[3, 20, 20], Direction::InOut)];
    let batched = tensor_level(&params, |b, t| {
        let s = b.matmul(OpKind::Matmul, &[t[0], t[1]], false, true, at(2))?;
        let sum = b.unary(OpKind::RowSum, s, at(4))?;
        b.binary(OpKind::Div, s, sum, at(5))
    });
    check(batched, &[0]);
    let params: [Declared<'_>; 2] = [("x", &[-1], Direction::In), ("y", &[-1], Direction::InOut)];
    check(tensor_level(&params, |b, t| b.unary(OpKind::Exp, t[0], at(2))), &[0, 1, 5, 1000, 4099]);
    let params: [Declared<'_>; 3] =
        [("x", &[3, 32], Direction::In), ("w", &[32, 700], Direction::In), ("y", &[3, 700], Direction::InOut)];
    check(tensor_level(&params, |b, t| b.matmul(OpKind::Matmul, &[t[0], t[1]], false, false, at(2))), &[0]);
}

#[test]
fn sources_that_are_overwritten() {
    let params: [Declared<'_>; 2] = [("x", &[40, 40], Direction::InOut), ("y", &[40, 40], Direction::InOut)];
    let program = program(vec![function("flip", FunctionKind::Opaque, &params, |b, t| {
        let zero = b.index(0, at(2));
        let zeros = [zero, zero];
        let x = b.load_all(t[0], at(2))?;
        let flipped = b.unary(OpKind::Transpose, x, at(2))?;
        b.store(flipped, t[0], &zeros, None, at(2))?;
        // `x` as it was, after its tensor has changed.
        let y = b.binary(OpKind::Add, x, flipped, at(3))?;
        b.store(y, t[1], &zeros, None, at(3))?;
        let again = b.load_all(t[0], at(4))?;
        let product = b.matmul(OpKind::Matmul, &[y, again], false, false, at(4))?;
        b.store(product, t[0], &zeros, None, at(4))?;
        let part = b.load(t[0], &[zero, zero], &[20.into(), 40.into()], None, at(5))?;
        let twenty = b.index(20, at(5));
        b.store(part, t[0], &[twenty, zero], None, at(5))
    })]);
    check(program, &[0]);
}

#[test]
fn parts_of_large_values() {
    let params: [Declared<'_>; 2] = [("x", &[-1, 60], Direction::In), ("y", &[-1, 60], Direction::InOut)];
    let program = tensor_level(&params, |b, t| {
        let m = b.tile_type(t[0]).unwrap().dims[0];
        let (zero, thirty) = (b.index(0, at(2)), b.index(30, at(2)));
        let e = b.unary(OpKind::Exp, t[0], at(2))?;
        let left = b.slice(e, &[zero, zero], &[m, 30.into()], at(3))?;
        let right = b.slice(t[0], &[zero, thirty], &[m, 30.into()], at(3))?;
        let swapped = b.concat(right, left, 1, at(4))?;
        let middle = b.binary(OpKind::Add, left, right, at(5))?;
        b.assemble(swapped, middle, &[zero, zero], at(5))
    });
    check(program, &RAGGED);
}

/// A tile made before a loop and a scalar taken out of a tile are used by later kernels.
#[test]
fn values_cross_kernels() {
    let params: [Declared<'_>; 2] = [("x", &[-1, 32], Direction::In), ("y", &[-1, 32], Direction::InOut)];
    let program = program(vec![function("cross", FunctionKind::Opaque, &params, |b, t| {
        let Type::Tensor(ty) = b.ty(t[0]).clone() else { return Ok(()) };
        let m = b.extent_value(ty.dims[0], at(1));
        let zero = b.index(0, at(2));
        let scale = b.load(t[0], &[zero, zero], &[1.into(), 32.into()], None, at(2))?;
        let scale = b.unary(OpKind::Exp, scale, at(2))?;
        let sum = b.unary(OpKind::RowSum, scale, at(3))?;
        let first = b.element(sum, &[zero, zero], at(3))?;
        let one = b.element(t[0], &[zero, zero], at(3))?;
        let factor = b.binary(OpKind::Add, first, one, at(3))?;
        each(b, LoopKind::Auto, m, 8, |b, i| {
            let x = b.load(t[0], &[i, zero], &[8.into(), 32.into()], None, at(4))?;
            let x = b.binary(OpKind::Mul, x, scale, at(4))?;
            let x = b.binary(OpKind::Div, x, factor, at(4))?;
            b.store(x, t[1], &[i, zero], None, at(4))
        })
    })]);
    check(program, &[1, 7, 64, 131]);
}

/// Calls of kernels in a parallel loop, compute beside them, and a loop in order around parallel ones.
#[test]
fn orchestrations() {
    let rows: [Declared<'_>; 2] = [("x", &[8, 32], Direction::In), ("y", &[8, 32], Direction::InOut)];
    let double = function("double", FunctionKind::InCore, &rows, |b, t| {
        let x = b.load_all(t[0], at(1))?;
        let y = b.binary(OpKind::Add, x, x, at(1))?;
        let zero = b.index(0, at(1));
        b.store(y, t[1], &[zero, zero], None, at(1))
    });
    let params: [Declared<'_>; 2] = [("x", &[64, 32], Direction::In), ("y", &[64, 32], Direction::InOut)];
    let entry = function("run", FunctionKind::Orchestration, &params, |b, t| {
        let (zero, upper) = (b.index(0, at(2)), b.index(64, at(2)));
        let temporary = b.alloc(DType::F32, &[64.into(), 32.into()], at(2))?;
        each(b, LoopKind::Parallel, upper, 8, |b, i| {
            let from = b.view(t[0], &[i, zero], &[8.into(), 32.into()], at(3))?;
            let to = b.view(temporary, &[i, zero], &[8.into(), 32.into()], at(3))?;
            b.call("double", &[from, to], &[], Vec::new(), false, at(3));
            Ok(())
        })?;
        let three = b.index(3, at(4));
        each(b, LoopKind::Sequential, three, 1, |b, _| {
            let x = b.load_all(temporary, at(5))?;
            let sum = b.unary(OpKind::ColSum, x, at(5))?;
            let x = b.binary(OpKind::Div, x, sum, at(5))?;
            b.store(x, temporary, &[zero, zero], None, at(5))
        })?;
        let x = b.load_all(temporary, at(6))?;
        let x = b.unary(OpKind::Exp, x, at(6))?;
        b.store(x, t[1], &[zero, zero], None, at(6))
    });
    check(program(vec![entry, double]), &[0]);
}

/// A sequential loop that carries tiles over blocks of K, with an accumulating product.
#[test]
fn carried_tiles() {
    let params: [Declared<'_>; 3] =
        [("a", &[-1, 96], Direction::In), ("b", &[96, 40], Direction::In), ("c", &[-1, 40], Direction::InOut)];
    let program = program(vec![function("blocked", FunctionKind::Opaque, &params, |b, t| {
        let Type::Tensor(ty) = b.ty(t[0]).clone() else { return Ok(()) };
        let m = b.extent_value(ty.dims[0], at(1));
        let (zero, step, k) = (b.index(0, at(2)), b.index(32, at(2)), b.index(96, at(2)));
        let nought = b.literal_of(crate::ops::fold::Literal::Float(0.0), DType::F32, at(2))?;
        each(b, LoopKind::Auto, m, 16, |b, i| {
            let acc = b.full(nought, &[16.into(), 40.into()], at(3))?;
            let head = crate::ir::builder::ForLoop {
                kind: LoopKind::Pipeline(2),
                lower: zero,
                upper: k,
                step,
                initial: vec![acc],
                index_name: None,
                names: Vec::new(),
                loc: at(4),
            };
            let acc = b.for_loop::<RuleError>(&head, |b, j, carried| {
                let x = b.load(t[0], &[i, j], &[16.into(), 32.into()], None, at(5))?;
                let y = b.load(t[1], &[j, zero], &[32.into(), 40.into()], None, at(5))?;
                let product = b.matmul(OpKind::Matmul, &[x, y], false, false, at(5))?;
                Ok(vec![b.binary(OpKind::Add, carried[0], product, at(5))?])
            })?[0];
            b.store(acc, t[2], &[i, zero], None, at(6))
        })
    })]);
    check(program, &RAGGED);
}

/// Columns of the widest tile that an operation makes.
fn widest(block: &Block, function: &Function) -> i64 {
    let own = |op: &Op| {
        let tiles = op.results.iter().filter_map(|v| function.ty(*v).as_tile());
        let columns = tiles.filter_map(|t| t.dims.last()?.constant()).max().unwrap_or(0);
        op.regions.iter().map(|region| widest(region, function)).fold(columns, i64::max)
    };
    block.ops.iter().map(own).max().unwrap_or(0)
}

/// A sum has one more level of partial sums then: results differ in the last bits.
#[test]
fn long_rows_are_computed_in_blocks_of_columns() {
    for width in [32, 64, 100] {
        let program = softmax(7, 300, 4);
        let mut cut = program.clone();
        for function in &mut cut.functions {
            assert!(split_columns(function, width));
            assert!(widest(&function.body, function) <= width, "{function}");
        }
        if let Err(errors) = crate::ir::verifier::verify(&cut) {
            panic!("{errors:#?}\n{cut}");
        }
        let (before, after) = (run(&program, 7), run(&cut, 7));
        for (a, b) in before.iter().flatten().zip(after.iter().flatten()) {
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} and {b}\n{cut}");
        }
    }
}

/// The second pass over the rows would read what the first one wrote.
#[test]
fn rows_that_are_overwritten_stay_whole() {
    let text = r#"program "p" entry @f
fn @f incore (%0 "x": tensor<f32>[4, 300] inout) {
  %1: i64 = constant() {value = 0, dtype = i64}
  %2: tile<f32>[4, 300] = load(%0, %1, %1)
  %3: tile<f32>[4, 1] = row_max(%2)
  %4: tile<f32>[4, 300] = sub(%2, %3)
  store(%4, %0, %1, %1)
}
"#;
    let mut program = crate::ir::text::parse(text, "p").unwrap();
    assert!(!split_columns(&mut program.functions[0], 64));
}
