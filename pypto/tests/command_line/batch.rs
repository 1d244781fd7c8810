//! `pypto execute-artifact --batch-manifest`.

use super::*;
use pypto::tools::execution::{EntryState, Status, read_journal};

/// A manifest of three entries: one that passes, one whose results differ, one that is no artifact.
fn manifest(place: &Path) -> PathBuf {
    compiled(&place.join("a"), "2.0");
    tensor_file(place.join("x.safetensors"), "x", [1.0, 2.0, 3.0, 4.0]);
    tensor_file(place.join("right.safetensors"), "y", [2.0, 4.0, 6.0, 8.0]);
    tensor_file(place.join("wrong.safetensors"), "y", [2.0, 4.0, 6.0, 9.0]);
    let lines = [
        r#"{"schema": 1}"#,
        r#"{"work_dir": "a", "options": {"inputs": "x.safetensors", "golden": "right.safetensors", "run": {"threads": 1}}}"#,
        r#"{"work_dir": "a", "options": {"inputs": "x.safetensors", "golden": "wrong.safetensors"}}"#,
        r#"{"work_dir": "b", "options": {"no_validate": true}}"#,
    ];
    let path = place.join("manifest.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

const STATES: [EntryState; 3] = [
    EntryState::Finished(Status::Passed),
    EntryState::Finished(Status::Failed),
    EntryState::Finished(Status::Infrastructure),
];

#[test]
fn entries_do_not_stop_each_other() {
    let place = tempfile::tempdir().unwrap();
    let (manifest, results) = (manifest(place.path()), place.path().join("results.jsonl"));
    for isolate in [false, true] {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"execute-artifact", &"--batch-manifest", &manifest, &"--results", &results];
        if isolate {
            arguments.push(&"--isolate");
        }
        let (code, out, error) = pypto(&arguments);
        assert_eq!(code, 1, "{out}{error}");
        assert!(out.contains("[1/3] passed") && out.contains("[2/3] FAILED") && out.contains("[3/3] INFRA"), "{out}");
        assert!(out.ends_with("1 passed, 1 failed, 0 with wrong options, 1 not set up\n"), "{out}");
        let journal = read_journal(&results).unwrap();
        assert_eq!(journal.entries, STATES);
        assert!(journal.ended);
    }
}

/// An artifact whose kernel ends its process. `None` where there is no machine code.
fn crashing(directory: &Path) -> Option<()> {
    compiled(directory, "2.0");
    let text = std::fs::read_dir(directory.join("kernels")).ok()?.find_map(|entry| {
        let path = entry.unwrap().path();
        path.extension().is_some_and(|e| e == "ll").then_some(path)
    })?;
    let ll = std::fs::read_to_string(&text).unwrap();
    let body = ll.find("define ").and_then(|at| Some(at + ll[at..].find("{\n")? + 2)).unwrap();
    // The body may begin with the name of its first block.
    let first = ll[body..].lines().next().unwrap();
    let body = if first.trim_end().ends_with(':') { body + first.len() + 1 } else { body };
    let crash = "  call void @llvm.trap()\n";
    std::fs::write(&text, format!("{}{crash}{}\ndeclare void @llvm.trap()\n", &ll[..body], &ll[body..])).unwrap();
    let present = pypto::artifact::read_present(directory).unwrap();
    let changes = pypto::tools::replay::Changes::of(&present).unwrap();
    pypto::tools::replay::rebuild(&present, &changes).unwrap().write(&present).unwrap();
    Some(())
}

#[test]
fn an_entry_that_crashes_stops_its_own_process_alone() {
    let place = tempfile::tempdir().unwrap();
    compiled(&place.path().join("good"), "2.0");
    let Some(()) = crashing(&place.path().join("bad")) else { return };
    let (manifest, results) = (place.path().join("m.jsonl"), place.path().join("r.jsonl"));
    let entry = |name: &str| format!("{{\"work_dir\": \"{name}\", \"options\": {{\"no_validate\": true}}}}\n");
    let lines = ["{\"schema\": 1}\n".to_owned(), entry("good"), entry("bad"), entry("good"), entry("missing")];
    std::fs::write(&manifest, lines.concat()).unwrap();
    let run = |rest: &[&str]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"execute-artifact", &"--batch-manifest", &manifest, &"--results", &results];
        all.extend(rest.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
        pypto(&all)
    };
    let finished = |status| EntryState::Finished(status);
    let all = [Status::Passed, Status::Failed, Status::Passed, Status::Infrastructure].map(finished);
    let (code, out, error) = run(&["--isolate"]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("its process crashed: signal"), "{out}");
    let journal = read_journal(&results).unwrap();
    assert!(journal.ended && journal.entries == all, "{journal:?}");
    // Without a process of its own it takes the batch with it, and the journal tells where.
    let (code, out, _) = run(&[]);
    assert_eq!(code, -1, "{out}");
    let journal = read_journal(&results).unwrap();
    let cut = [all[0], EntryState::Unfinished, EntryState::NotStarted, EntryState::NotStarted];
    assert!(!journal.ended && journal.entries == cut, "{journal:?}");
    let (code, out, error) = run(&["--resume", "--isolate"]);
    assert_eq!(code, 1, "{out}{error}");
    assert_eq!(read_journal(&results).unwrap().entries, all);
}

