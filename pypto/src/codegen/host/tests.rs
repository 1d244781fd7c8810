//! Compiles small kernels for every target, and runs them where this machine can: each operation against plain Rust.

use super::cpu::{Isa, Target};
use super::harness::{call, load, runnable};
use super::lir::{Bin, Builder, Cmp, Elem, Module, Reduce, Type, Un, Value};

/// A module whose kernel `k` maps W-lane vectors: `y[i] = f(x[i], z[i])` over args (x, z, y, n).
fn map(target: Target, from: Elem, f: impl Fn(&mut Builder<'_>, Value, Value) -> Value) -> Module {
    let mut module = Module::new(target);
    module.kernel("k", |b| {
        let (x, z, y, n) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_ptr(2), b.arg_i64(3));
        let zero = b.index(0);
        b.lanes_loop(zero, n, 1, &[vec![]], |b, i, tail, _| {
            let (u, v) = (b.load_vec(from, x, i, None, tail.mask()), b.load_vec(from, z, i, None, tail.mask()));
            let out = f(b, u, v);
            b.store_vec(out, y, i, None, tail.mask());
            vec![]
        });
    });
    module
}

fn run_map<A: Copy, B: Copy + Default>(module: &Module, x: &[A], z: &[A]) -> Vec<B> {
    let image = load(module);
    let mut y = vec![B::default(); x.len()];
    let args = [x.as_ptr() as u64, z.as_ptr() as u64, y.as_mut_ptr() as u64, x.len() as u64];
    call(&image, "k", &args, (0, 0), &mut []);
    y
}

fn special_floats() -> Vec<f32> {
    let mut values =
        vec![0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -0.3, 127.5, 128.0, 255.9, 256.0, -128.9, -129.0];
    values.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -1e-40]);
    values.extend([
        2147483648.0,
        -2147483648.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        65504.0,
        65519.9,
        65520.0,
        8388607.5,
        6e-8,
        3e-8,
        5.97e-8,
    ]);
    let mut bits = 12345u32;
    values.extend((0..400).map(|_| {
        bits = bits.wrapping_mul(1664525).wrapping_add(1013904223);
        f32::from_bits(bits)
    }));
    values
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn check_f32(name: &str, build: impl Fn(&mut Builder<'_>, Value, Value) -> Value, expect: impl Fn(f32, f32) -> f32) {
    let x = special_floats();
    let z: Vec<f32> = x.iter().rev().copied().collect();
    for target in runnable() {
        let y: Vec<f32> = run_map(&map(target, Elem::F32, &build), &x, &z);
        for i in 0..x.len() {
            let want = expect(x[i], z[i]);
            assert!(
                same(y[i], want),
                "{name} on {}: f({}, {}) = {} instead of {want}",
                target.isa.name(),
                x[i],
                z[i],
                y[i]
            );
        }
    }
}

#[test]
fn float_arithmetic_is_ieee() {
    check_f32("add", |b, x, z| b.add(x, z), |x, z| x + z);
    check_f32("div", |b, x, z| b.div(x, z), |x, z| x / z);
    check_f32("sqrt", |b, x, _| b.sqrt(x), |x, _| x.sqrt());
    check_f32("neg", |b, x, _| b.neg(x), |x, _| -x);
    check_f32("abs", |b, x, _| b.abs(x), |x, _| x.abs());
    let max: fn(f32, f32) -> f32 = |a, b| {
        if a.is_nan() || b.is_nan() {
            f32::NAN
        } else if a < b {
            b
        } else {
            a
        }
    };
    let min: fn(f32, f32) -> f32 = |a, b| {
        if a.is_nan() || b.is_nan() {
            f32::NAN
        } else if a > b {
            b
        } else {
            a
        }
    };
    check_f32("max", |b, x, z| b.max(x, z), max);
    check_f32("min", |b, x, z| b.min(x, z), min);
    // Of all, with x and z in every pair of places among numbers in between.
    for count in 2..=7 {
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            let places = |x: f32, z: f32| {
                let mut all = vec![0.25f32; count];
                (all[i], all[j]) = (x, z);
                all
            };
            let vectors = |b: &mut Builder<'_>, x: Value, z: Value| {
                let between = b.f32(0.25);
                let mut all = vec![b.splat(between); count];
                (all[i], all[j]) = (x, z);
                all
            };
            let of_all = |bin: Bin, name: &str, of_two: fn(f32, f32) -> f32| {
                let build = |b: &mut Builder<'_>, x, z| {
                    let all = vectors(b, x, z);
                    b.extreme(bin, &all)
                };
                let fold = |x, z| places(x, z).into_iter().reduce(of_two).unwrap_or(f32::NAN);
                check_f32(&format!("{name} of {count}, {i} and {j}"), build, fold);
            };
            of_all(Bin::Max, "max", max);
            of_all(Bin::Min, "min", min);
        }
    }
}

