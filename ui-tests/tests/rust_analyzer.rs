//! A kernel's body in an editor: completion, hover and go-to-definition through rust-analyzer's language server.
//!
//! Runs where `rust-analyzer` is installed and starts; otherwise the test says that it was skipped. A rustup proxy without
//! the component counts as not installed (`rustup component add rust-analyzer`).

mod language_server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use language_server::Server;
use serde_json::{Value, json};

/// `@` marks the places that are asked about: completion, hover, definition, in this order.
const SOURCE: &str = "use pypto::prelude::*;

#[pypto::jit(meta(TM = 64))]
pub fn softmax(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let unfinished = t.@row;
        let @e = t.exp();
        y.store(at, e / e.@row_sum());
    }
}
";

/// How long the server may take to load the crate and its macros.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn kernels_have_completion_hover_and_definitions() {
    if !installed() {
        eprintln!("skipped: rust-analyzer is not installed, or does not start");
        return;
    }
    let (text, marks) = marked(SOURCE);
    let root = crate_with(&text);
    let file = root.join("src/lib.rs");
    let mut server = Server::start(&root).expect("rust-analyzer starts");
    server.open(&file, &text).expect("the server reads");
    let place = |(line, column): (u32, u32)| json!({ "textDocument": { "uri": uri(&file) }, "position": { "line": line, "character": column } });

    let hover = eventually(|| {
        let answer = server.request("textDocument/hover", place(marks[1])).ok()?;
        let text = answer["contents"]["value"].as_str()?.to_owned();
        text.contains("Tile<f32").then_some(text)
    });
    assert!(hover.is_some(), "hover on a local of a kernel shows its tile type");

    let completion = server.request("textDocument/completion", place(marks[0])).expect("an answer");
    let items = items(&completion);
    let labels: Vec<&str> = items.iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.iter().any(|label| label.starts_with("row_max")), "completion after `t.` lists row_max: {labels:?}");

    let definition = server.request("textDocument/definition", place(marks[2])).expect("an answer");
    let targets = definition.as_array().cloned().unwrap_or_else(|| vec![definition.clone()]);
    assert_eq!(targets.len(), 1, "one definition of an operation: {targets:?}");
}

fn installed() -> bool {
    let version = Command::new("rust-analyzer").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Repeats a question until there is an answer: the server answers before it has loaded everything.
fn eventually<T>(mut question: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(answer) = question() {
            return Some(answer);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    None
}

/// A completion answer is a list, or an object that holds one.
fn items(completion: &Value) -> Vec<Value> {
    completion.as_array().or_else(|| completion["items"].as_array()).cloned().unwrap_or_default()
}

/// The text without marks, and the line and column of each mark, from 0.
fn marked(source: &str) -> (String, Vec<(u32, u32)>) {
    let mut marks = Vec::new();
    for (number, line) in source.lines().enumerate() {
        if let Some(column) = line.find('@') {
            marks.push((number as u32, column as u32));
        }
    }
    (source.replace('@', ""), marks)
}

/// A crate of its own in the tests' directory, which depends on `pypto`.
fn crate_with(source: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust_analyzer");
    let pypto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pypto");
    let manifest = format!(
        "[package]\nname = \"kernel\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\npypto = {{ path = {:?} }}\n\n[workspace]\n",
        pypto
    );
    std::fs::create_dir_all(root.join("src")).expect("the tests' directory is writable");
    std::fs::write(root.join("Cargo.toml"), manifest).expect("the tests' directory is writable");
    std::fs::write(root.join("src/lib.rs"), source).expect("the tests' directory is writable");
    root
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
