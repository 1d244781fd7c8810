//! Invalid programs as text; a comment `// error: ..` on the guilty line states the message.

use super::verify;
use crate::ir::text::parse;

/// Parses, verifies, and compares errors with the comments, line by line.
fn check(text: &str) {
    let program = parse(text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found: Vec<(u32, String)> = match verify(&program) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.0.into_iter().map(|e| (e.primary.loc.line, e.primary.text)).collect(),
    };
    let expected: Vec<(u32, &str)> = text
        .lines()
        .enumerate()
        .filter_map(|(i, line)| line.split_once("// error: ").map(|(_, message)| (i as u32 + 1, message)))
        .collect();
    let matches = found.len() == expected.len()
        && expected.iter().all(|(line, message)| found.iter().any(|(l, m)| l == line && m.contains(message)));
    assert!(matches, "expected {expected:#?}\nfound {found:#?}");
}

#[test]
fn a_valid_program_passes() {
    check(
        r#"program "p" entry @f
        fn @f incore (%0 "M": i64 in extent(1, 0), %1 "x": tensor<f32>[%0, 64] inout) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 32, dtype = i64}
          %4: f32 = constant() {value = 0.0, dtype = f32}
          %5: tile<f32>[32, 1] = full(%4)
          %6: tile<f32>[32, 1; %7, 1], %7: i64 = for(%2, %0, %3, %5, %3) {loop = auto} do (%8: i64, %9: tile<f32>[32, 1; %10, 1], %10: i64) {
            %11: i64 = sub(%0, %8)
            %12: i64 = min(%3, %11)
            %13: tile<f32>[32, 64; %12, 64] = load(%1, %8, %2)
            %14: tile<f32>[32, 1; %12, 1] = row_sum(%13)
            %15: i64 = min(%10, %12)
            %16: tile<f32>[32, 1; %15, 1] = add(%9, %14)
            yield %16, %15
          }
        }"#,
    );
}

#[test]
fn scoping() {
    check(
        r#"program "p" entry @f
        fn @f incore (%0: bool in, %1: i64 in) {
          %2: i64 = add(%1, %4) // error: operand 1 is value 4, which is not in scope
          if(%0) do () {
            %3: i64 = add(%1, %1)
            %4: i64 = add(%3, %1)
          } do () {
            %5: i64 = add(%3, %1) // error: operand 0 is value 3, which is not in scope
          }
          %6: f32 = constant() {value = 1.0, dtype = f32}
          %7: tile<f32>[%3, 4] = full(%6) // error: type of value 7 mentions value 3, which is not in scope
        }"#,
    );
}

#[test]
fn type_rules() {
    check(
        r#"program "p" entry @f
        fn @f incore (%0: tensor<f32>[64, 64] inout, %1: i64 in, %2: f16 in) {
          %3: i64 = constant() {value = 60, dtype = i64}
          %4: tile<f32>[8, 8; 4, 8] = load(%0, %3, %3) // error: valid extent 1 of the result
          %5: tile<f32>[8, 8; 4, 4] = load(%0, %3, %3)
          %6: tile<f32>[8, 4] = row_sum(%5) // error: other extents
          %7: tile<f32>[8, 8; 4, 4] = add(%5, %2) // error: differ in element type: `f32` and `f16`
          %8: tile<i32>[8, 8; 4, 4] = exp(%5) // error: the result is of `i32`, the rule gives `f32`
          %9: tile<f32>[8, 4; 4, 4] = matmul(%6, %6) // error: contraction dimensions of `matmul` differ: 4 and 8
          %10: i64 = exp(%1) // error: `exp` does not support `i64`
          %11: tile<f32>[8, 8] = fillpad(%5, %2) // error: differ in element type
          store(%5, %0, %3) // error: takes 4 operands, found 3
          store(%11, %0, %3, %3) // error: exceeds operand 1 in dimension 0
          %12: i64 = constant() {value = 1.0, dtype = i64} // error: attribute `value`
        }"#,
    );
}

#[test]
fn control_flow() {
    check(
        r#"program "p" entry @f
        fn @f incore (%0: bool in, %1: i64 in, %2: f32 in) {
          %3: i64 = constant() {value = 0, dtype = i64}
          for(%3, %1, %3) do (%4: i64) { // error: the step is 0
          }
          %5: f32 = for(%3, %1, %1, %2) do (%6: i64, %7: f32) { // error: 0 of the region arguments is f32, of the yields i64
            yield %6
          }
          %8: f32 = if(%0) do () { // error: 1 results, but 0 yields of the second region
            yield %2
          } do () {
          }
          if(%1) do () { // error: needs one operand, a `bool` scalar
          } do () {
          }
          %9: f32 = while(%2) do (%10: f32) { // error: the condition must yield a `bool` first
            yield %10, %10
          } do (%11: f32) {
            yield %11
          }
          for(%2, %1, %1) do (%12: i64) { // error: operand 0 must be an `i64` scalar
          }
          assert(%0) do () { // error: has 1 regions, expected 0
          }
        }"#,
    );
}

#[test]
fn carried_valid_extents_must_be_passed_along() {
    check(
        r#"program "p" entry @f
        fn @f incore (%0: i64 in, %1: tensor<f32>[64, 64] in) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: tile<f32>[8, 8] = load(%1, %2, %2)
          %4: tile<f32>[8, 8] = for(%2, %0, %0, %3) do (%5: i64, %6: tile<f32>[8, 8]) { // error: of the yields f32 [8, 8] of which [?, 8] is valid
            %7: tile<f32>[8, 8; %0, 8] = set_valid(%6)
            yield %7
          }
        }"#,
    );
}

#[test]
fn calls() {
    check(
        r#"program "p" entry @main
        fn @main orchestration (%0: tensor<f32>[8, 8] inout, %1: i64 in) {
          call(%0) {callee = "k"}
          call(%1) {callee = "k"} // error: parameter `t` of `k` is tensor of f32 [8, 8], the argument is i64
          call(%0, %0) {callee = "k"} // error: takes 1 arguments, found 2
          call(%0) {callee = "missing"} // error: there is no function `missing`
          %2: event = call(%0) {callee = "k"}
          call(%0, %2) {callee = "k", after = 1}
          %3: f32 = call(%0) {callee = "k"} // error: yields 0 values
        }
        fn @k incore (%0 "t": tensor<f32>[8, 8] inout) {
        }
        fn @recursive inline () { // error: calls itself
          call() {callee = "recursive"}
        }"#,
    );
}