#[test]
fn rounding_to_integral() {
    check_f32("rint", |b, x, _| b.rint(x), |x, _| x.round_ties_even());
    check_f32("floor", |b, x, _| b.un(Un::Floor, x), |x, _| x.floor());
    check_f32("ceil", |b, x, _| b.un(Un::Ceil, x), |x, _| x.ceil());
    check_f32("trunc", |b, x, _| b.un(Un::Trunc, x), |x, _| x.trunc());
}

#[test]
fn comparisons_of_floats() {
    let ops: [(Cmp, fn(f32, f32) -> bool); 6] = [
        (Cmp::Eq, |x, z| x == z),
        (Cmp::Ne, |x, z| x != z),
        (Cmp::Lt, |x, z| x < z),
        (Cmp::Le, |x, z| x <= z),
        (Cmp::Gt, |x, z| x > z),
        (Cmp::Ge, |x, z| x >= z),
    ];
    for (cmp, expect) in ops {
        let build = |b: &mut Builder<'_>, x, z| {
            let holds = b.cmp(cmp, x, z);
            let (one, two) = (b.f32(1.0), b.f32(2.0));
            b.select(holds, one, two)
        };
        check_f32(cmp.mnemonic(), build, |x, z| if expect(x, z) { 1.0 } else { 2.0 });
    }
}

fn check_cast<T: Copy + Default + PartialEq + std::fmt::Debug>(to: Elem, signed: bool, expect: impl Fn(f32) -> T) {
    let x = special_floats();
    for target in runnable() {
        let y: Vec<T> = run_map(&map(target, Elem::F32, |b, x, _| b.convert(x, true, to, signed)), &x, &x);
        for i in 0..x.len() {
            assert_eq!(y[i], expect(x[i]), "{} to {to} on {}", x[i], target.isa.name());
        }
    }
}

#[test]
fn casts_from_float_saturate() {
    check_cast(Elem::I8, true, |x| x as i8);
    check_cast(Elem::I8, false, |x| x as u8);
    check_cast(Elem::I16, true, |x| x as i16);
    check_cast(Elem::I16, false, |x| x as u16);
    check_cast(Elem::I32, true, |x| x as i32);
    check_cast(Elem::I32, false, |x| x as u32);
    check_cast(Elem::I64, true, |x| x as i64);
}

#[test]
fn casts_to_short_floats_round_to_even() {
    let finite = |bits: u16, nan: bool| if nan { 0xffff } else { bits };
    let x: Vec<f32> = special_floats().into_iter().filter(|x| !x.is_nan()).collect();
    for target in runnable() {
        let half: Vec<u16> = run_map(&map(target, Elem::F32, |b, x, _| b.convert(x, true, Elem::F16, true)), &x, &x);
        let brain: Vec<u16> = run_map(&map(target, Elem::F32, |b, x, _| b.convert(x, true, Elem::BF16, true)), &x, &x);
        for i in 0..x.len() {
            assert_eq!(
                finite(half[i], false),
                half::f16::from_f32(x[i]).to_bits(),
                "{} to f16 on {}",
                x[i],
                target.isa.name()
            );
            assert_eq!(brain[i], half::bf16::from_f32(x[i]).to_bits(), "{} to bf16 on {}", x[i], target.isa.name());
        }
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let wide: Vec<f32> = run_map(&map(target, Elem::F16, |b, x, _| b.widen(x)), &all, &all);
        let brain: Vec<f32> = run_map(&map(target, Elem::BF16, |b, x, _| b.widen(x)), &all, &all);
        for i in 0..all.len() {
            assert!(same(wide[i], half::f16::from_bits(all[i]).to_f32()), "f16 {:#x} on {}", all[i], target.isa.name());
            assert!(same(brain[i], half::bf16::from_bits(all[i]).to_f32()), "bf16 {:#x}", all[i]);
        }
    }
}

