//! Round trips, and texts that are none.

use super::{PrintOptions, canonicalize, parse, print};
use crate::ir::builder::ForLoop;
use crate::ir::*;
use crate::ops::fold::Literal;
use crate::ops::{OpKind, rules::Request};

fn loc(line: u32) -> Loc {
    Loc::new(FileId::intern("kernel.rs"), line, 5, line, 20)
}

/// A ragged row-wise softmax with an accumulator, a branch and a `while`.
fn sample() -> Program {
    let mut b = Builder::new("softmax::<f32>", FunctionKind::InCore, loc(1));
    let m = b.param("M", Type::INDEX, Direction::In, ParamRole::Extent { param: 1, axis: 0 }, loc(1));
    let dims = vec![Extent::Value(m), Extent::Const(1024)];
    let strides = vec![Extent::Const(1024), Extent::Const(1)];
    let ty = Type::Tensor(TensorType { dtype: DType::F32, dims, strides });
    let x = b.param("x", ty.clone(), Direction::In, ParamRole::Tensor, loc(1));
    let y = b.param("y", ty, Direction::Out, ParamRole::Tensor, loc(1));
    let (zero, step) = (b.index(0, loc(2)), b.index(64, loc(2)));
    let nan = b.literal_of(Literal::Float(f64::NAN), DType::F32, loc(2)).unwrap();
    let minus_zero = b.literal_of(Literal::Float(-0.0), DType::F32, loc(2)).unwrap();
    let init = b.full(nan, &[64.into(), 1.into()], loc(2)).unwrap();
    let head = ForLoop {
        kind: LoopKind::Pipeline(2),
        lower: zero,
        upper: m,
        step,
        initial: vec![init],
        index_name: Some("i".to_owned()),
        names: vec![Some("acc \"quoted\"\n".to_owned())],
        loc: loc(3),
    };
    let results = b
        .for_loop::<crate::ops::rules::RuleError>(&head, |b, i, carried| {
            let t = b.load(x, &[i, zero], &[64.into(), 1024.into()], None, loc(4))?;
            let max = b.unary(OpKind::RowMax, t, loc(5))?;
            let acc = b.binary(OpKind::Max, carried[0], max, loc(6))?;
            let shifted = b.binary(OpKind::Sub, t, acc, loc(7))?;
            b.store(shifted, y, &[i, zero], None, loc(8))?;
            Ok(vec![acc])
        })
        .unwrap();
    let first = b.element(results[0], &[zero, zero], loc(9)).unwrap();
    let positive = b.binary(OpKind::CmpGt, first, minus_zero, loc(10)).unwrap();
    b.begin_if(positive, loc(10)).unwrap();
    b.begin_else(&[results[0]]).unwrap();
    let results = b.end_if(&[init]).unwrap();
    b.emit(OpKind::Exp, &results, Attrs::new(), &Request::none(), loc(11)).unwrap();
    let function = b.finish(vec![]).unwrap();
    Program { name: "sample".to_owned(), functions: vec![function], entry: 0 }
}

#[test]
fn what_is_printed_parses_back_equal() {
    let mut program = sample();
    let text = print(&program, PrintOptions::FULL);
    let parsed = parse(&text, "text").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(print(&parsed, PrintOptions::FULL), text);
    canonicalize(&mut program);
    assert_eq!(parsed, program);
    assert_eq!(print(&program, PrintOptions::FULL), text);
}

#[test]
fn text_without_locations_is_located_in_itself() {
    let text = print(&sample(), PrintOptions::BRIEF);
    let parsed = parse(&text, "dump.pto.ir").unwrap();
    assert_eq!(print(&parsed, PrintOptions::BRIEF), text);
    assert_eq!(parsed.functions[0].loc.to_string(), "dump.pto.ir:3:1");
}