#[test]
fn an_interrupted_batch_is_continued() {
    let place = tempfile::tempdir().unwrap();
    let (manifest, results) = (manifest(place.path()), place.path().join("results.jsonl"));
    let run = |rest: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"execute-artifact", &"--batch-manifest", &manifest, &"--results", &results];
        all.extend(rest);
        pypto(&all)
    };
    run(&[]);
    let whole = std::fs::read_to_string(&results).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 8);
    // Cut off within the end of the second entry.
    let cut = format!("{}\n{}", lines[..4].join("\n"), &lines[4][..20]);
    std::fs::write(&results, cut).unwrap();
    let journal = read_journal(&results).unwrap();
    assert_eq!(journal.entries, [STATES[0], EntryState::Unfinished, EntryState::NotStarted]);
    let (code, out, error) = run(&[&"--resume"]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.starts_with("1 of 3 entries were finished before\n[2/3]"), "{out}");
    assert_eq!(read_journal(&results).unwrap().entries, STATES);
    let (code, _, error) = run(&[&"--resume"]);
    assert!(code == 2 && error.contains("came to its end"), "{error}");
}

#[test]
fn wrong_manifests_run_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (manifest, results) = (place.path().join("m.jsonl"), place.path().join("r.jsonl"));
    let good = r#"{"work_dir": "a", "options": {"no_validate": true}}"#;
    for (lines, reason) in [
        (format!("{good}\n"), "m.jsonl:1: the first line must be"),
        (format!("{{\"schema\": 9}}\n{good}\n"), "m.jsonl:1: it has schema 9"),
        (format!("{{\"schema\": 1}}\n{good}\n{{\"work_dir\": \"b\", \"color\": 1}}\n"), "m.jsonl:3: unknown field"),
        ("{\"schema\": 1}\n{\"work_dir\": \"b\"}\n".to_owned(), "m.jsonl:2: there is nothing to compare"),
    ] {
        std::fs::write(&manifest, lines).unwrap();
        let (code, _, error) = pypto(&[&"execute-artifact", &"--batch-manifest", &manifest, &"--results", &results]);
        assert!(code == 2 && error.contains(reason), "{code} {error}");
        assert!(!results.exists());
    }
}

#[test]
fn any_end_of_a_journal_is_read_or_refused() {
    let place = tempfile::tempdir().unwrap();
    let (manifest, results) = (manifest(place.path()), place.path().join("results.jsonl"));
    pypto(&[&"execute-artifact", &"--batch-manifest", &manifest, &"--results", &results]);
    let whole = std::fs::read(&results).unwrap();
    let begin = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for end in 0..whole.len() {
        std::fs::write(&results, &whole[..end]).unwrap();
        let journal = read_journal(&results);
        assert_eq!(journal.is_ok(), end > begin, "{end}: {journal:?}");
        let unfinished = |journal: &pypto::tools::execution::Journal| {
            journal.entries.iter().filter(|state| **state == EntryState::Unfinished).count()
        };
        assert!(journal.is_err() || unfinished(&journal.unwrap()) <= 1);
    }
    // Damage within is refused, with its line.
    let mut damaged = whole.clone();
    damaged[begin + 3] = 0xff;
    std::fs::write(&results, damaged).unwrap();
    assert!(read_journal(&results).unwrap_err().to_string().contains("results.jsonl:2: "));
}