#[test]
fn integers_wrap_and_shift_by_masked_amounts() {
    let x: Vec<i32> = vec![0, 1, -1, i32::MAX, i32::MIN, 7, -8, 33, 100, -100, 12345, 3, 5, 31, 32, -33, 1 << 20];
    let z: Vec<i32> = x.iter().rev().copied().collect();
    let ops: [(Bin, fn(i32, i32) -> i32); 10] = [
        (Bin::Add, |x, z| x.wrapping_add(z)),
        (Bin::Mul, |x, z| x.wrapping_mul(z)),
        (Bin::Min, |x, z| x.min(z)),
        (Bin::Umax, |x, z| (x as u32).max(z as u32) as i32),
        (Bin::Xor, |x, z| x ^ z),
        (Bin::Shl, |x, z| x.wrapping_shl(z as u32)),
        (Bin::Ashr, |x, z| x.wrapping_shr(z as u32)),
        (Bin::Lshr, |x, z| (x as u32).wrapping_shr(z as u32) as i32),
        (Bin::Sub, |x, z| x.wrapping_sub(z)),
        (Bin::And, |x, z| x & z),
    ];
    for target in runnable() {
        for (op, expect) in ops {
            let y: Vec<i32> = run_map(&map(target, Elem::I32, |b, x, z| b.bin(op, x, z)), &x, &z);
            let want: Vec<i32> = x.iter().zip(&z).map(|(&x, &z)| expect(x, z)).collect();
            assert_eq!(y, want, "{}", op.mnemonic());
        }
    }
}

#[test]
fn division_stops_at_bad_divisors() {
    for target in runnable() {
        let module = map(target, Elem::I32, |b, x, z| b.checked_div(Bin::Sdiv, x, z, None, 9));
        let image = load(&module);
        // Whole vectors: the lanes of a tail that are not there would need the mask that `map` does not hand on.
        let twice = |numbers: [i32; 8]| [numbers, numbers].concat();
        let x = twice([7, -7, i32::MIN, 5, 100, -9, 8, 1]);
        let run = |z: [i32; 8]| {
            let z = twice(z);
            let mut y = vec![0i32; x.len()];
            let args = [x.as_ptr() as u64, z.as_ptr() as u64, y.as_mut_ptr() as u64, x.len() as u64];
            (call(&image, "k", &args, (0, 0), &mut []), y)
        };
        let (status, y) = run([2, 2, 2, -5, 3, 4, 8, 1]);
        assert_eq!((status, y), (0, twice([3, -3, i32::MIN / 2, -1, 33, -2, 1, 1])));
        for divisors in [[0, 2, 1, -5, 3, 4, 8, 1], [1, 2, -1, -5, 3, 4, 8, 1]] {
            let (status, y) = run(divisors);
            assert_eq!((status, y[0]), (9, 0), "nothing is stored after a bad divisor");
        }
    }
}

#[test]
fn row_sum_follows_the_contract() {
    for target in runnable() {
        let mut module = Module::new(target);
        module.kernel("k", |b| {
            let (x, y, n) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_i64(2));
            let (zero, none) = (b.index(0), b.vf32(0.0));
            let parts = b.partials();
            let sums = b.lanes_loop(zero, n, parts, &vec![vec![none]; parts], |b, i, tail, acc| {
                let v = b.load_vec(Elem::F32, x, i, None, tail.mask());
                vec![b.add(acc[0], v)]
            });
            let total = b.reduce_partials(Reduce::Add, &sums.concat());
            b.store(total, y, zero);
        });
        let image = load(&module);
        for n in [0usize, 1, 5, 31, 32, 33, 100, 257] {
            let x: Vec<f32> = (0..n).map(|i| ((i * 7919 % 1000) as f32 - 500.0) * 0.37).collect();
            let mut acc = [0f32; 32];
            x.iter().enumerate().for_each(|(j, v)| acc[j % 32] += v);
            for h in [16, 8, 4, 2, 1] {
                (0..h).for_each(|i| acc[i] += acc[i + h]);
            }
            let mut y = [f32::NAN];
            call(&image, "k", &[x.as_ptr() as u64, y.as_mut_ptr() as u64, n as u64], (0, 0), &mut []);
            assert_eq!(y[0].to_bits(), acc[0].to_bits(), "n = {n} on {}", target.isa.name());
        }
    }
}

