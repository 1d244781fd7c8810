//! The rows of the table of precedence in docs/configuration.md, and what wrong settings and variables do.

use std::ffi::OsString;
use std::path::PathBuf;

use pypto::CompiledProgram;
use pypto::compile::{CompileError, Output, Settings};
use pypto::config::environment::Environment;
use pypto::config::{
    CompileOptions, ConfigError, DiagnosticPhase, DistributedConfig, MemoryPlanner, OptimizationStrategy,
    PassDumpLevel, Platform, RunOptions, VerificationLevel,
};
use pypto::ir::Program;
use pypto::ir::text::parse;
use pypto::jit::ErrorKind;
use pypto::prelude::*;

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))).unwrap()
}

fn resolve(options: CompileOptions, variables: &[(&str, &str)]) -> Settings {
    Settings::resolve(&options, &environment(variables)).unwrap()
}

fn unset() -> CompileOptions {
    CompileOptions::default()
}

#[test]
fn platform_of_a_compilation() {
    let host = [("PYPTO_HOST", "interpreter")];
    let asked = CompileOptions { platform: Some(Platform::Host), ..unset() };
    assert_eq!(resolve(asked, &host).platform, Platform::Host);
    assert_eq!(resolve(unset(), &host).platform, Platform::Interpreter);
    assert_eq!(resolve(unset(), &[]).platform, Platform::Host);
    let check = [("PYPTO_CHECK", "nan"), ("PYPTO_HOST", "host")];
    assert_eq!(resolve(unset(), &check).platform, Platform::Interpreter);
}

#[test]
fn platform_of_a_dispatch() {
    let compiled = pypto::compile(&double(), &unset()).unwrap();
    let (x, mut y) = (Tensor::<f32, 1>::full([4], 2.0), Tensor::<f32, 1>::zeros([4]));
    let own = RunOptions { platform: Some(compiled.platform()), ..RunOptions::default() };
    compiled.call_with((&x, &mut y), own).unwrap();
    assert_eq!(y.as_slice(), [4.0; 4]);
    let other = RunOptions { platform: Some(Platform::A5Sim), ..RunOptions::default() };
    let error = compiled.call_with((&x, &mut y), other).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Config(_)), "{error}");
    assert!(error.to_string().contains("compile the program for `a5sim`"), "{error}");
    // A configuration that chooses other things does not move the run.
    compiled.call_with((&x, &mut y), &RunConfig::new().with_threads(1)).unwrap();
}

#[test]
fn threads() {
    let variable = [("PYPTO_THREADS", "3")];
    assert_eq!(resolve(CompileOptions { threads: Some(2), ..unset() }, &variable).threads, 2);
    assert_eq!(resolve(CompileOptions { threads: Some(0), ..unset() }, &variable).threads, 1);
    assert_eq!(resolve(unset(), &variable).threads, 3);
    let machine = std::thread::available_parallelism().map_or(1, |n| n.get());
    assert_eq!(resolve(unset(), &[]).threads, machine.min(256));
}

#[test]
fn verification() {
    let variable = [("PYPTO_VERIFY_LEVEL", "roundtrip")];
    let asked = CompileOptions { verification_level: Some(VerificationLevel::None), ..unset() };
    assert_eq!(resolve(asked, &variable).verification, VerificationLevel::None);
    assert_eq!(resolve(unset(), &variable).verification, VerificationLevel::Roundtrip);
    // Tests are debug builds.
    assert_eq!(resolve(unset(), &[]).verification, VerificationLevel::Basic);
}

#[test]
fn warnings() {
    let variable = [("PYPTO_WARNING_LEVEL", "none")];
    let asked = CompileOptions { diagnostic_phase: Some(DiagnosticPhase::PostPass), ..unset() };
    assert_eq!(resolve(asked, &variable).diagnostic_phase, DiagnosticPhase::PostPass);
    assert_eq!(resolve(unset(), &variable).diagnostic_phase, DiagnosticPhase::None);
    assert_eq!(resolve(unset(), &[]).diagnostic_phase, DiagnosticPhase::PrePipeline);
}

#[test]
fn profiling() {
    let variable = [("PYPTO_COMPILE_PROFILING", "on")];
    assert!(!resolve(CompileOptions { profiling: Some(false), ..unset() }, &variable).profiling);
    let profiled = resolve(unset(), &variable);
    assert!(profiled.profiling && profiled.output == Output::New(PathBuf::from("build_output")));
    assert!(!resolve(unset(), &[]).profiling);
}

