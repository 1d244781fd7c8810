//! Products against a scalar loop with the same order of additions, bit for bit, and the shape of the micro-kernel's code.

mod words;

use super::*;
use crate::codegen::host::compile::compile_assembly;
use crate::codegen::host::cpu::Isa;
use crate::codegen::host::harness::{call, load, runnable};
use crate::codegen::host::lir::Module;
use crate::codegen::host::loader::Image;

/// How a factor lies in memory: strides as constants in the kernel (`None`: passed at run time).
#[derive(Clone, Copy, Debug)]
enum Lie {
    Rows,
    Columns,
    Strided,
}

/// Kernel `k` over args (a, b, c, bias, m, n, k, a strides, b strides, c stride); `known` are m, n, k and the strides, where they are
/// constants of the kernel.
fn module(
    target: Target,
    elems: [(Elem, bool); 2],
    lies: [Lie; 2],
    init: usize,
    known: Option<[usize; 7]>,
    most: [Option<i64>; 3],
    padded: bool,
) -> Module {
    let mut module = Module::new(target);
    module.kernel("k", |b| {
        let word = |b: &mut Builder<'_>, i: usize| match known {
            // Extents that have a bound vary.
            Some(words) if i > 6 || most[i - 4].is_none() => b.index(words[i - 4] as i64),
            _ => b.arg_i64(i),
        };
        let strides = |b: &mut Builder<'_>, lie: Lie, first: usize| {
            let one = b.index(1);
            match lie {
                Lie::Rows => [word(b, first), one],
                Lie::Columns => [one, word(b, first + 1)],
                Lie::Strided => [word(b, first), word(b, first + 1)],
            }
        };
        let operand = |b: &mut Builder<'_>, i: usize| {
            let [row_stride, col_stride] = strides(b, lies[i], 7 + 2 * i);
            Operand {
                ptr: b.arg_ptr(i),
                elem: elems[i].0,
                signed: elems[i].1,
                row_stride,
                col_stride,
                far: known.is_some_and(|words| words[1] > 8000),
            }
        };
        let (a, bb) = (operand(b, 0), operand(b, 1));
        let row = b.arg_ptr(3);
        let init = [Init::Zero, Init::Accumulate, Init::Bias(row), Init::Scaled(row)][init];
        let scratch = b.scratch();
        let gemm = Gemm {
            m: word(b, 4),
            n: word(b, 5),
            k: word(b, 6),
            most,
            padded,
            a,
            b: bb,
            panels: None,
            c: b.arg_ptr(2),
            c_stride: b.arg_i64(11),
            init,
            scratch,
        };
        emit(b, &gemm);
    });
    module
}

/// Words after the scratch memory that nothing may touch.
pub(super) const GUARD: usize = 1 << 16;

struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0 >> 8
    }

    fn float(&mut self) -> f32 {
        self.next() as f32 / (1 << 23) as f32 - 1.0
    }
}

const SHAPES: [[usize; 3]; 17] = [
    [0, 5, 3],
    [5, 0, 3],
    [5, 7, 0],
    [1, 1, 1],
    [1, 40, 300],
    [3, 17, 9],
    [5, 2100, 20],
    [6, 16, 8],
    [6, 16, 256],
    [7, 17, 257],
    [12, 32, 16],
    [13, 5, 31],
    [64, 64, 64],
    [97, 33, 65],
    [100, 50, 513],
    [25, 2050, 10],
    [31, 1, 77],
];

fn strides(lie: Lie, rows: usize, columns: usize) -> ([usize; 2], usize) {
    let strides = match lie {
        Lie::Rows => [columns + 3, 1],
        Lie::Columns => [1, rows + 2],
        Lie::Strided => [2 * columns + 1, 2],
    };
    (strides, rows * strides[0] + columns * strides[1] + 1)
}