#[test]
fn strided_access_and_transposition() {
    for target in runnable() {
        let mut module = Module::new(target);
        module.kernel("k", |b| {
            let (x, y, n, stride) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_i64(2), b.arg_i64(3));
            let zero = b.index(0);
            b.lanes_loop(zero, n, 1, &[vec![]], |b, i, tail, _| {
                let at = b.mul(i, stride);
                let v = b.load_vec(Elem::F32, x, at, Some(stride), tail.mask());
                b.store_vec(v, y, at, Some(stride), tail.mask());
                vec![]
            });
        });
        let lanes = target.lanes;
        module.kernel("transpose", |b| {
            let (x, y) = (b.arg_ptr(0), b.arg_ptr(1));
            let rows = (0..lanes).map(|i| {
                let at = b.index((i * lanes) as i64);
                b.load(Type::VF32, x, at)
            });
            let rows = rows.collect::<Vec<_>>();
            for (i, row) in b.transpose(&rows).into_iter().enumerate() {
                let at = b.index((i * lanes) as i64);
                b.store(row, y, at);
            }
        });
        let image = load(&module);
        let x: Vec<f32> = (0..300).map(|i| i as f32).collect();
        let mut y = vec![-1f32; 300];
        call(&image, "k", &[x.as_ptr() as u64, y.as_mut_ptr() as u64, 29, 7], (0, 0), &mut []);
        assert!((0..300).all(|i| y[i] == if i % 7 == 0 && i < 29 * 7 { i as f32 } else { -1.0 }));
        call(&image, "transpose", &[x.as_ptr() as u64, y.as_mut_ptr() as u64], (0, 0), &mut []);
        assert!((0..lanes * lanes).all(|i| y[i] == (i % lanes * lanes + i / lanes) as f32));
    }
}

#[test]
fn lanes_are_swapped_and_masks_are_bits() {
    let x: Vec<i32> = (0..64).map(|i| i * 37 % 64).collect();
    for target in runnable() {
        for distance in (0..target.lanes as u32).filter(|d| d.count_ones() != 2) {
            let y: Vec<i32> = run_map(&map(target, Elem::I32, |b, x, _| b.swap(x, distance)), &x, &x);
            assert!((0..64).all(|i| y[i] == x[i ^ distance as usize]), "distance {distance} on {}", target.isa.name());
        }
        let y: Vec<i32> = run_map(
            &map(target, Elem::I32, |b, x, _| {
                let limit = b.int(Elem::I32, 20);
                let below = b.cmp(Cmp::Lt, x, limit);
                let bits = b.mask_bits(below);
                let first = b.trailing_zeros(bits);
                let both = b.add(bits, first);
                let both = b.resize(both, Elem::I32, false);
                b.splat(both)
            }),
            &x,
            &x,
        );
        for (x, y) in x.chunks(target.lanes).zip(y.chunks(target.lanes)) {
            let bits = x.iter().enumerate().map(|(i, x)| i64::from(*x < 20) << i).sum::<i64>();
            assert!(y.iter().all(|y| i64::from(*y) == bits + i64::from(bits.trailing_zeros())));
        }
    }
}

