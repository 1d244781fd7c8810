//! Text round trip, folding, value numbering, and the verifier's complaints.

use super::*;
use crate::codegen::host::cpu::{Isa, Target};

fn sample(isa: Isa) -> Module {
    let mut module = Module::new(Target::of(isa));
    module.kernel("sample", |b| {
        let (x, y, n) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_i64(2));
        let scale = b.arg_scalar(3, Elem::F32);
        let zero = b.index(0);
        let none = b.vf32(0.0);
        let sums = b.lanes_loop(zero, n, 2, &[vec![none], vec![none]], |b, i, tail, carried| {
            let v = b.load_vec(Elem::F32, x, i, None, tail.mask());
            let v = b.fma(v, scale, carried[0]);
            b.store_vec(v, y, i, Some(n), tail.mask());
            let words = b.load_words(Elem::I32, x, i, tail.mask());
            let words = b.quad_dot(words, words, words);
            let v = b.pair_dot(words, words, v);
            vec![v]
        });
        let sum = b.add(sums[0][0], sums[1][0]);
        let total = b.reduce_lanes(Reduce::Add, sum);
        let wild = b.is_nan(total);
        b.fail_if(wild, 7);
        let last = b.while_loop(
            &[n],
            |b, c| {
                let one = b.index(1);
                b.cmp(Cmp::Gt, c[0], one)
            },
            |b, c| {
                let two = b.index(2);
                vec![b.sdiv(c[0], two)]
            },
        );
        let doubled = b.call("twice", &[Type::INDEX], &[Type::INDEX], &last, |b, p| vec![b.add(p[0], p[0])]);
        b.store(doubled[0], y, n);
    });
    module
}

#[test]
fn text_round_trips() {
    for isa in Isa::ALL {
        let module = sample(isa);
        verify(&module).unwrap();
        let text = print_module(&module);
        let back = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify(&back).unwrap();
        assert_eq!(print_module(&back), text);
    }
}

#[test]
fn constants_fold_and_equal_values_are_shared() {
    let mut module = Module::new(Target::of(Isa::Avx2));
    module.kernel("k", |b| {
        let n = b.arg_i64(0);
        let (two, three) = (b.index(2), b.index(3));
        let six = b.mul(two, three);
        assert_eq!(b.as_const(six), Some(6));
        let zero = b.index(0);
        assert_eq!(b.add(zero, n), n);
        assert_eq!(b.add(n, six), b.add(six, n));
        assert_eq!(b.mul(n, zero), zero);
    });
}

#[test]
fn verifier_rejects_bad_modules() {
    let bad = [
        ("kernel @k(%0: ptr) -> () {\n yield\n}", "entry signature"),
        ("helper @h(%0: i64) -> (i64) {\n yield\n}", "yields the wrong types"),
        ("helper @h(%0: i64, %1: f32) -> () {\n %2: i64 = add %0, %1\n yield\n}", "do not fit"),
        ("helper @h(%0: f16) -> () {\n %2: f16 = add %0, %0\n yield\n}", "do not fit"),
        ("helper @h(%0: v<i32>, %1: v<i16>) -> () {\n %2: v<i32> = pair_dot %0, %1, %0\n yield\n}", "do not fit"),
        ("helper @h(%0: ptr, %1: i64) -> () {\n %2: i32 = load.loose %0, %1\n yield\n}", "do not fit"),
        ("helper @h(%0: i64) -> () {\n call.g %0\n yield\n}", "not defined before"),
    ];
    for (text, message) in bad {
        let module = parse_module(&format!("lir target avx2\n{text}")).unwrap();
        let error = verify(&module).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_value_does_not_outlive_its_block() {
    let text = "lir target avx2\nhelper @h(%0: i1, %1: i64) -> (i64) {\n if %0 () {\n %2: i64 = mul %1, %1\n yield\n } () {\n yield\n }\n \
                yield %2\n}";
    let module = parse_module(text).unwrap();
    assert!(verify(&module).unwrap_err().message.contains("does not reach"));
}

#[test]
fn parser_reports_the_line() {
    let error = parse_module("lir target avx2\nhelper @h(%0: i64) -> () {\n %1: i64 = frob %0\n yield\n}").unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (3, "unknown operation `frob`"));
}
