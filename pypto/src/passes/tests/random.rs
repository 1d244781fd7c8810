//! Random kernels mean the same after every pass, and their text parses back equal.

use super::kernels::{at, function, program};
use crate::ir::builder::ForLoop;
use crate::ir::interpreter::{self, Options};
use crate::ir::text::{PrintOptions, canonicalize, parse, print};
use crate::ir::*;
use crate::ops::OpKind;
use crate::ops::fold::Literal;
use crate::ops::rules::RuleError;
use crate::passes::list::{self, PassContext};
use crate::passes::pipeline::PassPipeline;
use crate::passes::tensor_tiling::Limits;

const ROWS: i64 = 4;

/// A small generator of numbers (xorshift).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// What a random statement may use.
#[derive(Clone)]
struct Pool {
    tiles: Vec<ValueId>,
    index: ValueId,
    bound: ValueId,
}

/// Adds a few statements; the last value of the pool is the newest.
fn statements(b: &mut Builder, random: &mut Random, pool: &mut Pool, depth: usize) -> Result<(), RuleError> {
    for _ in 0..1 + random.below(4) {
        let (x, y) = (random.pick(&pool.tiles), random.pick(&pool.tiles));
        let new = match random.below(if depth > 0 { 9 } else { 6 }) {
            0 => b.unary(random.pick(&[OpKind::Neg, OpKind::Abs, OpKind::Relu, OpKind::Floor]), x, at(1))?,
            1 | 2 => {
                let kind = random.pick(&[OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Max, OpKind::Min]);
                b.binary(kind, x, y, at(2))?
            }
            3 => {
                let value = random.pick(&[0.0, -0.0, 1.0, 2.5, f64::INFINITY]);
                let scalar = b.literal_of(Literal::Float(value), DType::F32, at(3))?;
                b.binary(random.pick(&[OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Div]), x, scalar, at(3))?
            }
            4 => {
                let sum = b.unary(random.pick(&[OpKind::RowSum, OpKind::RowMax]), x, at(4))?;
                b.binary(OpKind::Sub, y, sum, at(4))?
            }
            5 => {
                let mask = b.binary(random.pick(&[OpKind::CmpLt, OpKind::CmpGe]), x, y, at(5))?;
                b.select(mask, x, y, at(5))?
            }
            6 => branch(b, random, pool, depth, (x, y))?,
            _ => repeat(b, random, pool, depth, x)?,
        };
        pool.tiles.push(new);
    }
    Ok(())
}

/// An `if` on the index or on constants, with a tile as its value.
fn branch(
    b: &mut Builder,
    random: &mut Random,
    pool: &Pool,
    depth: usize,
    (x, y): (ValueId, ValueId),
) -> Result<ValueId, RuleError> {
    let constant = b.index(random.below(9) as i64, at(6));
    let left = random.pick(&[pool.index, pool.bound, constant]);
    let condition = b.binary(random.pick(&[OpKind::CmpLt, OpKind::CmpEq]), left, constant, at(6))?;
    b.begin_if(condition, at(6))?;
    let mut inner = Pool { tiles: vec![x, y], ..pool.clone() };
    statements(b, random, &mut inner, depth - 1)?;
    b.begin_else(&inner.tiles[inner.tiles.len() - 1..])?;
    let mut inner = Pool { tiles: vec![y, x], ..pool.clone() };
    statements(b, random, &mut inner, depth - 1)?;
    Ok(b.end_if(&inner.tiles[inner.tiles.len() - 1..])?[0])
}

/// A loop that carries two tiles, of which one may never change.
fn repeat(b: &mut Builder, random: &mut Random, pool: &Pool, depth: usize, x: ValueId) -> Result<ValueId, RuleError> {
    let kind = random.pick(&[LoopKind::Sequential, LoopKind::Unroll, LoopKind::Sequential]);
    let end = random.below(4) as i64;
    let upper =
        if kind == LoopKind::Unroll { b.index(end, at(7)) } else { random.pick(&[pool.bound, b.index(end, at(7))]) };
    let (lower, step) = (b.index(0, at(7)), b.index(1 + random.below(2) as i64, at(7)));
    let (initial, names) = (vec![x, random.pick(&pool.tiles)], Vec::new());
    let head = ForLoop { kind, lower, upper, step, initial, index_name: None, names, loc: at(7) };
    let (start, swaps) = (random.clone(), random.below(3));
    let results = b.for_loop(&head, |b, index, carried| {
        let mut random = start.clone();
        let mut inner = Pool { tiles: carried.to_vec(), index, bound: pool.bound };
        statements(b, &mut random, &mut inner, depth - 1)?;
        let last = inner.tiles[inner.tiles.len() - 1];
        Ok::<_, RuleError>(match swaps {
            0 => vec![last, carried[1]],
            1 => vec![carried[1], last],
            _ => vec![carried[0], last],
        })
    })?;
    b.binary(OpKind::Add, results[0], results[1], at(8))
}