#[test]
fn pairs_order_as_integers() {
    let one = 0x3ffu64 << 52;
    let x: Vec<u64> = (0..64u64).map(|i| one | (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12)).collect();
    let z: Vec<u64> = x.iter().rev().map(|bits| bits ^ 1).chain([one, one | ((1 << 52) - 1)]).skip(2).collect();
    for target in runnable() {
        let smaller: Vec<u64> = run_map(&map(target, Elem::I64, |b, x, z| b.pair_min(x, z)), &x, &z);
        let larger: Vec<u64> = run_map(&map(target, Elem::I64, |b, x, z| b.pair_max(x, z)), &x, &z);
        for i in 0..x.len() {
            assert_eq!((smaller[i], larger[i]), (x[i].min(z[i]), x[i].max(z[i])), "on {}", target.isa.name());
        }
    }
}

/// By an instruction and by arithmetic on the parts.
#[test]
fn parts_of_words_are_multiplied_and_added() {
    let words: Vec<u32> = (0..4096u32).map(|i| i.wrapping_mul(0x9e37_79b1) ^ 0x8000).chain([0x8000_8000; 8]).collect();
    let halves = |word: u32| [word as u16 as i16, (word >> 16) as i16].map(i32::from);
    let others: Vec<u32> = words.iter().rev().map(|word| word.rotate_left(7)).collect();
    let brain = |bits: u16| f32::from_bits(u32::from(bits & 0x80ff | 0x3f00) << 16);
    let normal: Vec<u32> = words.iter().map(|word| word & 0x80ff_80ff | 0x3f00_3f00).collect();
    for target in runnable()
        .into_iter()
        .flat_map(|t| [t, Target { integer_pairs: false, bf16_pairs: false, byte_quads: false, ..t }])
    {
        let dot = map(target, Elem::I32, |b, x, z| b.pair_dot(x, z, x));
        for (i, sum) in run_map::<u32, i32>(&dot, &words, &others).into_iter().enumerate() {
            let ([x, y], [z, w]) = (halves(words[i]), halves(others[i]));
            let want = (words[i] as i32).wrapping_add(x.wrapping_mul(z)).wrapping_add(y.wrapping_mul(w));
            assert_eq!(sum, want, "{:#x} {:#x} on {}", words[i], others[i], target.isa.name());
        }
        let dot = map(target, Elem::I32, |b, x, z| b.quad_dot(x, z, x));
        for (i, sum) in run_map::<u32, i32>(&dot, &words, &others).into_iter().enumerate() {
            let bytes = words[i].to_le_bytes().into_iter().zip(others[i].to_le_bytes());
            let products = bytes.map(|(x, z)| i32::from(x) * i32::from(z as i8)).sum::<i32>();
            assert_eq!(sum, products.wrapping_add(words[i] as i32), "{:#x} {:#x}", words[i], others[i]);
        }
        if !target.fma {
            continue;
        }
        let dot = map(target, Elem::I32, |b, x, z| {
            let sum = b.vf32(0.37);
            b.pair_dot(x, z, sum)
        });
        for (i, sum) in run_map::<u32, f32>(&dot, &normal, &normal).into_iter().enumerate() {
            let [low, high] = [normal[i] as u16, (normal[i] >> 16) as u16].map(brain);
            let want = low.mul_add(low, high.mul_add(high, 0.37));
            assert_eq!(sum.to_bits(), want.to_bits(), "{:#x} on {}", normal[i], target.isa.name());
        }
    }
}

#[test]
fn control_flow_and_helpers_with_results() {
    for target in runnable() {
        let mut module = Module::new(target);
        module.kernel("k", |b| {
            let (y, n) = (b.arg_ptr(0), b.arg_i64(1));
            // Collatz steps by a while loop around an if.
            let zero = b.index(0);
            let out = b.while_loop(
                &[n, zero],
                |b, c| {
                    let one = b.index(1);
                    b.cmp(Cmp::Gt, c[0], one)
                },
                |b, c| {
                    let (one, two) = (b.index(1), b.index(2));
                    let odd = b.and(c[0], one);
                    let is_odd = b.cmp(Cmp::Eq, odd, one);
                    let next = b.if_else(
                        is_odd,
                        |b| {
                            let three = b.index(3);
                            let t = b.mul(c[0], three);
                            let one = b.index(1);
                            vec![b.add(t, one)]
                        },
                        |b| vec![b.sdiv(c[0], two)],
                    );
                    vec![next[0], b.add(c[1], one)]
                },
            );
            let pair = [Type::INDEX, Type::INDEX];
            let swapped = b.call("swap", &pair, &pair, &out, |_, p| vec![p[1], p[0]]);
            b.store(swapped[0], y, zero);
            let (begin, end) = (b.begin(), b.end());
            b.for_each(begin, end, 1, |b, i| b.store(i, y, i));
        });
        let image = load(&module);
        let mut y = [0i64; 8];
        assert_eq!(call(&image, "k", &[y.as_mut_ptr() as u64, 27], (3, 6), &mut []), 0);
        assert_eq!(y, [111, 0, 0, 3, 4, 5, 0, 0]);
    }
}

