//! Values, views, files and variables.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::environment::{EagerOrder, Environment};
use super::*;

/// A configuration with every field set, as files have it.
const EVERYTHING: &str = r#"{
    "platform": "a2a3sim", "threads": 3,
    "strategy": "debug_tile_optimization", "dump_passes": "explicit", "dump_ptoas_passes": true,
    "compile_profiling": true, "diagnostic_phase": "post_pass", "disabled_diagnostics": ["PTO0108"],
    "verification_level": "roundtrip", "analyze_auto_scopes_for_deps": true, "save_kernels_dir": "out",
    "memory_planner": "dsa_rp", "emit_source_loc": false,
    "distributed_config": {"device_ids": [0, 1], "num_sub_workers": 2, "aicpu_thread_num": 4}, "cache": false, "checkpoints": true,
    "device_id": 1, "aicpu_thread_num": 2, "ring_task_window": [4, 0, 8, 16], "ring_heap": 1024, "ring_dep_pool": 4,
    "enable_chip_swimlane": 4, "enable_dump_args": 2, "enable_pmu": 1, "enable_dep_gen": true, "enable_scope_stats": true,
    "rtol": 1e-3, "atol": 1e-4, "golden_data_dir": "golden", "save_kernels": true, "codegen_only": true
}"#;

fn keys(value: &impl serde::Serialize) -> BTreeSet<String> {
    match serde_json::to_value(value).unwrap() {
        serde_json::Value::Object(map) => map.keys().cloned().collect(),
        other => panic!("{other} is no table"),
    }
}

#[test]
fn every_field_belongs_to_one_view() {
    let config: RunConfig = serde_json::from_str(EVERYTHING).unwrap();
    let all = keys(&config);
    assert_eq!(all, keys(&serde_json::from_str::<serde_json::Value>(EVERYTHING).unwrap()));
    // Two fields have the compiler's name in its view.
    let renamed = |key: String| match key.as_str() {
        "output_dir" => "save_kernels_dir".to_owned(),
        "profiling" => "compile_profiling".to_owned(),
        _ => key,
    };
    let compile: BTreeSet<String> = keys(&config.compile_options()).into_iter().map(renamed).collect();
    let mut run = keys(&config.run_options());
    assert!(run.remove("dfx"));
    let (dfx, harness) = (keys(&config.dfx_options()), keys(config.harness_options()));
    for field in &all {
        let views = [&compile, &run, &dfx, &harness].into_iter().filter(|view| view.contains(field)).count();
        // Compilation reads the architecture of a platform, a dispatch the whole; work is cut for the threads that run it.
        let expected = if ["platform", "threads"].contains(&field.as_str()) { 2 } else { 1 };
        assert_eq!(views, expected, "`{field}` is in {views} views");
    }
    let claimed: BTreeSet<String> = [compile, run, dfx, harness].into_iter().flatten().collect();
    assert_eq!(claimed, all, "no view has a field of its own");
}

#[test]
fn files_give_back_what_they_were_made_from() {
    let config: RunConfig = serde_json::from_str(EVERYTHING).unwrap();
    let again: RunConfig = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
    assert_eq!(config, again);
    assert_eq!(serde_json::to_string(&RunConfig::new()).unwrap(), "{}");
    assert_eq!(config.to_builder().build(), Ok(config));
}

#[test]
fn the_default_chooses_nothing() {
    assert_eq!(keys(&RunConfig::new().compile_options()), BTreeSet::new());
    assert_eq!(keys(&RunConfig::new().dfx_options()), BTreeSet::new());
    assert_eq!(RunConfig::new().run_options(), RunOptions::default());
    assert_eq!(RunConfig::new().platform(), None);
    assert!(!RunConfig::new().keeps_artifacts());
}