#[test]
fn places_in_saved_programs() {
    let variable = [("PYPTO_EMIT_PTO_LOC", "off")];
    assert!(resolve(CompileOptions { emit_source_loc: Some(true), ..unset() }, &variable).emit_source_loc);
    assert!(!resolve(unset(), &variable).emit_source_loc);
    assert!(resolve(unset(), &[]).emit_source_loc);
}

#[test]
fn output_directory() {
    let variable = [("PYPTO_PROG_BUILD_DIR", "/builds")];
    let dumped = || CompileOptions { dump_passes: Some(PassDumpLevel::Concise), ..unset() };
    let asked = CompileOptions { output_dir: Some("/here".into()), ..dumped() };
    assert_eq!(resolve(asked, &variable).output, Output::Directory("/here".into()));
    assert_eq!(resolve(dumped(), &variable).output, Output::New("/builds".into()));
    assert_eq!(resolve(dumped(), &[]).output, Output::New(PathBuf::from("build_output")));
    let profiled = CompileOptions { profiling: Some(true), ..unset() };
    assert_eq!(resolve(profiled, &variable).output, Output::New("/builds".into()));
    assert_eq!(resolve(unset(), &variable).output, Output::None);
    let not_dumped = CompileOptions { dump_passes: Some(PassDumpLevel::None), ..unset() };
    assert_eq!(resolve(not_dumped, &variable).output, Output::None);
}

#[test]
fn artifacts_of_plain_calls() {
    let settings = Settings::resolve_calls(&environment(&[("PYPTO_DUMP", "/dumps")])).unwrap();
    assert_eq!((settings.output, settings.dump_passes), (Output::New("/dumps".into()), PassDumpLevel::Explicit));
    assert_eq!(Settings::resolve_calls(&environment(&[])).unwrap().output, Output::None);
}

#[test]
fn checkpoints() {
    let of = |option, variables: &[(&str, &str)]| {
        resolve(CompileOptions { checkpoints: option, ..unset() }, variables).checkpoints
    };
    let variable = [("PYPTO_CHECKPOINTS", "/k")];
    assert!(!of(None, &[]) && of(None, &variable) && of(Some(true), &[]) && !of(Some(false), &variable));
    let recorded = |option| pypto::ir::report::observer::recorded(|| of(option, &[])).0;
    assert!(recorded(None) && !recorded(Some(false)));
}

#[test]
fn cache_directory() {
    let directory = |variables: &[(&str, &str)]| environment(variables).cache_directory();
    assert_eq!(directory(&[("PYPTO_CACHE", "off"), ("PYPTO_CACHE_DIR", "/c")]), None);
    assert_eq!(directory(&[("PYPTO_CACHE_DIR", "/c")]), Some("/c".into()));
    assert!(resolve(unset(), &[]).uses_cache());
    assert!(!resolve(CompileOptions { cache: Some(false), ..unset() }, &[]).uses_cache());
    assert!(!resolve(CompileOptions { output_dir: Some("/x".into()), ..unset() }, &[]).uses_cache());
}

#[test]
fn options_without_meaning_on_the_host_are_refused() {
    for platform in [Platform::Host, Platform::Interpreter] {
        let options = || CompileOptions { platform: Some(platform), ..unset() };
        for (options, field) in [
            (CompileOptions { dump_ptoas_passes: Some(true), ..options() }, "dump_ptoas_passes"),
            (CompileOptions { memory_planner: Some(MemoryPlanner::Pypto), ..options() }, "memory_planner"),
            (CompileOptions { analyze_auto_scopes_for_deps: Some(false), ..options() }, "analyze_auto_scopes_for_deps"),
            (
                CompileOptions { distributed_config: Some(DistributedConfig::default()), ..options() },
                "distributed_config",
            ),
            (
                CompileOptions { disabled_diagnostics: Some(vec!["PTO9999".into()]), ..options() },
                "disabled_diagnostics",
            ),
            (CompileOptions { disabled_diagnostics: Some(vec!["x".into()]), ..options() }, "disabled_diagnostics"),
            (CompileOptions { output_dir: Some("".into()), ..options() }, "output_dir"),
            (CompileOptions { threads: Some(257), ..options() }, "threads"),
        ] {
            match pypto::compile(&double(), &options) {
                Err(CompileError::Config(error)) => assert_eq!(error.field(), field),
                other => panic!("{field}: {other:?}"),
            }
        }
        let harmless = CompileOptions {
            dump_ptoas_passes: Some(false),
            analyze_auto_scopes_for_deps: Some(true),
            disabled_diagnostics: Some(vec!["PTO0108".into()]),
            ..options()
        };
        pypto::compile(&double(), &harmless).unwrap();
    }
}

