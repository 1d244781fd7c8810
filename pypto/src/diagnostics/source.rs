//! Source text for rendering: from the file that a place names, or, where that is gone or has changed since the kernel
//! was built, from the text that the macro captured.

use std::path::Path;
use std::sync::{RwLock, RwLockReadGuard};

use crate::ir::{FileId, Loc};

/// The text of one function as the macro captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    pub file: FileId,
    /// Line and column of the text's first character, from 1.
    pub line: u32,
    pub column: u32,
    pub text: &'static str,
}

static CAPTURED: RwLock<Vec<Captured>> = RwLock::new(Vec::new());

fn captured() -> RwLockReadGuard<'static, Vec<Captured>> {
    CAPTURED.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Makes a function's text known. Repetitions are ignored.
pub fn register(text: Captured) {
    if captured().contains(&text) {
        return;
    }
    CAPTURED.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(text);
}

/// Source text to show, with the line at which it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    pub text: String,
    pub first_line: u32,
}

/// The text around a place: the whole file, or the captured function; `None` where neither is known.
pub fn text_for(loc: Loc) -> Option<SourceText> {
    let functions = captured();
    let function = functions.iter().find(|c| {
        c.file == loc.file && c.line <= loc.line && loc.end_line < c.line + (c.text.lines().count() as u32).max(1)
    });
    let file = read(loc.file.name()).filter(|text| function.is_none_or(|f| holds(text, f)));
    match (file, function) {
        (Some(text), _) => Some(SourceText { text, first_line: 1 }),
        (None, Some(f)) => {
            let indent = " ".repeat(f.column.saturating_sub(1) as usize);
            Some(SourceText { text: format!("{indent}{}", f.text), first_line: f.line })
        }
        (None, None) => None,
    }
}

/// Whether the file still has the captured text at its place.
fn holds(file: &str, function: &Captured) -> bool {
    let mut lines = file.lines().skip(function.line.saturating_sub(1) as usize);
    function.text.lines().all(|captured| lines.next().is_some_and(|line| line.trim() == captured.trim()))
}

/// rustc names files relative to the workspace, while programs run anywhere below it; so the ancestors of the current
/// directory are tried too.
fn read(name: &str) -> Option<String> {
    let path = Path::new(name);
    if path.is_absolute() {
        return std::fs::read_to_string(path).ok();
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().take(4).find_map(|directory| std::fs::read_to_string(directory.join(path)).ok())
}