/// Runs one product and compares with the reference; elements are made by `random` and read by `value`.
fn check<T: Copy>(
    target: Target,
    elem: (Elem, bool),
    lies: [Lie; 2],
    init: usize,
    random: impl Fn(&mut Random) -> T,
    value: impl Fn(T) -> f64,
) {
    let image = load(&module(target, [elem, elem], lies, init, None, [None; 3], false));
    for shape in SHAPES {
        check_shape(&image, target, elem, lies, init, shape, [shape[0], shape[1]], &random, &value);
    }
}

/// B, C and what is added have memory for as many rows and columns as `room` says.
fn check_shape<T: Copy>(
    image: &Image,
    target: Target,
    elem: (Elem, bool),
    lies: [Lie; 2],
    init: usize,
    shape: [usize; 3],
    room: [usize; 2],
    random: &impl Fn(&mut Random) -> T,
    value: &impl Fn(T) -> f64,
) {
    check_factors(image, target, elem, lies, init, shape, room, random, [value, value]);
}

/// With a reading of the elements of each factor.
fn check_factors<T: Copy>(
    image: &Image,
    target: Target,
    elem: (Elem, bool),
    lies: [Lie; 2],
    init: usize,
    [m, n, k]: [usize; 3],
    [rows, columns]: [usize; 2],
    random: &impl Fn(&mut Random) -> T,
    values: [&dyn Fn(T) -> f64; 2],
) {
    let float = elem.0.is_float();
    let mut rng = Random(m as u32 * 31 + n as u32 * 7 + k as u32);
    let (sa, size_a) = strides(lies[0], m, k);
    let (sb, size_b) = strides(lies[1], k, columns);
    let a: Vec<T> = (0..size_a).map(|_| random(&mut rng)).collect();
    let b: Vec<T> = (0..size_b).map(|_| random(&mut rng)).collect();
    let ldc = columns + 1;
    let word = |rng: &mut Random| if float { rng.float().to_bits() } else { rng.next() };
    let old: Vec<u32> = (0..rows * ldc + 1).map(|_| word(&mut rng)).collect();
    let bias: Vec<u32> = (0..columns).map(|_| word(&mut rng)).collect();
    let mut c = old.clone();
    let words = scratch_bytes(target, Some(n), Some(k)).div_ceil(8);
    let mut scratch = vec![u64::MAX; words + GUARD];
    let args = [
        a.as_ptr() as u64,
        b.as_ptr() as u64,
        c.as_mut_ptr() as u64,
        bias.as_ptr() as u64,
        m as u64,
        n as u64,
        k as u64,
        sa[0] as u64,
        sa[1] as u64,
        sb[0] as u64,
        sb[1] as u64,
        ldc as u64,
    ];
    call(image, "k", &args, (0, 0), &mut scratch);
    let beyond = scratch[words..].iter().position(|word| *word != u64::MAX);
    assert_eq!(beyond, None, "{m}x{n}x{k} {lies:?} on {}: writes beyond its scratch memory", target.isa.name());
    for at in 0..c.len() {
        let (i, j) = (at / ldc, at % ldc);
        let want = if i >= rows || j >= columns {
            old[at]
        } else if i >= m || j >= n {
            continue;
        } else {
            let scaled = (f32::from_bits(old[at]) * f32::from_bits(bias[j])).to_bits();
            let start = [None, Some(old[at]), Some(bias[j]), Some(scaled)][init];
            let pair = |x: usize| (values[0](a[i * sa[0] + x * sa[1]]), values[1](b[x * sb[0] + j * sb[1]]));
            reference(target.fma, float, start, k, pair)
        };
        let name = format!("{m}x{n}x{k} {lies:?} init {init} {elem:?} on {} at ({i}, {j})", target.isa.name());
        let [given, wanted] = [c[at], want].map(f32::from_bits);
        let is_same = c[at] == want || float && given.is_nan() && wanted.is_nan();
        assert!(is_same, "{name}: {given:?} instead of {wanted:?}, {:#x} and {want:#x}", c[at]);
    }
}