#[test]
fn ascend_programs_run_in_the_simulator() {
    for (platform, simulated) in
        [(Platform::A2a3, false), (Platform::A2a3Sim, true), (Platform::A5, false), (Platform::A5Sim, true)]
    {
        let options =
            CompileOptions { platform: Some(platform), memory_planner: Some(MemoryPlanner::DsaRp), ..unset() };
        let compiled = pypto::compile(&double(), &options).unwrap();
        let (x, mut y) = (Tensor::<f32, 1>::from_fn([4], |[i]| i as f32), Tensor::<f32, 1>::zeros([4]));
        match compiled.call((&x, &mut y)) {
            Ok(_) => assert!(simulated && y.as_slice() == [0.0, 2.0, 4.0, 6.0]),
            Err(error) => assert!(!simulated && error.to_string().contains("compiled for a device"), "{error}"),
        }
        let config = RunConfig::new().with_platform(platform);
        assert_eq!(doubled.compile(&(&x, &y), &config).unwrap().call((&x, &mut y)).is_ok(), simulated);
    }
    let options = CompileOptions { platform: Some(Platform::A5), dump_ptoas_passes: Some(true), ..unset() };
    assert!(matches!(pypto::compile(&double(), &options), Err(CompileError::Config(_))));
    // A wrong program is told first.
    let broken = parse(&TEXT.replace("tile<f32>[4] = add(%3, %3)", "tile<f32>[8] = add(%3, %3)"), "broken").unwrap();
    let options = CompileOptions { platform: Some(Platform::A5), ..unset() };
    assert!(matches!(pypto::compile(&broken, &options), Err(CompileError::Kernel(_))));
}

#[test]
fn strategies_change_no_result() {
    let x = Tensor::<f32, 1>::from_fn([1000], |[i]| i as f32);
    let mut results: Vec<Vec<f32>> = Vec::new();
    for strategy in OptimizationStrategy::ALL {
        let config = RunConfig::builder().strategy(*strategy).verification_level(VerificationLevel::Roundtrip);
        let mut y = Tensor::<f32, 1>::zeros([1000]);
        doubled.compile(&(&x, &y), &config.build().unwrap()).unwrap().call((&x, &mut y)).unwrap();
        results.push(y.to_vec());
    }
    assert_eq!(results[0][999], 1998.0);
    assert_eq!(results[0], results[1]);
}

#[test]
fn wrong_variables_stop_calls_and_compilations() {
    let program = std::env::current_exe().unwrap();
    for (variable, value) in [("PYPTO_HOST", "foo"), ("PYPTO_THREADS", "abc"), ("PYPTO_CACHE", "maybe")] {
        let child = std::process::Command::new(&program)
            .args(["--exact", "child_calls_with_a_wrong_variable", "--ignored"])
            .env(variable, value)
            .env("PYPTO_TESTS_VARIABLE", variable)
            .output()
            .unwrap();
        assert!(child.status.success(), "{variable}: {}", String::from_utf8_lossy(&child.stdout));
    }
}

