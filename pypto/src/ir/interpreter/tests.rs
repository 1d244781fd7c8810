//! Programs in the text form of the IR, run on small tensors.

use super::{Error, ErrorKind, Options, run};
use crate::ir::text::parse;
use crate::ir::verify;
use crate::language::{Argument, KernelArgument, Tensor};
use crate::ops::reference;

/// Runs a valid program.
fn interpret(text: &str, arguments: &[Argument<'_>], checked: bool) -> Result<(), Error> {
    let program = parse(text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&program).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    // SAFETY: arguments come from tensors that the tests hold.
    unsafe { run(&program, arguments, Options { checked, nan: false }) }
}

fn failure(text: &str, arguments: &[Argument<'_>]) -> ErrorKind {
    interpret(text, arguments, true).expect_err("the program should stop").kind
}

fn counting(rows: i64, columns: i64) -> Tensor<f32, 2> {
    Tensor::from_fn([rows, columns], |[i, j]| (i * columns + j) as f32)
}

const RAGGED_ROWS: &str = r#"program "p" entry @f
fn @f incore (%0 "M": i64 in extent(1, 0), %1 "x": tensor<f32>[%0, 4] in, %2 "y": tensor<f32>[%0, 4] out) {
  %3: i64 = constant() {value = 0, dtype = i64}
  %4: i64 = constant() {value = 2, dtype = i64}
  for(%3, %0, %4) {loop = auto} do (%5: i64) {
    %6: i64 = sub(%0, %5)
    %7: i64 = min(%4, %6)
    %8: tile<f32>[2, 4; %7, 4] = load(%1, %5, %3)
    %9: tile<f32>[2, 1; %7, 1] = row_max(%8)
    %10: tile<f32>[2, 4; %7, 4] = sub(%8, %9)
    store(%10, %2, %5, %3)
  }
}"#;

#[test]
fn ragged_loop_over_rows() {
    let x = counting(5, 4);
    let mut y = Tensor::<f32, 2>::zeros([5, 4]);
    interpret(RAGGED_ROWS, &[(&x).argument(), (&mut y).argument()], true).unwrap();
    for i in 0..5 {
        assert_eq!(y.rows(i, 1).to_vec(), [-3.0, -2.0, -1.0, 0.0]);
    }
}

#[test]
fn no_rows_at_all() {
    let x = counting(0, 4);
    let mut y = Tensor::<f32, 2>::zeros([0, 4]);
    interpret(RAGGED_ROWS, &[(&x).argument(), (&mut y).argument()], true).unwrap();
}

#[test]
fn arguments_are_checked() {
    let x = counting(2, 3);
    let mut y = Tensor::<f32, 2>::zeros([2, 4]);
    let kind = failure(RAGGED_ROWS, &[(&x).argument(), (&mut y).argument()]);
    assert!(matches!(kind, ErrorKind::Argument { index: 1, .. }), "{kind}");
    let kind = failure(RAGGED_ROWS, &[(&mut y).argument()]);
    assert_eq!(kind, ErrorKind::ArgumentCount { expected: 2, found: 1 });
    let meta = Tensor::<f32, 2>::meta([2, 4]);
    let kind = failure(RAGGED_ROWS, &[(&meta).argument(), (&mut y).argument()]);
    assert!(matches!(kind, ErrorKind::Argument { index: 1, .. }), "{kind}");
}

#[test]
fn carried_tiles_while_and_if() {
    let text = r#"program "p" entry @f
    fn @f incore (%0 "n": i64 in, %1 "y": tensor<i64>[2] inout) {
      %2: i64 = constant() {value = 0, dtype = i64}
      %3: i64 = constant() {value = 1, dtype = i64}
      %4: i64 = constant() {value = 2, dtype = i64}
      %5: i64 = constant() {value = 3, dtype = i64}
      %6: i64, %7: i64 = while(%0, %2) do (%8: i64, %9: i64) {
        %10: bool = cmp_ne(%8, %3)
        yield %10, %8, %9
      } do (%11: i64, %12: i64) {
        %13: i64 = rem(%11, %4)
        %14: bool = cmp_eq(%13, %2)
        %15: i64 = if(%14) do () {
          %16: i64 = div(%11, %4)
          yield %16
        } do () {
          %17: i64 = mul(%11, %5)
          %18: i64 = add(%17, %3)
          yield %18
        }
        %19: i64 = add(%12, %3)
        yield %15, %19
      }
      write(%7, %1, %2)
      %20: tile<i64>[2] = load(%1, %2)
      %21: i64 = extract(%20, %2)
      write(%21, %1, %3)
    }"#;
    let mut y = Tensor::<i64, 1>::zeros([2]);
    interpret(text, &[27i64.argument(), (&mut y).argument()], true).unwrap();
    assert_eq!(y.as_slice(), [111, 111]);
}

#[test]
fn calls_views_and_allocations() {
    let text = r#"program "p" entry @main
    fn @double incore (%0 "x": tensor<f32>[2, 4] in, %1 "y": tensor<f32>[2, 4] out) {
      %2: i64 = constant() {value = 0, dtype = i64}
      %3: tile<f32>[2, 4] = load(%0, %2, %2)
      %4: tile<f32>[2, 4] = add(%3, %3)
      store(%4, %1, %2, %2)
    }
    fn @main orchestration (%0 "x": tensor<f32>[4, 4] in, %1 "y": tensor<f32>[4, 4] out) {
      %2: i64 = constant() {value = 0, dtype = i64}
      %3: i64 = constant() {value = 2, dtype = i64}
      %4: i64 = constant() {value = 4, dtype = i64}
      %5: tensor<f32>[4, 4] = alloc() {dtype = f32}
      for(%2, %4, %3) {loop = parallel} do (%6: i64) {
        %7: tensor<f32>[2, 4] = view(%0, %6, %2)
        %8: tensor<f32>[2, 4] = view(%5, %6, %2)
        %9: tensor<f32>[2, 4] = view(%1, %6, %2)
        %10: event = call(%7, %8) {callee = "double"}
        call(%8, %9, %10) {callee = "double", after = 1}
      }
    }"#;
    let x = counting(4, 4);
    let mut y = Tensor::<f32, 2>::zeros([4, 4]);
    interpret(text, &[(&x).argument(), (&mut y).argument()], true).unwrap();
    assert_eq!(y.to_vec(), (0..16).map(|i| 4.0 * i as f32).collect::<Vec<_>>());
}

#[test]
fn access_out_of_bounds_is_an_error_with_its_place() {
    let text = r#"program "p" entry @f
    fn @f incore (%0 "i": i64 in, %1 "x": tensor<f32>[4] inout) {
      %2: f32 = read(%1, %0)
      %3: tile<f32>[2] = load(%1, %0)
      store(%3, %1, %0)
      write(%2, %1, %0)
    }"#;
    let mut x = Tensor::<f32, 1>::zeros([4]);
    for mut i in [-1, 3, 4, i64::MAX, i64::MIN] {
        let error = interpret(text, &[i.argument(), (&mut x).argument()], false).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Operation(reference::Error::OutOfBounds { .. })), "{error}");
        assert_eq!(error.loc.line, if i == 3 { 4 } else { 3 }, "{error}");
    }
    interpret(text, &[2i64.argument(), (&mut x).argument()], false).unwrap();
}

