//! Pipelines of one's own: composed, run, dumped, listened to, timed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pypto::config::VerificationLevel;
use pypto::ir::Program;
use pypto::ir::text::parse;
use pypto::passes::list::{self, Pass, PassContext};
use pypto::passes::manager::{DumpSink, Instrument, PassManager, PassOptions};
use pypto::passes::pipeline::PassPipeline;

const TEXT: &str = r#"program "p" entry @f

fn @f incore (%0 "x": i64 in) {
  %1: i64 = add(%0, %0)
}
"#;

/// A pass that this crate does not know.
static RENAME: Pass = Pass {
    name: "rename",
    doc: "Gives the program another name.",
    requires: &[],
    establishes: &[],
    run: |program, _| {
        program.name.push_str("_renamed");
        Ok(())
    },
};

#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Instrument for Listener {
    fn before(&self, pass: &'static Pass, program: &Program) {
        self.0.lock().unwrap().push(format!("before {} of {}", pass.name, program.name));
    }

    fn after(&self, pass: &'static Pass, program: &Program, duration: Duration) {
        assert!(duration < Duration::from_secs(10));
        self.0.lock().unwrap().push(format!("after {} of {}", pass.name, program.name));
    }
}

#[test]
fn a_pipeline_of_ones_own_runs_dumps_and_tells() {
    let place = tempfile::tempdir().unwrap();
    let listener = Arc::new(Listener::default());
    let pipeline =
        PassPipeline::new().then(&list::DCE).then(&RENAME).instrument(listener.clone()).options(PassOptions {
            verify: VerificationLevel::Roundtrip,
            dump: DumpSink::Directory(place.path().to_owned()),
            locations: false,
        });
    assert_eq!(pipeline.names().collect::<Vec<_>>(), ["dce", "rename"]);
    let mut program = parse(TEXT, "p").unwrap();
    let report = pipeline.run(&mut program).unwrap();
    assert_eq!(program.name, "p_renamed");
    assert_eq!(report.timings.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["dce", "rename"]);
    let told = listener.0.lock().unwrap().clone();
    assert_eq!(told, ["before dce of p", "after dce of p", "before rename of p", "after rename of p_renamed"]);
    let mut dumps: Vec<String> =
        std::fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    dumps.sort();
    assert_eq!(dumps, ["00_frontend.ir", "01_after_dce.ir", "02_after_rename.ir", "index.txt"]);
    let last = std::fs::read_to_string(place.path().join("02_after_rename.ir")).unwrap();
    assert!(last.starts_with("program \"p_renamed\"") && !last.contains("add") && !last.contains("loc("), "{last}");
}

#[test]
fn managers_check_what_passes_require() {
    let run = |passes: Vec<&'static Pass>| {
        let manager = PassManager::new(passes, PassContext::default(), PassOptions::default());
        manager.run_passes(&mut parse(TEXT, "p").unwrap()).map(|report| report.timings.len())
    };
    assert_eq!(run(vec![&list::INLINE, &list::UNROLL]), Ok(2));
    let errors = run(vec![&list::UNROLL]).unwrap_err();
    assert!(errors.0[0].title.contains("pass `unroll` requires `inlined`"), "{errors}");
}

/// A pass that leaves the program invalid is named.
static BREAK: Pass = Pass {
    name: "break",
    doc: "Drops the operands of every operation.",
    requires: &[],
    establishes: &[],
    run: |program, _| {
        program.functions.iter_mut().flat_map(|f| &mut f.body.ops).for_each(|op| op.operands.clear());
        Ok(())
    },
};

#[test]
fn a_pass_that_breaks_the_program_is_named() {
    let options = |verify| PassOptions { verify, ..PassOptions::default() };
    let run = |verify| PassPipeline::new().then(&BREAK).options(options(verify)).run(&mut parse(TEXT, "p").unwrap());
    let errors = run(VerificationLevel::Basic).unwrap_err();
    assert!(errors.to_string().contains("found after pass `break`"), "{errors}");
    assert!(run(VerificationLevel::None).is_ok());
}