#[test]
fn files_with_unknown_keys_or_wrong_values_are_refused() {
    for (text, expected) in [
        (r#"{"platfrom": "host"}"#, "unknown field `platfrom`"),
        (r#"{"platform": "a3"}"#, "`platform` is `a3`: expected one of `host`, `interpreter`, `a2a3`"),
        (r#"{"enable_chip_swimlane": 5}"#, "`enable_chip_swimlane` is `5`: expected a level from 0 (off) to 4"),
        (r#"{"enable_dump_args": 3}"#, "`enable_dump_args` is `3`"),
        (r#"{"enable_pmu": 3}"#, "`enable_pmu` is `3`"),
        (r#"{"ring_heap": 1000}"#, "`ring_heap` is `1000`: expected a power of two, 1024 or more"),
        (r#"{"rtol": -1.0}"#, "`rtol` is `-1`: expected a finite number, 0 or more"),
        (r#"{"distributed_config": {"device_ids": []}}"#, "`distributed_config.device_ids` is `[]`"),
        (r#"{"distributed_config": {"devices": [0]}}"#, "unknown field `devices`"),
        (r#"{"dump_passes": "all"}"#, "`dump_passes` is `all`: expected one of `none`, `concise`, `explicit`"),
    ] {
        let error = serde_json::from_str::<RunConfig>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn platforms_are_an_architecture_and_a_mode() {
    for platform in Platform::ALL {
        assert_eq!(platform.to_string().parse(), Ok(*platform));
        match (platform.backend_type(), platform.execution_mode()) {
            (Some(arch), Some(mode)) => assert_eq!(Platform::ascend(arch, mode), *platform),
            (None, None) => assert!(platform.is_host()),
            _ => panic!("{platform} has one of both"),
        }
    }
    let config = RunConfig::builder().arch(BackendType::Ascend910B).build().unwrap();
    assert_eq!(config.platform(), Some(Platform::A2a3Sim));
    assert_eq!(config.backend_type(), Some(BackendType::Ascend910B));
    let config = RunConfig::builder().platform(Platform::A5).build().unwrap();
    assert_eq!((config.arch(), config.execution_mode()), (Some(BackendType::Ascend950), Some(ExecutionMode::Onboard)));
}

#[test]
fn a_platform_and_its_halves_agree() {
    let builder = || RunConfig::builder().platform(Platform::A5);
    assert!(builder().arch(BackendType::Ascend950).execution_mode(ExecutionMode::Onboard).build().is_ok());
    let error = builder().arch(BackendType::Ascend910B).build().unwrap_err();
    assert_eq!(error.to_string(), "`arch` is `ascend910b`, but `platform` is `a5`: set one of them");
    let error = builder().execution_mode(ExecutionMode::Simulator).build().unwrap_err();
    assert_eq!(error.field(), "execution_mode");
    let error = RunConfig::builder().execution_mode(ExecutionMode::Onboard).build().unwrap_err();
    assert!(error.to_string().contains("name the architecture"), "{error}");
}

#[test]
fn rings_have_limits() {
    let window = |sizes: RingSizes| RunConfig::builder().ring_task_window(sizes).build();
    let heap = |sizes: RingSizes| RunConfig::builder().ring_heap(sizes).build();
    let pool = |sizes: RingSizes| RunConfig::builder().ring_dep_pool(sizes).build();
    for good in [RingSizes::All(4), RingSizes::Each([4, 0, 8, 1 << 20])] {
        assert!(window(good).is_ok(), "{good}");
    }
    for bad in [RingSizes::All(0), RingSizes::All(2), RingSizes::All(6), RingSizes::Each([4, 4, 4, 5])] {
        assert!(window(bad).is_err(), "{bad}");
    }
    assert!(heap(1024u64.into()).is_ok() && heap(512u64.into()).is_err() && heap(0u64.into()).is_err());
    assert!(pool(4u64.into()).is_ok() && pool(5u64.into()).is_ok() && pool((i32::MAX as u64).into()).is_ok());
    assert!(pool(3u64.into()).is_err() && pool((1u64 << 31).into()).is_err());
    assert_eq!(RingSizes::from(8).sizes(), [8; 4]);
}

#[test]
fn a_recording_alone_keeps_the_artifact() {
    let builders = [
        RunConfig::builder().enable_chip_swimlane(true),
        RunConfig::builder().enable_dump_args(ArgumentDump::Marked),
        RunConfig::builder().enable_pmu(PmuEvent::Memory),
        RunConfig::builder().enable_dep_gen(true),
        RunConfig::builder().enable_scope_stats(true),
    ];
    for builder in builders {
        let config = builder.clone().build().unwrap();
        assert!(config.dfx_options().any() && config.keeps_artifacts(), "{builder:?}");
    }
    let off = RunConfig::builder().enable_chip_swimlane(false).enable_dep_gen(false).build().unwrap();
    assert!(!off.dfx_options().any() && !off.keeps_artifacts());
}

#[test]
fn a_dispatch_refuses_what_its_platform_cannot_honour() {
    let host = |options: RunOptions| options.check_for(Platform::Host).map_err(|error| error.to_string());
    assert_eq!(host(RunOptions::default()), Ok(()));
    assert_eq!(host(RunOptions { device_id: Some(0), threads: Some(1), ..Default::default() }), Ok(()));
    let refused = [
        (RunOptions { device_id: Some(1), ..Default::default() }, "`device_id` is `1`, which means nothing on `host`"),
        (RunOptions { aicpu_thread_num: Some(2), ..Default::default() }, "set `threads`"),
        (RunOptions { ring_heap: Some(1024.into()), ..Default::default() }, "the host has no rings"),
        (RunOptions { ring_task_window: Some(4.into()), ..Default::default() }, "`ring_task_window` is `4`"),
        (RunOptions { ring_dep_pool: Some(4.into()), ..Default::default() }, "`ring_dep_pool` is `4`"),
        (RunOptions { platform: Some(Platform::A5), ..Default::default() }, "compile the program for `a5`"),
        (
            RunOptions { aicpu_thread_num: Some(1), ..Default::default() },
            "`aicpu_thread_num` is `1`: expected 2 or more",
        ),
        (RunOptions { threads: Some(1000), ..Default::default() }, "`threads` is `1000`: expected at most 256"),
    ];
    for (options, expected) in refused {
        let error = host(options).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let rings = RunOptions { ring_heap: Some(1024.into()), device_id: Some(3), ..Default::default() };
    assert_eq!(rings.check_for(Platform::A5), Ok(()));
    for (options, field, advice) in [
        (RunOptions { device_id: Some(3), ..Default::default() }, "device_id", "the simulator is device 0"),
        (RunOptions { aicpu_thread_num: Some(4), ..Default::default() }, "aicpu_thread_num", "leave it unset"),
        (RunOptions { ring_task_window: Some(4.into()), ..Default::default() }, "ring_task_window", "without rings"),
        (RunOptions { ring_heap: Some(1024.into()), ..Default::default() }, "ring_heap", "without rings"),
        (RunOptions { ring_dep_pool: Some(4.into()), ..Default::default() }, "ring_dep_pool", "without rings"),
    ] {
        let error = options.check_for(Platform::A2a3Sim).unwrap_err();
        assert_eq!(error.field(), field);
        assert!(error.to_string().contains(advice), "{error}");
    }
    let harmless = RunOptions { device_id: Some(0), threads: Some(2), time_limit_ms: Some(9), ..Default::default() };
    let checked = harmless.checked_for(Platform::A5Sim).unwrap();
    assert_eq!((*checked.options(), checked.platform()), (harmless, Platform::A5Sim));
}

fn environment(variables: &[(&str, &str)]) -> Result<Environment, ConfigError> {
    Environment::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
}

#[test]
fn variables_are_read() {
    assert_eq!(environment(&[]), Ok(Environment::default()));
    let read = environment(&[
        ("PYPTO_HOST", "interpreter"),
        ("PYPTO_ISA", Isa::of_this_cpu().name()),
        ("PYPTO_THREADS", " 3 "),
        ("PYPTO_CACHE", "off"),
        ("PYPTO_CACHE_DIR", "/c"),
        ("PYPTO_DUMP", "/d"),
        ("PYPTO_LOG", "compile"),
        ("PYPTO_PERF_MAP", "on"),
        ("PYPTO_LLVM", "/l"),
        ("PYPTO_EAGER", "reverse"),
        ("PYPTO_CHECK", "nan"),
        ("PYPTO_CHECKPOINTS", "/k"),
        ("PYPTO_MESSAGE_FORMAT", "json"),
        ("PYPTO_WARM", "/w"),
        ("PYPTO_PROG_BUILD_DIR", "/b"),
        ("PYPTO_VERIFY_LEVEL", "roundtrip"),
        ("PYPTO_WARNING_LEVEL", "post_pass"),
        ("PYPTO_COMPILE_PROFILING", "1"),
        ("PYPTO_EMIT_PTO_LOC", "no"),
        ("PTOAS_ROOT", "/p"),
        ("PYPTO_PTOAS_SECONDS", "90"),
        ("PATH", "/bin"),
    ]);
    let expected = Environment {
        platform: Some(Platform::Interpreter),
        isa: Some(Isa::of_this_cpu()),
        threads: Some(3),
        cache_off: true,
        cache_dir: Some("/c".into()),
        dump: Some("/d".into()),
        log_compile: true,
        perf_map: true,
        llvm: Some("/l".into()),
        eager: EagerOrder::Reverse,
        check_nan: true,
        checkpoints: Some("/k".into()),
        messages_as_json: true,
        warm: Some("/w".into()),
        build_dir: Some("/b".into()),
        verification_level: Some(VerificationLevel::Roundtrip),
        diagnostic_phase: Some(DiagnosticPhase::PostPass),
        profiling: Some(true),
        emit_source_loc: Some(false),
        ptoas_root: Some("/p".into()),
        ptoas_seconds: Some(90),
        search_path: Some("/bin".into()),
    };
    assert_eq!(expected.cache_directory(), None);
    assert_eq!(expected.thread_count(), 3);
    assert_eq!(read, Ok(expected));
    assert_eq!(environment(&[("PYPTO_HOST", ""), ("PYPTO_THREADS", "")]), Ok(Environment::default()));
}

#[test]
fn wrong_variables_are_errors() {
    for (name, value) in [
        ("PYPTO_HOST", "foo"),
        ("PYPTO_HOST", "a2a3"),
        ("PYPTO_ISA", "altivec"),
        ("PYPTO_THREADS", "abc"),
        ("PYPTO_THREADS", "0"),
        ("PYPTO_THREADS", "257"),
        ("PYPTO_CACHE", "maybe"),
        ("PYPTO_LOG", "everything"),
        ("PYPTO_PERF_MAP", "perhaps"),
        ("PYPTO_EAGER", "backwards"),
        ("PYPTO_CHECK", "everything"),
        ("PYPTO_MESSAGE_FORMAT", "xml"),
        ("PYPTO_VERIFY_LEVEL", "9"),
        ("PYPTO_WARNING_LEVEL", "loud"),
        ("PYPTO_COMPILE_PROFILING", "x"),
        ("PYPTO_EMIT_PTO_LOC", "x"),
        ("PYPTO_PTOAS_SECONDS", "0"),
    ] {
        let error = environment(&[(name, value)]).unwrap_err();
        assert_eq!(error.field(), name);
        let text = error.to_string();
        assert!(text.starts_with(&format!("the environment variable {name} is `{value}`: expected ")), "{text}");
    }
}