#[test]
fn division_by_zero_and_assertions_stop() {
    let text = r#"program "p" entry @f
    fn @f incore (%0 "a": i32 in, %1 "b": i32 in) {
      %2: i32 = constant() {value = 3, dtype = i32}
      %3: bool = cmp_ne(%1, %2)
      assert(%3) {message = "b is three"}
      %4: i32 = div(%0, %1)
    }"#;
    let stop = |a: i32, b: i32| interpret(text, &[{ a }.argument(), { b }.argument()], false).unwrap_err().kind;
    assert_eq!(stop(1, 0), ErrorKind::Operation(reference::Error::DivisionByZero));
    assert!(matches!(stop(i32::MIN, -1), ErrorKind::Operation(reference::Error::DivisionOverflow(_))));
    assert_eq!(stop(1, 3), ErrorKind::Assertion("b is three".to_owned()));
}

#[test]
fn checked_runs_find_unwritten_memory() {
    let text = r#"program "p" entry @f
    fn @f orchestration (%0 "y": tensor<f32>[2, 4] out) {
      %1: i64 = constant() {value = 0, dtype = i64}
      %2: tensor<f32>[2, 4] = alloc() {dtype = f32}
      %3: f32 = constant() {value = 1.0, dtype = f32}
      %4: tile<f32>[1, 4] = full(%3)
      store(%4, %2, %1, %1)
      %5: tile<f32>[2, 4] = load(%2, %1, %1)
      store(%5, %0, %1, %1)
    }"#;
    let mut y = Tensor::<f32, 2>::zeros([2, 4]);
    assert!(matches!(failure(text, &[(&mut y).argument()]), ErrorKind::Uninitialized(_)));
    interpret(text, &[(&mut y).argument()], false).unwrap();
}

