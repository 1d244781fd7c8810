use super::super::testing::check_pass;
use super::run;

#[test]
fn bounds_fold_into_types() {
    check_pass(
        run,
        r#"
        fn @f incore (%0 "x": tensor<f32>[128, 8] inout) {
          %1: i64 = constant() {value = 0, dtype = i64}
          %2: i64 = constant() {value = 128, dtype = i64}
          %3: i64 = constant() {value = 64, dtype = i64}
          for(%1, %2, %3) do (%4: i64) {
            %5: i64 = sub(%2, %4)
            %6: i64 = min(%3, %5)
            %7: tile<f32>[64, 8; %6, 8] = load(%0, %4, %1)
            %8: tile<f32>[64, 8; %6, 8] = set_valid(%7)
            store(%8, %0, %4, %1)
          }
        }"#,
        r#"
        fn @f incore (%0 "x": tensor<f32>[128, 8] inout) {
          %1: i64 = constant() {value = 0, dtype = i64}
          %2: i64 = constant() {value = 128, dtype = i64}
          %3: i64 = constant() {value = 64, dtype = i64}
          for(%1, %2, %3) do (%4: i64) {
            %5: i64 = sub(%2, %4)
            %7: tile<f32>[64, 8] = load(%0, %4, %1)
            store(%7, %0, %4, %1)
          }
        }"#,
    );
}

#[test]
fn only_exact_identities_apply() {
    check_pass(
        run,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout) {
          %1: i64 = constant() {value = 0, dtype = i64}
          %2: f32 = constant() {value = 0.0, dtype = f32}
          %3: f32 = constant() {value = -0.0, dtype = f32}
          %4: f32 = constant() {value = 1.0, dtype = f32}
          %5: tile<f32>[8, 8] = load(%0, %1, %1)
          %6: tile<f32>[8, 8] = add(%5, %2)
          %7: tile<f32>[8, 8] = add(%6, %3)
          %8: tile<f32>[8, 8] = sub(%7, %2)
          %9: tile<f32>[8, 8] = mul(%4, %8)
          %10: tile<f32>[8, 8] = neg(%9)
          %11: tile<f32>[8, 8] = neg(%10)
          %12: tile<f32>[8, 8] = mul(%11, %2)
          %13: tile<f32>[8, 8] = full(%4)
          %14: tile<f32>[8, 8] = div(%12, %13)
          store(%14, %0, %1, %1)
        }"#,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout) {
          %1: i64 = constant() {value = 0, dtype = i64}
          %2: f32 = constant() {value = 0.0, dtype = f32}
          %3: f32 = constant() {value = -0.0, dtype = f32}
          %4: f32 = constant() {value = 1.0, dtype = f32}
          %5: tile<f32>[8, 8] = load(%0, %1, %1)
          %6: tile<f32>[8, 8] = add(%5, %2)
          %10: tile<f32>[8, 8] = neg(%6)
          %12: tile<f32>[8, 8] = mul(%6, %2)
          %13: tile<f32>[8, 8] = full(%4)
          store(%12, %0, %1, %1)
        }"#,
    );
}

#[test]
fn control_flow_dissolves() {
    check_pass(
        run,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 8, dtype = i64}
          %4: f32 = constant() {value = 2.0, dtype = f32}
          %5: f32 = for(%2, %3, %3, %4) do (%6: i64, %7: f32) {
            %8: f32 = add(%7, %7)
            write(%8, %0, %6, %2)
            yield %8
          }
          %9: f32 = for(%3, %3, %3, %5) do (%10: i64, %11: f32) {
            yield %4
          }
          %12: bool = cmp_lt(%2, %3)
          %13: f32 = if(%12) do () {
            yield %9
          } do () {
            write(%4, %0, %2, %2)
            yield %4
          }
          %14: f32, %15: i64 = for(%2, %1, %3, %13, %2) do (%16: i64, %17: f32, %18: i64) {
            %19: f32 = exp(%17)
            write(%19, %0, %18, %18)
            yield %17, %2
          }
          write(%14, %0, %2, %2)
          assert(%12) {message = "never"}
        }"#,
        r#"
        fn @f incore (%0 "x": tensor<f32>[8, 8] inout, %1 "n": i64 in) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 8, dtype = i64}
          %4: f32 = constant() {value = 2.0, dtype = f32}
          %8: f32 = constant() {value = 4.0, dtype = f32}
          write(%8, %0, %2, %2)
          %12: bool = constant() {value = true, dtype = bool}
          %14: f32, %15: i64 = for(%2, %1, %3, %8, %2) do (%16: i64, %17: f32, %18: i64) {
            %19: f32 = exp(%8)
            write(%19, %0, %2, %2)
            yield %8, %2
          }
          write(%8, %0, %2, %2)
        }"#,
    );
}