#[test]
#[ignore = "the part of `wrong_variables_stop_calls_and_compilations` that runs with the variable"]
fn child_calls_with_a_wrong_variable() {
    let Ok(variable) = std::env::var("PYPTO_TESTS_VARIABLE") else { return };
    let (x, mut y) = (Tensor::<f32, 1>::zeros([4]), Tensor::<f32, 1>::zeros([4]));
    let names = |error: &ConfigError| assert_eq!(error.field(), variable);
    for error in [
        doubled(&x, &mut y).map(drop).unwrap_err(),
        doubled.compile(&(&x, &y), &RunConfig::new()).map(drop).unwrap_err(),
        doubled.lower(&(&x, &y)).map(drop).unwrap_err(),
    ] {
        match error.kind() {
            ErrorKind::Config(error) => names(error),
            _ => panic!("{error}"),
        }
    }
    match pypto::compile(&double(), &unset()) {
        Err(CompileError::Config(error)) => names(&error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn handles_tell_what_they_are() {
    let compiled: CompiledProgram = pypto::compile(&double(), &unset()).unwrap();
    assert_eq!((compiled.name(), compiled.platform()), ("double", Settings::of(&unset()).unwrap().platform));
    assert_eq!((compiled.output_dir(), compiled.program()), (None, Some(&double())));
    assert_eq!((compiled.param_names(), compiled.output_indices()), (vec!["x", "y"], vec![1]));
    assert_eq!((compiled.has_return(), compiled.orchestration_names()), (false, vec!["double"]));
    assert!(format!("{compiled:?}").contains("x: f32[4] in, y: f32[4] out"), "{compiled:?}");
}

const TEXT: &str = r#"program "double" entry @double

fn @double incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {
  %2: i64 = constant() {value = 0, dtype = i64}
  %3: tile<f32>[4] = load(%0, %2)
  %4: tile<f32>[4] = add(%3, %3)
  store(%4, %1, %2)
}
"#;

fn double() -> Program {
    parse(TEXT, "double").unwrap()
}

#[pypto::jit]
fn doubled(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + x);
}

#[pypto::jit]
fn staged(#[shape(K)] x: &Tensor<f32, 1>, #[out] y: &mut Tensor<f32, 1>) {
    let mut sum = Tile::<f32, 1>::zeros([16]);
    for k in pipeline(range(0, K, 16), 3) {
        sum += x.tile([k], [16]);
    }
    y.store([0], sum);
}

#[test]
fn stages_that_change_nothing_are_told() {
    let place = tempfile::tempdir().unwrap();
    let (x, y) = (Tensor::<f32, 1>::full([64], 1.0), Tensor::<f32, 1>::zeros([16]));
    for platform in [Platform::Host, Platform::A2a3Sim] {
        let directory = place.path().join(platform.to_string());
        let config = RunConfig::new().with_platform(platform).with_output_dir(&directory);
        staged.compile(&(&x, &y), &config).unwrap();
        let hints = std::fs::read_to_string(directory.join("report/perf_hints.log")).unwrap();
        assert!(hints.contains("[perf_hint PH007] pipeline: the 3 stages of a loop of `staged"), "{hints}");
    }
}

#[test]
fn hints_tell_what_costs_time() {
    let copy = parse(
        r#"program "copy" entry @copy
fn @copy incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {
  %2: i64 = constant() {value = 0, dtype = i64}
  %3: tile<f32>[4] = load(%0, %2)
  store(%3, %1, %2)
}
"#,
        "copy.ir",
    )
    .unwrap();
    let place = tempfile::tempdir().unwrap();
    let hints = |name: &str, phase: Option<DiagnosticPhase>, disabled: Option<Vec<String>>| {
        let output_dir = Some(place.path().join(name));
        let options = CompileOptions { output_dir, diagnostic_phase: phase, disabled_diagnostics: disabled, ..unset() };
        pypto::compile(&copy, &options).unwrap();
        std::fs::read_to_string(place.path().join(name).join("report/perf_hints.log")).ok()
    };
    let all = hints("all", None, None).unwrap();
    assert!(all.contains("[perf_hint PH003] copy: `"), "{all}");
    assert!(all.contains(" only copies from one tensor to another at copy.ir:"), "{all}");
    // The phase says in which program copies are looked for.
    let passed = hints("passed", Some(DiagnosticPhase::PostPass), None).unwrap();
    assert!(passed.contains("only copies from one tensor to another after pass `flatten_dispatch` at"), "{passed}");
    let finished = hints("finished", Some(DiagnosticPhase::PostPipeline), None).unwrap();
    assert!(finished.contains("only copies") && !finished.contains("after pass"), "{finished}");
    assert_eq!(hints("silent", Some(DiagnosticPhase::None), None), None);
    let others = hints("others", None, Some(vec!["PH003".into()])).unwrap_or_default();
    assert!(!others.contains("PH003"), "{others}");
    let wrong = CompileOptions { disabled_diagnostics: Some(vec!["PTO0203".into()]), ..unset() };
    let error = pypto::compile(&copy, &wrong).unwrap_err().to_string();
    assert!(error.contains("warnings and hints: `PTO0108`, `PH001`, `PH002`, `PH003`, `PH0"), "{error}");
}