#[test]
fn checked_runs_find_overlapping_iterations() {
    let text = |extent: i64| {
        format!(
            r#"program "p" entry @f
            fn @f incore (%0 "y": tensor<f32>[8, 4] inout) {{
              %1: i64 = constant() {{value = 0, dtype = i64}}
              %2: i64 = constant() {{value = 2, dtype = i64}}
              %3: i64 = constant() {{value = 5, dtype = i64}}
              %4: f32 = constant() {{value = 1.0, dtype = f32}}
              for(%1, %3, %2) {{loop = parallel}} do (%5: i64) {{
                %6: tile<f32>[{extent}, 4] = full(%4)
                store(%6, %0, %5, %1)
              }}
            }}"#
        )
    };
    let mut y = Tensor::<f32, 2>::zeros([8, 4]);
    interpret(&text(2), &[(&mut y).argument()], true).unwrap();
    assert_eq!(failure(&text(3), &[(&mut y).argument()]), ErrorKind::Overlap { first: 0, second: 2 });
    interpret(&text(3), &[(&mut y).argument()], false).unwrap();
}

#[test]
fn inputs_are_not_written() {
    let text = r#"program "p" entry @f
    fn @f incore (%0 "x": tensor<f32>[4] in) {
      %1: i64 = constant() {value = 0, dtype = i64}
      %2: f32 = read(%0, %1)
      write(%2, %0, %1)
    }"#;
    let program = parse(text, "test").unwrap();
    let x = Tensor::<f32, 1>::zeros([4]);
    // SAFETY: the tensor outlives the run.
    let error = unsafe { run(&program, &[(&x).argument()], Options::default()) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ReadOnly("x".to_owned()));
}

#[test]
fn gather_scatter_and_products() {
    let text = r#"program "p" entry @f
    fn @f incore (%0 "x": tensor<f32>[3, 2] in, %1 "i": tensor<i32>[2, 1] in, %2 "y": tensor<f32>[3, 2] inout) {
      %3: i64 = constant() {value = 0, dtype = i64}
      %4: tile<i32>[2, 1] = load(%1, %3, %3)
      %5: tile<f32>[2, 2] = gather_rows(%0, %4)
      %6: tile<f32>[2, 2] = matmul(%5, %5) {transpose_b = true}
      %7: tile<f32>[2, 2] = matmul_acc(%6, %5, %5) {transpose_a = true}
      scatter_rows(%7, %2, %4)
    }"#;
    let x = counting(3, 2);
    let index = Tensor::from_vec(vec![2i32, 0], [2, 1]);
    let mut y = Tensor::<f32, 2>::zeros([3, 2]);
    interpret(text, &[(&x).argument(), (&index).argument(), (&mut y).argument()], true).unwrap();
    // Rows [4, 5] and [0, 1]: products [[41, 5], [5, 1]] and [[16, 20], [20, 26]].
    assert_eq!(y.to_vec(), [25.0, 27.0, 0.0, 0.0, 57.0, 25.0]);
    let bad = Tensor::from_vec(vec![2i32, 3], [2, 1]);
    let kind = failure(text, &[(&x).argument(), (&bad).argument(), (&mut y).argument()]);
    assert_eq!(kind, ErrorKind::Operation(reference::Error::Index { index: 3, extent: 3 }));
}

#[test]
fn endless_recursion_is_an_error() {
    let text = r#"program "p" entry @f
    fn @f orchestration () {
      call() {callee = "f"}
    }"#;
    let program = parse(text, "test").unwrap();
    // SAFETY: no arguments.
    let error = unsafe { run(&program, &[], Options::default()) }.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Depth(_)));
}