fn reference(fma: bool, float: bool, start: Option<u32>, k: usize, pair: impl Fn(usize) -> (f64, f64)) -> u32 {
    if !float {
        let sum =
            (0..k).map(pair).fold(0i32, |s, (x, y)| s.wrapping_add((x as i64 as i32).wrapping_mul(y as i64 as i32)));
        return sum.wrapping_add(start.unwrap_or(0) as i32) as u32;
    }
    let mut c = start.map(f32::from_bits);
    for block in (0..k).step_by(KC as usize) {
        let mut acc = 0f32;
        for x in block..k.min(block + KC as usize) {
            let (x, y) = pair(x);
            acc = if fma { (x as f32).mul_add(y as f32, acc) } else { x as f32 * y as f32 + acc };
        }
        c = Some(c.map_or(acc, |c| c + acc));
    }
    c.unwrap_or(0.0).to_bits()
}

/// Products of known extents in every layout of the factors; of extents that vary, where they have bounds.
fn check_known(shapes: &[[usize; 3]], most: [Option<i64>; 3], padded: bool) {
    for target in runnable() {
        for lies in LIES.iter().flat_map(|&a| LIES.map(|b| [a, b])) {
            for (&shape, init) in shapes.iter().zip([0, 1, 2, 3].into_iter().cycle()) {
                let [m, n, k] = shape;
                let room = if padded { [most[0], most[1]].map(|most| most.unwrap() as usize) } else { [m, n] };
                let (a, b) = (strides(lies[0], m, k).0, strides(lies[1], k, room[1]).0);
                let elem = (Elem::F32, true);
                let known = Some([m, n, k, a[0], a[1], b[0], b[1]]);
                let image = load(&module(target, [elem, elem], lies, init, known, most, padded));
                check_shape(&image, target, elem, lies, init, shape, room, &|r| r.float(), &|x: f32| f64::from(x));
            }
        }
    }
}

/// Those that are done in place: heights that are and are not sums of whole panels.
#[test]
fn small_products_in_every_layout() {
    check_known(
        &[[6, 16, 8], [64, 64, 64], [7, 16, 5], [8, 32, 3], [13, 64, 256], [9, 64, 1], [11, 32, 70], [16, 64, 33]],
        [None; 3],
        false,
    );
}

/// Extents that vary up to a bound, of which the largest are done in place.
#[test]
fn blocks_of_which_the_last_is_shorter() {
    let shapes = [[64, 32, 40], [64, 32, 39], [63, 32, 40], [1, 32, 40], [64, 5, 40], [64, 32, 0], [0, 32, 40]];
    check_known(&shapes, [Some(64), Some(32), Some(40)], false);
}

/// The same with memory for the largest, which are done in place too: last panels that are and are not whole, and steps that vary.
#[test]
fn blocks_with_room_for_the_largest() {
    let shapes = [[64, 32, 40], [64, 32, 39], [63, 32, 40], [1, 32, 40], [64, 5, 40], [64, 32, 0], [0, 32, 40]];
    for most_rows in [64, 66, 72] {
        check_known(&shapes, [Some(most_rows), Some(32), Some(40)], true);
    }
    check_known(&[[17, 64, 33], [64, 64, 1], [9, 33, 5], [8, 31, 64]], [Some(64); 3], true);
}

/// Few rows in groups that are and are not whole, columns and steps with and without a rest; and blocks without edges.
#[test]
fn what_is_known_of_extents_is_left_out() {
    check_known(
        &[[1, 64, 16], [1, 1056, 300], [2, 33, 40], [3, 2080, 8], [4, 1024, 7], [5, 544, 256], [16, 64, 264]],
        [None; 3],
        false,
    );
    // All sums in registers.
    check_known(
        &[[1, 64, 300], [2, 32, 70], [3, 32, 513], [1, 128, 257], [1, 96, 5], [2, 64, 8], [1, 32, 0], [3, 64, 1]],
        [None; 3],
        false,
    );
    // Sums in registers: one part of the steps and several, more columns than one block has.
    check_known(
        &[
            [4, 8224, 5],
            [8, 4128, 70],
            [9, 64, 129],
            [13, 96, 321],
            [16, 2080, 65],
            [11, 32, 192],
            [6, 64, 0],
            [7, 32, 1],
        ],
        [None; 3],
        false,
    );
    check_known(
        &[
            [7, 1000, 9],
            [48, 64, 512],
            [48, 70, 264],
            [50, 64, 260],
            [34, 64, 300],
            [64, 96, 264],
            [500, 32, 20],
            [24, 544, 24],
            [1, 1, 1],
            [3, 40, 0],
            [0, 33, 5],
            [1, 8224, 8],
            [1, 4100, 9],
            [2, 8224, 17],
            [2, 2500, 264],
            [3, 8200, 8],
            [3, 1025, 31],
        ],
        [None; 3],
        false,
    );
}

