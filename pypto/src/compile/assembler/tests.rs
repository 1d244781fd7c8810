//! The assembler's part of a compilation, with scripts that stand in for it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Assembled, Assembler, AssemblerOptions, DEFAULT_TIME_LIMIT, assemble};
use crate::codegen::ascend::{AscendArtifact, AscendOptions};
use crate::codegen::host::object_cache::ObjectCache;
use crate::compile::ascend::compile_for_target;
use crate::config::environment::Environment;
use crate::diagnostics::{Diagnostics, codes};
use crate::ir::Program;
use crate::ir::text::parse;
use crate::passes::manager::PassOptions;
use crate::target::A2A3;

/// Two kernels: `double` and `triple`.
const TEXT: &str = r#"program "both" entry @both
fn @both orchestration (%0 "x": tensor<f32>[64, 64] in, %1 "y": tensor<f32>[64, 64] out, %2 "z": tensor<f32>[64, 64] out) {
  call(%0, %1) {callee = "double"}
  call(%0, %2) {callee = "triple"}
}
fn @double incore (%0 "x": tensor<f32>[64, 64] in, %1 "y": tensor<f32>[64, 64] out) {
  %2: i64 = constant() {value = 0, dtype = i64}
  %3: tile<f32>[64, 64] = load(%0, %2, %2)
  %4: tile<f32>[64, 64] = add(%3, %3)
  store(%4, %1, %2, %2)
}
fn @triple incore (%0 "x": tensor<f32>[64, 64] in, %1 "y": tensor<f32>[64, 64] out) {
  %2: i64 = constant() {value = 0, dtype = i64}
  %3: tile<f32>[64, 64] = load(%0, %2, %2)
  %4: tile<f32>[64, 64] = add(%3, %3)
  %5: tile<f32>[64, 64] = add(%4, %3)
  store(%5, %1, %2, %2)
}
"#;

fn artifact() -> AscendArtifact {
    let program: Program = parse(TEXT, "both.ir").unwrap();
    compile_for_target(program, &A2A3, AscendOptions::default(), PassOptions::default()).unwrap()
}

/// A directory with a script `ptoas` in it. The script's arguments are those of the assembler: the text's path is `$1`,
/// that of the C++ is `$3`.
struct StandIn {
    directory: tempfile::TempDir,
}

impl StandIn {
    fn new(script: &str) -> StandIn {
        let stand_in = StandIn { directory: tempfile::tempdir().unwrap() };
        let program = stand_in.program();
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        stand_in
    }

    fn program(&self) -> PathBuf {
        self.path("ptoas")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn assemble(&self, options: AssemblerOptions<'_>) -> Result<Vec<Assembled>, Diagnostics> {
        assemble(&artifact(), &Assembler::at(self.program()).unwrap(), options)
    }

    /// How often it ran: scripts add a line to `runs`.
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path("runs")).map_or(0, |text| text.lines().count())
    }
}

fn options<'a>() -> AssemblerOptions<'a> {
    AssemblerOptions { threads: 2, time_limit: DEFAULT_TIME_LIMIT, cache: None, dump_passes: false }
}

#[test]
fn every_kernel_is_assembled_with_the_arguments_of_the_level() {
    let stand_in = StandIn::new(r#"in=$1; out=$3; shift 3; echo "// $(basename $in) $@" > $out"#);
    let sources: Vec<String> = stand_in.assemble(options()).unwrap().into_iter().map(|a| a.source).collect();
    let names: Vec<String> = artifact().kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let expected =
        names.iter().map(|name| format!("// {name}.pto --enable-insert-sync --pto-level=level3 --pto-arch=a3\n"));
    assert_eq!(sources, expected.collect::<Vec<_>>());
}

/// Each of the two waits until the other has begun.
#[test]
fn kernels_are_assembled_side_by_side() {
    let stand_in = StandIn::new(
        r#"dir=$(dirname $0); touch $dir/begun-$(basename $1)
n=0; while [ $(ls $dir/begun-* | wc -l) -lt 2 ]; do sleep 0.01; n=$((n+1)); [ $n -gt 2000 ] && exit 1; done
echo ok > $3"#,
    );
    assert_eq!(stand_in.assemble(options()).unwrap().len(), 2);
}

#[test]
fn one_that_does_not_end_is_ended() {
    let stand_in = StandIn::new("exec sleep 100");
    let start = Instant::now();
    let problems =
        stand_in.assemble(AssemblerOptions { time_limit: Duration::from_millis(100), ..options() }).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(50));
    assert!(problems.0.iter().all(|p| p.code == codes::ASSEMBLER), "{problems}");
    assert!(problems.to_string().contains("took longer than 0.1 s, and was ended"), "{problems}");
}

