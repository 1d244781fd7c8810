//! What the compiler says about kernels that rustc accepts: each module holds one kernel with one mistake, each `.stderr`
//! file beside it the rendered text. `UPDATE_EXPECT=1` writes the files.

#![allow(
    unused_variables,
    unconditional_recursion,
    clippy::only_used_in_recursion,
    clippy::assign_op_pattern,
    reason = "the kernels are wrong on purpose"
)]

use pypto::compile::CompileError;
use pypto::config::{CompileOptions, Platform};
use pypto::diagnostics::{Diagnostics, codes, render_all};
use pypto::frontend::generic::{Callable, Callee};
use pypto::frontend::{ArgumentSpec, Specialization, describe, instantiate};
use pypto::ir::DType;
use pypto::passes::pipeline::host;
use pypto::passes::tensor_tiling::Limits;

/// A kernel with the arguments of the call that goes wrong.
pub struct Case {
    callee: fn() -> Callee,
    types: Vec<DType>,
    arguments: Vec<ArgumentSpec>,
    metas: Vec<(&'static str, i64)>,
    /// Where it is compiled for, if not for the host.
    platform: Option<Platform>,
}

impl Case {
    fn of<K: Callable>(arguments: impl IntoIterator<Item = ArgumentSpec>) -> Case {
        let arguments = arguments.into_iter().collect();
        Case { callee: K::callee, types: Vec::new(), arguments, metas: Vec::new(), platform: None }
    }

    fn meta(mut self, name: &'static str, value: i64) -> Case {
        self.metas.push((name, value));
        self
    }

    fn on(mut self, platform: Platform) -> Case {
        self.platform = Some(platform);
        self
    }

    fn types(mut self, types: &[DType]) -> Case {
        self.types = types.to_vec();
        self
    }

    fn problems(&self) -> Diagnostics {
        let Callee::Function(function) = (self.callee)() else { panic!("not a kernel") };
        let specialization = match Specialization::for_call(function, &self.types, &self.arguments, &self.metas) {
            Ok(specialization) => specialization,
            Err(problems) => return problems,
        };
        let mut program = match instantiate(function, &specialization) {
            Ok(program) => program,
            Err(problems) => return problems,
        };
        pypto::ir::verify(&program).unwrap_or_else(|problems| panic!("invalid IR: {problems}"));
        if let Some(platform) = self.platform {
            let options = CompileOptions { platform: Some(platform), ..CompileOptions::default() };
            let problems = match pypto::compile(&program, &options) {
                Err(CompileError::Kernel(problems)) => problems,
                other => panic!("the kernel should be rejected: {other:?}"),
            };
            return problems.with_note(&describe(function, &specialization));
        }
        let problems = host(&mut program, &Limits::for_threads(2)).expect_err("the kernel should be rejected");
        problems.with_note(&describe(function, &specialization))
    }
}

fn f32s<const R: usize>(dims: [i64; R]) -> ArgumentSpec {
    ArgumentSpec::Tensor { dtype: DType::F32, dims: dims.to_vec(), contiguous: true }
}

fn scalar(dtype: DType, bits: u64) -> ArgumentSpec {
    ArgumentSpec::Scalar { dtype, bits }
}

/// Codes that no kernel here can show, and why.
const ELSEWHERE: &[(pypto::diagnostics::Code, &str)] = &[
    (codes::INTERNAL, "a fault of the compiler"),
    (codes::ARGUMENT_ALIAS, "needs memory: tested with calls"),
    (codes::RECOMPILATION, "a warning of the cache: tested with calls"),
    (codes::DTYPE_MISMATCH, "rustc rejects such kernels first"),
    (codes::ASSEMBLER, "the host has no assembler: tested with a stand-in"),
    (codes::IR_TEXT, "tested with the parser"),
    (codes::IR_INVALID, "tested with the verifier"),
    (codes::RUN_FAILED, "needs a run: tested with calls"),
    (codes::DEVICE, "needs a device: tested with accelerators"),
];

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        $( mod $name; )*

        const CASES: &[(&str, fn() -> Case)] = &[ $((stringify!($name), $name::case)),* ];

        $( #[test]
        fn $name() {
            compare(stringify!($name), &$name::case());
        } )*
    };
}

cases! {
    accumulating_in_parallel, argument_count, argument_extent, argument_layout, argument_literal, argument_size, argument_suffix, argument_type, array_index,
    assertion, branch_types, call_extents, comptime_extent, constant_arithmetic, contraction, dropped_remainder,
    dynamic_extent, element_type, empty_view, extent_unknown, function_kind, loop_types, many_errors, matmul_rank,
    meta_value, not_disjoint, on_chip_memory, out_in_a_loop, out_never_written, out_of_bounds, out_partly_written, out_read_first,
    out_under_a_condition, overlapping_writes, parallel_exit, partly_valid, pipeline_depth, printed_tuple, range_step, recursion, returned_extent,
    scalar_function, set_shapes, shape_mismatch, slice_bounds, spec_argument, static_assertion, struct_field, target_support, task_on_operation,
    tensor_choice, unknown_method, unknown_task, valid_extent, value_size,
}

fn compare(name: &str, case: &Case) {
    let text = render_all(&case.problems(), false);
    let path = format!("{}/tests/jit/{name}.stderr", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).expect("the expectation can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{path} differs; the text is now:\n{text}\nexpected:\n{expected}");
}

/// docs/diagnostics.md: all thirty mistakes are there, and every test that it names shows the code that it names.
#[test]
fn the_page_names_tests_that_show_the_codes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let page = read(&root.join("docs/diagnostics.md"));
    let rows =
        page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---") && !line.starts_with("| #"));
    let mut mistakes = Vec::new();
    for line in rows {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, code, tests] = cells[..] else { panic!("{line}: {} cells", cells.len()) };
        mistakes.extend(number.parse::<usize>());
        if code == "cannot be written" {
            assert!(tests.len() > 20, "{line}: the reason");
            continue;
        }
        for test in tests.split(", ").map(|test| test.trim_matches('`')) {
            let (file, function) = test.split_once("::").unwrap_or((test, ""));
            let text = read(&root.join(file));
            if !function.is_empty() {
                assert!(text.contains(&format!("fn {function}()")), "{file} has no test `{function}`");
                continue;
            }
            let shown = read(&root.join(file).with_extension("stderr"));
            let code = code.trim_matches('`');
            let expected = if code.starts_with("PTO") { format!("[{code}]") } else { "error".to_owned() };
            assert!(shown.contains(&expected), "{file} does not show {code}");
        }
    }
    assert_eq!(mistakes[..30], (1..=30).collect::<Vec<_>>());
}

#[test]
fn every_code_has_a_case() {
    let shown: Vec<_> = CASES.iter().flat_map(|(_, case)| case().problems().0).map(|d| d.code).collect();
    for info in codes::ALL {
        let elsewhere = ELSEWHERE.iter().any(|(code, _)| *code == info.code);
        assert!(shown.contains(&info.code) != elsewhere, "{}: shown here or listed as tested elsewhere", info.code);
    }
}

#[test]
fn titles_are_short_and_places_are_known() {
    for (name, case) in CASES {
        for diagnostic in case().problems().0 {
            assert!(diagnostic.title.chars().count() <= 100, "{name}: {}", diagnostic.title);
            assert!(diagnostic.primary.loc.file.name().ends_with(".rs"), "{name}: {:?}", diagnostic.primary.loc);
            assert!(diagnostic.primary.loc.line > 0, "{name}");
        }
    }
}
