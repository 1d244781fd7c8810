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