#[test]
fn every_target_compiles_every_operation() {
    for isa in Isa::ALL {
        let target = Target::of(isa);
        let module = map(target, Elem::F16, |b, x, z| {
            let (x, z) = (b.widen(x), b.widen(z));
            let (v, w) = (b.max(x, z), b.floor(x));
            let v = b.fma(v, w, z);
            let whole = b.convert(v, true, Elem::I8, true);
            let back = b.convert(whole, true, Elem::BF16, true);
            let back = b.widen(back);
            let words = b.bitcast(back, Elem::I32);
            let (back, words) = (b.pair_dot(words, words, back), b.pair_dot(words, words, words));
            let words = b.quad_dot(words, words, words);
            let words = b.bitcast(words, Elem::F32);
            let back = b.add(back, words);
            b.convert(back, true, Elem::F16, true)
        });
        let text = super::compile::compile_assembly(&module).unwrap();
        assert!(text.contains("k:"), "{}", isa.name());
        for routine in ["fmaf", "truncsf", "extendhf", "floorf"] {
            assert!(!text.contains(routine), "{} calls {routine}", isa.name());
        }
    }
}

#[test]
fn compiled_functions_give_the_bits_of_the_scalar_ones() {
    use crate::ops::math::MathFn;
    let x: Vec<f32> = (0..u32::MAX).step_by(100_003).map(f32::from_bits).chain(special_floats()).collect();
    for target in runnable().into_iter().filter(|t| t.fma) {
        for function in MathFn::ALL {
            let y: Vec<f32> = run_map(&map(target, Elem::F32, |b, x, _| b.math(function, x)), &x, &x);
            for (x, y) in x.iter().zip(y) {
                let want = function.eval(*x);
                assert!(same(y, want), "{function:?}({x:?}) = {y:?} instead of {want:?} on {}", target.isa.name());
            }
            let module = map(target, Elem::F32, |b, x, _| b.math_at_most_zero(function, x));
            let y: Vec<f32> = run_map(&module, &x, &x);
            for (x, y) in x.iter().zip(y).filter(|(x, _)| **x <= 0.0 || x.is_nan()) {
                assert!(same(y, function.eval(*x)), "{function:?}({x:?}) = {y:?} on {}", target.isa.name());
            }
        }
    }
}

#[test]
fn damaged_objects_are_errors() {
    use super::loader::{Image, LoadError};
    let module = map(Target::host(), Elem::F32, |b, x, _| b.math(crate::ops::math::MathFn::Exp, x));
    let object = super::compile::compile_object(&module).unwrap();
    assert!(Image::load(&object).is_ok());
    assert_eq!(Image::load(b"not an object").err(), Some(LoadError::Damaged("it ends early")));
    assert_eq!(Image::load(&[0; 100]).err(), Some(LoadError::WrongMachine));
    // Loading must not panic or touch memory outside, whatever the bytes; the code is never run.
    for length in (0..object.len()).step_by(7) {
        let _ = Image::load(&object[..length]);
    }
    let mut bits = 1u32;
    for _ in 0..4000 {
        let mut bad = object.clone();
        for _ in 0..4 {
            bits = bits.wrapping_mul(1664525).wrapping_add(1013904223);
            let at = bits as usize % bad.len();
            bad[at] = (bits >> 16) as u8;
        }
        let _ = Image::load(&bad);
    }
}