/// `y` computed from `a` and `b` in blocks of rows; `n` is a run-time scalar.
fn kernel(random: &mut Random, dims: [i64; 2]) -> Program {
    let params = [("a", &dims[..], Direction::In), ("b", &dims[..], Direction::In), ("y", &dims[..], Direction::InOut)];
    let main = function("main", FunctionKind::Opaque, &params, |b, t| {
        let n = b.param("n", Type::INDEX, Direction::In, ParamRole::Scalar, at(1));
        let (lower, upper, step) = (b.index(0, at(1)), b.index(dims[0], at(1)), b.index(ROWS, at(1)));
        let (initial, names, index_name) = (Vec::new(), Vec::new(), Some("i".to_owned()));
        let head = ForLoop { kind: LoopKind::Auto, lower, upper, step, initial, index_name, names, loc: at(1) };
        let (index, _) = b.begin_for(&head, &[])?;
        let shape = [ROWS.into(), dims[1].into()];
        let x = b.load(t[0], &[index, lower], &shape, None, at(1))?;
        let y = b.load(t[1], &[index, lower], &shape, None, at(1))?;
        let mut pool = Pool { tiles: vec![x, y], index, bound: n };
        statements(b, random, &mut pool, 3)?;
        b.store(pool.tiles[pool.tiles.len() - 1], t[2], &[index, lower], None, at(9))?;
        b.end_for(&[]).map(drop)
    });
    program(vec![main])
}

/// The bits of `y` after a run of the interpreter; NaN have one pattern.
fn run(program: &Program, dims: [i64; 2]) -> Vec<u32> {
    let count = (dims[0] * dims[1]) as usize;
    let special = [0.0, -0.0, f32::NAN, f32::INFINITY, 1.5];
    let a: Vec<f32> = (0..count).map(|i| if i % 7 == 3 { special[i % 5] } else { i as f32 * 0.25 - 3.0 }).collect();
    let b: Vec<f32> = (0..count).map(|i| 2.0 - (i * i % 11) as f32).collect();
    let mut y = vec![0.0f32; count];
    let words = [a.as_ptr() as u64, b.as_ptr() as u64, y.as_mut_ptr() as u64, 2];
    // SAFETY: the words are the addresses of three live tensors of the extents in the parameters' types, and a scalar.
    unsafe { interpreter::run_function(program, program.entry, &words, Options::default()) }
        .unwrap_or_else(|e| panic!("{e:?}\n{program}"));
    y.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn round_trips(program: &Program) {
    let text = print(program, PrintOptions::FULL);
    let mut canonical = program.clone();
    canonicalize(&mut canonical);
    let parsed = parse(&text, "text").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(parsed == canonical, "{text}");
}

#[test]
fn passes_keep_the_meaning() {
    for seed in 1..=150u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let dims = [random.pick(&[1, 3, 4, 8, 11]), random.pick(&[1, 4, 7])];
        let mut program = kernel(&mut random, dims);
        verify(&program).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{program}"));
        let expected = run(&program, dims);
        let context = PassContext { limits: Limits::for_threads(2) };
        let names: Vec<&str> = PassPipeline::host(context.limits).names().collect();
        for name in names {
            let pass = list::ALL.iter().find(|p| p.name == name).unwrap();
            let before = program.to_string();
            (pass.run)(&mut program, &context).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e:?}\n{before}"));
            verify(&program).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e:?}\n{before}\nafter\n{program}"));
            round_trips(&program);
            let found = run(&program, dims);
            assert!(found == expected, "seed {seed}, {name} changes the result\n{before}\nafter\n{program}");
        }
    }
}