const LIES: [Lie; 3] = [Lie::Rows, Lie::Columns, Lie::Strided];

#[test]
fn f32_in_every_layout() {
    for target in runnable() {
        for a in LIES {
            for b in LIES {
                check(target, (Elem::F32, true), [a, b], 0, |r| r.float(), |x| x as f64);
            }
        }
    }
}

#[test]
fn initial_values() {
    for target in runnable() {
        check(target, (Elem::F32, true), [Lie::Columns, Lie::Rows], 3, |r| r.float(), |x| x as f64);
        for init in [1, 2] {
            check(target, (Elem::F32, true), [Lie::Rows, Lie::Rows], init, |r| r.float(), |x| x as f64);
            check(target, (Elem::I32, true), [Lie::Rows, Lie::Rows], init, |r| r.next() as i32 * 77, |x| x as f64);
        }
    }
}

#[test]
fn short_types_are_widened() {
    for target in runnable() {
        for lies in [[Lie::Rows, Lie::Rows], [Lie::Columns, Lie::Columns]] {
            let half = |r: &mut Random| half::f16::from_f32(r.float());
            check(target, (Elem::F16, true), lies, 0, half, |x| x.to_f64());
            let brain = |r: &mut Random| half::bf16::from_f32(r.float());
            check(target, (Elem::BF16, true), lies, 0, brain, |x| x.to_f64());
            check(target, (Elem::I8, true), lies, 0, |r| r.next() as i8, |x| x as f64);
            check(target, (Elem::I8, false), lies, 0, |r| r.next() as u8, |x| x as f64);
            check(target, (Elem::I16, true), lies, 0, |r| r.next() as i16, |x| x as f64);
        }
    }
}

/// Instructions of a function in assembly text.
fn function_lines<'a>(assembly: &'a str, name: &str) -> Vec<&'a str> {
    let body = assembly.lines().skip_while(|l| !l.starts_with(&format!("{name}:")));
    body.take_while(|l| !l.contains(".size") && !l.contains("func_end")).map(str::trim).collect()
}

/// With the left factor where it lies, and packed.
#[test]
fn micro_kernels_keep_their_sums_in_registers() {
    for (isa, left) in
        [Isa::Avx2, Isa::Avx512, Isa::Neon].into_iter().flat_map(|isa| [(isa, Lie::Rows), (isa, Lie::Columns)])
    {
        let target = Target::of(isa);
        let assembly =
            compile_assembly(&module(target, [(Elem::F32, true); 2], [left, Lie::Rows], 0, None, [None; 3], false))
                .unwrap();
        let suffix = if matches!(left, Lie::Rows) { "_rows" } else { "" };
        let name = kernel::name(super::words::Step::One(Elem::F32)) + suffix;
        let lines = function_lines(&assembly, &name);
        let multiplications = lines.iter().filter(|l| l.starts_with("vfmadd") || l.starts_with("fmla")).count();
        // Those of the main loop, and one step in the rest.
        let steps = kernel::STEPS as usize + 1;
        assert_eq!(multiplications, target.mr * target.nr_vectors * steps, "{name} on {}", isa.name());
        let spills = lines.iter().filter(|l| (l.contains("ymm") || l.contains("zmm")) && l.contains("(%rsp)")).count();
        assert_eq!(spills, 0, "{name} on {}", isa.name());
    }
}
