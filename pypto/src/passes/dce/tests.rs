use super::super::testing::check_pass;
use super::run;

#[test]
fn unused_operations_go_and_effects_stay() {
    check_pass(
        run,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 4, dtype = i64}
          %4: i64 = min(%1, %3)
          %5: tile<f32>[8, 8] = load(%0, %2, %2)
          %6: tile<f32>[8, 8; %4, 8] = set_valid(%5)
          %7: tensor<f32>[8, 8] = alloc() {dtype = f32}
          %8: i64 = div(%1, %4)
          %9: i64 = mul(%1, %4)
          store(%6, %0, %2, %2)
        }"#,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 4, dtype = i64}
          %4: i64 = min(%1, %3)
          %5: tile<f32>[8, 8] = load(%0, %2, %2)
          %6: tile<f32>[8, 8; %4, 8] = set_valid(%5)
          %8: i64 = div(%1, %4)
          store(%6, %0, %2, %2)
        }"#,
    );
}

#[test]
fn carried_variables_that_only_feed_themselves_go() {
    check_pass(
        run,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in, %2 "c": bool in) {
          %3: i64 = constant() {value = 0, dtype = i64}
          %4: f32 = constant() {value = 0.0, dtype = f32}
          %5: f32, %6: f32 = for(%3, %1, %1, %4, %4) do (%7: i64, %8: f32, %9: f32) {
            %10: f32 = add(%8, %4)
            write(%9, %0, %7, %3)
            %11: f32 = exp(%9)
            yield %10, %11
          }
          %12: f32, %13: f32 = if(%2) do () {
            yield %6, %4
          } do () {
            yield %4, %5
          }
          write(%12, %0, %3, %3)
          for(%3, %1, %1) do (%14: i64) {
            %15: f32 = read(%0, %14, %3)
          }
          %16: i64, %17: f32 = while(%1, %4) do (%18: i64, %19: f32) {
            %20: bool = cmp_lt(%18, %1)
            yield %20, %18, %19
          } do (%21: i64, %22: f32) {
            write(%4, %0, %21, %3)
            %23: i64 = add(%21, %1)
            %24: f32 = exp(%22)
            yield %23, %24
          }
        }"#,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in, %2 "c": bool in) {
          %3: i64 = constant() {value = 0, dtype = i64}
          %4: f32 = constant() {value = 0.0, dtype = f32}
          %6: f32 = for(%3, %1, %1, %4) do (%7: i64, %9: f32) {
            write(%9, %0, %7, %3)
            %11: f32 = exp(%9)
            yield %11
          }
          %12: f32 = if(%2) do () {
            yield %6
          } do () {
            yield %4
          }
          write(%12, %0, %3, %3)
          %16: i64 = while(%1) do (%18: i64) {
            %20: bool = cmp_lt(%18, %1)
            yield %20, %18
          } do (%21: i64) {
            write(%4, %0, %21, %3)
            %23: i64 = add(%21, %1)
            yield %23
          }
        }"#,
    );
}
