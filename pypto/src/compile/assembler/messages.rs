//! What the assembler says about a text, at the places in Rust that the text is from.
//!
//! It names a place as `FILE:LINE:COLUMN: error: ..`, where the file is the text itself, or, for operations with a `loc`
//! trailer, the file of Rust that the trailer names, with or without quotes and `loc(..)` around it.

use crate::codegen::ascend::AscendKernel;
use crate::codegen::ascend::dialect::{Inst, Place};
use crate::ir::Loc;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub is_error: bool,
    pub text: String,
    /// Where in the user's source; `None` where the text tells no place.
    pub loc: Option<Loc>,
}

/// The messages in what the assembler said about a kernel.
pub(super) fn read(said: &str, kernel: &AscendKernel) -> Vec<Message> {
    said.lines().filter_map(|line| message(line, kernel)).collect()
}

fn message(line: &str, kernel: &AscendKernel) -> Option<Message> {
    let kinds = [("error: ", true), ("warning: ", false), ("note: ", false)];
    let (at, kind, is_error) = kinds.iter().filter_map(|(kind, e)| line.find(kind).map(|at| (at, *kind, *e))).min()?;
    let before = line[..at].trim().trim_end_matches(':').trim();
    let text = line[at + kind.len()..].trim().to_owned();
    let loc = place(before).and_then(|(file, line, column)| resolve(kernel, file, line, column));
    Some(Message { is_error, text, loc })
}

/// `FILE:LINE:COLUMN`, perhaps as `loc("FILE":LINE:COLUMN)`.
fn place(text: &str) -> Option<(&str, u32, u32)> {
    let text = text.strip_prefix("loc(").and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file.trim_matches('"'), line.parse().ok()?, column.parse().ok()?))
}

fn resolve(kernel: &AscendKernel, file: &str, line: u32, column: u32) -> Option<Loc> {
    if file.ends_with(".pto") {
        return trailer(kernel, line);
    }
    let mut found = None;
    visit(&kernel.module.functions.first()?.body, &mut |place| {
        if place.file.name() == file && (place.line, place.column) == (line, column) {
            found = Some(loc(place));
        }
    });
    found
}

/// The place that the line of text names, or the nearest line above that names one: constants and views do not.
fn trailer(kernel: &AscendKernel, line: u32) -> Option<Loc> {
    let lines: Vec<&str> = kernel.text.lines().take(line as usize).collect();
    lines.iter().rev().find_map(|text| {
        let (_, trailer) = text.rsplit_once(" loc(")?;
        let (file, line, column) = place(trailer.strip_suffix(')')?)?;
        resolve(kernel, file, line, column)
    })
}

fn visit(body: &[Inst], f: &mut impl FnMut(Place)) {
    for inst in body {
        inst.place.into_iter().for_each(&mut *f);
        for body in inst.bodies() {
            visit(body, f);
        }
    }
}

fn loc(place: Place) -> Loc {
    Loc::new(place.file, place.line, place.column, place.line, place.column)
}
