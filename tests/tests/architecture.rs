//! What docs/ARCHITECTURE.md says of the code: layers name only lower layers, files stay short, every environment
//! variable is in its table.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of `pypto` from the lowest layer to the highest, as in the table of docs/ARCHITECTURE.md.
const LAYERS: &[&[&str]] = &[
    &["config", "staged", "memory"],
    &["diagnostics"],
    &["ir", "ops"],
    &["language"],
    &["golden"],
    &["frontend"],
    &["target"],
    &["passes"],
    &["codegen"],
    &["simulator"],
    &["compile", "artifact"],
    &["runtime"],
    &["jit"],
    &["prelude"],
    &["kernels"],
    &["tools", "bin"],
];

/// Uses of a higher layer that are meant: who, whom, and why.
const EXCEPTIONS: [(&str, &str, &str); 6] = [
    ("diagnostics/diagnostic.rs", "ir", "places are `ir::Loc`, plain data that all stages share"),
    ("diagnostics/json.rs", "ir", "the same"),
    ("diagnostics/render.rs", "ir", "the same"),
    ("diagnostics/source.rs", "ir", "the same"),
    (
        "ir/interpreter/mod.rs",
        "language",
        "takes its arguments as calls give them: `language::argument`, which is plain data",
    ),
    (
        "language/intrinsics.rs",
        "frontend",
        "the companion types of intrinsic functions implement `frontend::generic::Callable`",
    ),
];

/// Most lines of a source file.
const LINES: usize = 600;

/// Files that may be longer, and why.
const LONG_FILES: [(&str, &str); 0] = [];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Rust files below a directory of the repository, with their text; names relative to the directory.
fn sources(directory: &str) -> Vec<(String, String)> {
    let (start, mut files) = (root().join(directory), Vec::new());
    let mut open = vec![start.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(&start).unwrap().to_string_lossy().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "no sources in {directory}");
    files.sort();
    files
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// Modules that a text names as `crate::module`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or(""))
}

#[test]
fn layers_name_only_lower_layers() {
    let mut wrong = Vec::new();
    for (file, text) in sources("pypto/src") {
        let module = file.split('/').next().unwrap_or("").trim_end_matches(".rs").to_owned();
        // Tests use the language as users do.
        if module == "lib" || file.contains("/tests") {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("`{module}` is in no layer"));
        for other in named(&text) {
            let excepted = EXCEPTIONS.iter().any(|(who, whom, _)| *who == file && *whom == other);
            if layer(other).is_some_and(|other| other > own) && !excepted {
                wrong.push(format!("{file} names {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn exceptions_are_needed() {
    let files = sources("pypto/src");
    for (who, whom, _) in EXCEPTIONS {
        let text = files.iter().find(|(name, _)| name == who).map(|(_, text)| text.as_str());
        assert!(text.is_some_and(|text| named(text).any(|m| m == whom)), "{who} does not name {whom}");
    }
}

#[test]
fn files_are_short() {
    for directory in
        ["pypto/src", "pypto/tests", "pypto/benches", "pypto-macros/src", "tests/tests", "examples", "ui-tests"]
    {
        for (file, text) in sources(directory) {
            let lines = text.lines().count();
            let excepted = LONG_FILES.iter().any(|(name, _)| *name == file);
            assert!(lines <= LINES || excepted, "{directory}/{file} has {lines} lines");
        }
    }
}

#[test]
fn environment_variables_are_documented() {
    let table = ["docs/ARCHITECTURE.md", "docs/configuration.md"]
        .map(|file| fs::read_to_string(root().join(file)).unwrap())
        .concat();
    for directory in ["pypto/src", "pypto/benches", "pypto-macros/src", "examples"] {
        for (file, text) in sources(directory) {
            for rest in text.split("\"PYPTO_").skip(1) {
                let end = rest.find('"').unwrap_or(rest.len());
                let name = format!("PYPTO_{}", &rest[..end]);
                let is_name = name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
                assert!(
                    !is_name || table.contains(&format!("`{name}")),
                    "{file}: `{name}` is not in docs/configuration.md"
                );
            }
        }
    }
}

#[test]
fn one_file_reads_the_environment() {
    for (file, text) in sources("pypto/src") {
        let reads = ["env::var", "env::vars"].iter().any(|call| text.contains(call));
        assert!(!reads || file == "config/environment.rs" || file.contains("/tests/"), "{file} reads the environment");
    }
}

#[test]
fn leaves_name_nothing_above() {
    let uses = |file: &str| {
        let text = fs::read_to_string(root().join("pypto/src").join(file)).unwrap();
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        named(&code).map(str::to_owned).collect::<Vec<_>>()
    };
    for (file, allowed) in [("artifact/parameters.rs", "ir"), ("config/environment.rs", "")] {
        let wrong: Vec<String> = uses(file).into_iter().filter(|module| module != allowed).collect();
        assert!(wrong.is_empty(), "{file} names {wrong:?}");
    }
}
