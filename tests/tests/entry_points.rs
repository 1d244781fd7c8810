//! The tables of docs/entry-points.md and docs/behaviours.md: no cell is empty, every test exists, and only what is meant to may
//! come later.

use std::fs;
use std::path::{Path, PathBuf};

/// Rows that may say `later`: the distributed part and the viewers.
const LATER: [&str; 6] = [
    "DistributedCompiledProgram",
    "DistributedWorker",
    "execute_distributed_compiled",
    "pypto-ir-trace",
    "memory_map",
    "clean_sim_trace",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The cells of every row, without headings.
fn rows() -> Vec<[String; 3]> {
    let text = fs::read_to_string(root().join("docs/entry-points.md")).unwrap();
    let table = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = table.map(|line| {
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        <[String; 3]>::try_from(cells).unwrap_or_else(|cells| panic!("{line}: {} cells", cells.len()))
    });
    cells.filter(|[there, ..]| there != "there").collect()
}

#[test]
fn no_cell_is_empty() {
    let rows = rows();
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in &rows {
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert_eq!(row[1] == "later", row[2] == "later", "{row:?}");
    }
    for (index, row) in rows.iter().enumerate() {
        assert!(rows[..index].iter().all(|other| other[0] != row[0]), "{} is there twice", row[0]);
    }
}

#[test]
fn only_the_distributed_part_and_viewers_come_later() {
    for [there, here, _] in rows().iter().filter(|row| row[1] == "later") {
        assert!(LATER.iter().any(|name| there.contains(name)), "{there} is {here}");
    }
}

#[test]
fn tests_exist() {
    for [there, _, test] in rows().iter().filter(|row| row[2] != "later") {
        let test = test.trim_matches('`');
        assert!(test.contains("::"), "{there}: `{test}` names no test");
        assert_exists(there, test);
    }
}

/// `file.rs::name` is a test, in the tests of the workspace unless it begins with the crate.
fn assert_exists(row: &str, test: &str) {
    let (file, name) = test.split_once("::").unwrap_or_else(|| panic!("{row}: `{test}` names no test"));
    let path = if file.starts_with("pypto/") { root().join(file) } else { root().join("tests/tests").join(file) };
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{row}: {}: {error}", path.display()));
    assert!(text.contains(&format!("fn {name}()")), "{row}: {file} has no test `{name}`");
}

#[test]
fn behaviours_have_tests_or_reasons() {
    let text = fs::read_to_string(root().join("docs/behaviours.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| there |"));
    let mut tests = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [there, here] = cells[..] else { panic!("{row}: {} cells", cells.len()) };
        assert!(!there.is_empty() && here.len() >= "later".len(), "{row}");
        for test in here.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains(".rs::")) {
            assert_exists(there, test);
            tests += 1;
        }
    }
    assert!(tests > 80, "{tests} tests");
}

/// Names that the page of the Python system gives, each in some row.
#[test]
fn every_name_has_a_row() {
    let all: String = rows().into_iter().map(|[there, ..]| there + "\n").collect();
    for name in [
        "ir.compile",
        "JITFunction.compile",
        "JITFunction.lower",
        "_compile_and_assemble",
        "KernelCompiler.compile_incore",
        "CompiledProgram",
        "DistributedCompiledProgram",
        "DistributedConfig",
        "CompiledProgram.__call__",
        "Worker.run",
        "ChipWorker.run",
        "ChipWorker.register",
        "DistributedWorker.run",
        "prepare",
        "CompiledProgram.from_dir",
        "execute_compiled",
        "execute_distributed_compiled",
        "execute_artifact_dir",
        "execute_batch_manifest",
        "benchmark",
        "PassPipeline.run",
        "PassManager.run_passes",
        "RunConfig",
        "compile_kwargs",
        "as_compile_kwargs",
        "CompileOptions",
        "RunOptions",
        "DfxOptions",
        "platform",
        "strategy",
        "dump_passes",
        "dump_ptoas_passes",
        "profiling",
        "diagnostic_phase",
        "disabled_diagnostics",
        "analyze_auto_scopes_for_deps",
        "output_dir",
        "save_kernels_dir",
        "memory_planner",
        "distributed_config",
        "enable_chip_swimlane",
        "enable_dump_args",
        "enable_pmu",
        "enable_dep_gen",
        "enable_scope_stats",
        "rtol",
        "atol",
        "golden_data_dir",
        "save_kernels",
        "codegen_only",
        "backend_type",
        "BackendType",
        "ExecutionMode",
        "execution_mode",
        "param_info",
        "pypto-ir-trace",
        "execute_artifact",
        "debug.replay",
        "debug/run.py",
        "memory_map",
        "clean_sim_trace",
    ] {
        assert!(all.contains(name), "`{name}` is in no row");
    }
}
