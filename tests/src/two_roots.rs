//! A program that calls may start at in two places.

use pypto::ir::Program;
use pypto::ir::text::parse;

/// `y = 2 x` and `y = 3 x` over four numbers, by functions of these names that do not call each other.
///
/// # Panics
/// Never: the text is a program for all names.
pub fn two_roots([double, triple]: [&str; 2]) -> Program {
    let function = |name: &str, factor: &str| {
        format!(
            r#"fn @{name} orchestration (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  call(%0, %1) {{callee = "{name}_kernel"}}
}}
fn @{name}_kernel incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {{
  %2: i64 = constant() {{value = 0, dtype = i64}}
  %3: tile<f32>[4] = load(%0, %2)
  %4: f32 = constant() {{value = {factor}, dtype = f32}}
  %5: tile<f32>[4] = mul(%3, %4)
  store(%5, %1, %2)
}}
"#
        )
    };
    let text = format!("program \"both\" entry @{double}\n{}{}", function(double, "2.0"), function(triple, "3.0"));
    parse(&text, "both").unwrap_or_else(|error| panic!("{error}"))
}