#[test]
fn reads_well() {
    insta::assert_snapshot!(sample().to_string(), @r#"
    program "sample" entry @"softmax::<f32>"

    fn @"softmax::<f32>" incore (%0 "M": i64 in extent(1, 0), %1 "x": tensor<f32>[%0, 1024] in, %2 "y": tensor<f32>[%0, 1024] out) {
      %3: i64 = constant() {value = 0, dtype = i64}
      %4: i64 = constant() {value = 64, dtype = i64}
      %5: f32 = constant() {value = nan(0x7ff8000000000000), dtype = f32}
      %6: f32 = constant() {value = -0.0, dtype = f32}
      %7: tile<f32>[64, 1] = full(%5)
      %8: i64 = constant() {value = 1024, dtype = i64}
      %9 "acc \"quoted\"\n": tile<f32>[64, 1; %10, 1], %10: i64 = for(%3, %0, %4, %7, %4) {loop = pipeline(2)} do (%11 "i": i64, %12 "acc \"quoted\"\n": tile<f32>[64, 1; %13, 1], %13: i64) {
        %14: i64 = sub(%0, %11)
        %15: i64 = min(%4, %14)
        %16: tile<f32>[64, 1024; %15, 1024] = load(%1, %11, %3)
        %17: tile<f32>[64, 1; %15, 1] = row_max(%16)
        %18: i64 = min(%13, %15)
        %19: tile<f32>[64, 1; %18, 1] = max(%12, %17)
        %20: tile<f32>[64, 1024; %18, 1024] = sub(%16, %19)
        store(%20, %2, %11, %3)
        yield %19, %18
      }
      %21: f32 = extract(%9, %3, %3)
      %22: bool = cmp_gt(%21, %6)
      %23: tile<f32>[64, 1; %24, 1], %24: i64 = if(%22) do () {
        yield %9, %10
      } do () {
        yield %7, %4
      }
      %25: tile<f32>[64, 1; %24, 1] = exp(%23)
    }
    "#);
}

#[test]
fn special_floats_keep_their_bits() {
    for x in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-310, f64::MAX, 0.1] {
        let attr = Attr::Float(x);
        let mut program = sample();
        program.functions[0].body.ops[0].attrs.set(AttrKey::Value, attr.clone());
        let parsed = parse(&print(&program, PrintOptions::FULL), "text").unwrap();
        assert_eq!(parsed.functions[0].body.ops[0].attrs.get(AttrKey::Value), Some(&attr));
    }
}

#[test]
fn errors_say_where() {
    let cases = [
        ("program", "1:8: expected a text, found the end of the text"),
        ("program \"p\" entry @f", "1:19: the program has no function `f`"),
        ("program \"p\" entry @f\nfn @f incore () {\n  store(%7)\n}", "3:9: `%7` is not defined in this function"),
        ("program \"p\" entry @f\nfn @f incore () {\n  stor()\n}", "3:3: there is no operation `stor`"),
        ("program \"p\" entry @f\nfn @f incore (%0: i64 in, %0: i64 in) {}", "2:27: `%0` is defined twice"),
        ("program \"p\" entry @f\nfn @f incore (%0: f64 in) {}", "2:19: expected a type, found `f64`"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text, "text").unwrap_err().to_string(), expected);
    }
}

/// Damaged text gives an error or a program, never a panic.
#[test]
fn damaged_text_does_not_panic() {
    let text = print(&sample(), PrintOptions::FULL);
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let pieces =
        ["%", "\"", "do", "{", "}", "(", ")", "[", "-", "0x", "nan(", "99999999999999999999", "fn", "yield", "e"];
    for _ in 0..3000 {
        let mut damaged: Vec<char> = text.chars().collect();
        for _ in 0..1 + random(4) {
            let (at, end) = (random(damaged.len()), random(40));
            match random(3) {
                0 => drop(damaged.drain(at..(at + end).min(damaged.len()))),
                1 => damaged.splice(at..at, pieces[random(pieces.len())].chars()).for_each(drop),
                _ => damaged.truncate(at),
            }
            if damaged.is_empty() {
                break;
            }
        }
        let damaged: String = damaged.into_iter().collect();
        if let Ok(program) = parse(&damaged, "text") {
            print(&program, PrintOptions::FULL);
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("program \"p\" entry @f\nfn @f incore () {{ {}", "if() do () {".repeat(100_000));
    assert!(parse(&text, "text").unwrap_err().message.contains("nested deeper"));
}