#[test]
fn results_are_kept_by_content() {
    let cache_directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(cache_directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let cache = ObjectCache::new(Some(cache_directory.path().join("kept")), 1 << 20);
    let stand_in = StandIn::new(r#"echo run >> $(dirname $0)/runs; echo "// made" > $3"#);
    let kept = AssemblerOptions { cache: Some(&cache), ..options() };
    let first = stand_in.assemble(kept).unwrap();
    assert_eq!(stand_in.runs(), 2);
    assert_eq!(stand_in.assemble(kept).unwrap(), first);
    assert_eq!(stand_in.runs(), 2);
    // Other arguments, and no cache, run it again.
    stand_in.assemble(AssemblerOptions { dump_passes: true, ..kept }).unwrap();
    stand_in.assemble(options()).unwrap();
    assert_eq!(stand_in.runs(), 6);
}

/// The stand-in complains about the line with the addition, as the assembler does about a file.
#[test]
fn a_complaint_about_a_line_is_at_the_source_of_the_line() {
    let stand_in = StandIn::new(
        r#"line=$(grep -n pto.tadd $1 | head -1 | cut -d: -f1)
echo "$1:$line:5: error: 'pto.tadd' op is not liked today" >&2; echo "more of it" >&2; exit 1"#,
    );
    let problems = stand_in.assemble(options()).unwrap_err();
    let lines: Vec<u32> = problems.0.iter().map(|p| p.primary.loc.line).collect();
    assert_eq!(lines, [9, 15], "{problems}");
    let text = problems.to_string();
    assert!(text.contains("both.ir:9:"), "{text}");
    assert!(text.contains("refuses kernel `double"), "{text}");
    assert!(text.contains("'pto.tadd' op is not liked today"), "{text}");
    assert!(text.contains("more of it"), "all that it says is quoted: {text}");
}

/// MLIR names the file of the `loc` trailer itself.
#[test]
fn a_complaint_about_rust_is_at_that_place() {
    let stand_in = StandIn::new(
        r#"place=$(grep pto.tadd $1 | head -1 | sed 's/.* loc(\(.*\))$/\1/')
echo "loc($place): error: 'pto.tadd' op is not liked today"; exit 1"#,
    );
    let problems = stand_in.assemble(options()).unwrap_err();
    assert_eq!(problems.0.iter().map(|p| p.primary.loc.line).collect::<Vec<_>>(), [9, 15], "{problems}");
}

#[test]
fn failures_without_a_place_quote_what_was_said() {
    let problems = StandIn::new("echo no licence >&2; exit 3").assemble(options()).unwrap_err();
    assert!(problems.to_string().contains("no licence"), "{problems}");
    assert!(problems.to_string().contains("exit status: 3"), "{problems}");
    let problems = StandIn::new("exit 0").assemble(options()).unwrap_err();
    assert!(problems.to_string().contains("it made no file"), "{problems}");
}

#[test]
fn it_is_found_by_root_or_path() {
    let stand_in = StandIn::new("exit 0");
    let directory = stand_in.directory.path();
    let environment = |root: Option<&Path>, path: Option<&Path>| Environment {
        ptoas_root: root.map(Path::to_owned),
        search_path: path.map(|path| std::env::join_paths([Path::new("/nowhere"), path]).unwrap()),
        ..Environment::default()
    };
    let find = |root, path| Assembler::find(&environment(root, path));
    let program = |found: Option<Assembler>| found.map(|assembler| assembler.program().to_owned());
    assert_eq!(program(find(None, None).unwrap()), None);
    assert_eq!(program(find(None, Some(directory)).unwrap()), Some(stand_in.program()));
    assert_eq!(program(find(Some(directory), None).unwrap()), Some(stand_in.program()));
    // In `bin`, as the vendor's packages have it, and before what is on the path.
    let packaged = tempfile::tempdir().unwrap();
    std::fs::create_dir(packaged.path().join("bin")).unwrap();
    std::fs::copy(stand_in.program(), packaged.path().join("bin/ptoas")).unwrap();
    let found = program(find(Some(packaged.path()), Some(directory)).unwrap());
    assert_eq!(found, Some(packaged.path().join("bin/ptoas")));
    // A root without one is a mistake; a file that is no program is none.
    let error = find(Some(Path::new("/nowhere")), Some(directory)).unwrap_err().to_string();
    assert!(error.contains("PTOAS_ROOT") && error.contains("/nowhere"), "{error}");
    std::fs::set_permissions(stand_in.program(), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(program(find(None, Some(directory)).unwrap()), None);
}
