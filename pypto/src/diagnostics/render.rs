//! Rendering in rustc's layout. Places in several files become one excerpt a file, the primary one first.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::source::{self, SourceText};
use super::{Diagnostic, Diagnostics, Label, Severity};
use crate::ir::Loc;

/// One diagnostic with its source text; `color` adds ANSI colours.
pub fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let level = level(diagnostic.severity);
    let code = diagnostic.code.to_string();
    let mut group = level.primary_title(diagnostic.title.as_str()).id(code).elements(excerpts(diagnostic));
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &diagnostic.helps {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let report: [Group<'_>; 1] = [group];
    let mut text = renderer.render(&report);
    text.push('\n');
    text
}

/// All of them, separated by empty lines, with a count at the end where there are several.
pub fn render_all(diagnostics: &Diagnostics, color: bool) -> String {
    let mut text = diagnostics.0.iter().map(|d| render(d, color)).collect::<Vec<_>>().join("\n");
    if diagnostics.0.len() > 1 {
        text.push_str(&format!("\n{} problems found\n", diagnostics.0.len()));
    }
    text
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::HELP.with_name("hint"),
        Severity::Internal => Level::ERROR.with_name("internal error"),
    }
}

/// One excerpt for each file that a label lies in.
fn excerpts(diagnostic: &Diagnostic) -> Vec<Snippet<'static, annotate_snippets::Annotation<'static>>> {
    let mut groups: Vec<(SourceText, Loc, Vec<(bool, &Label)>)> = Vec::new();
    let labels = std::iter::once((true, &diagnostic.primary)).chain(diagnostic.secondary.iter().map(|l| (false, l)));
    for (primary, label) in labels {
        let same = |(text, loc, _): &&mut (SourceText, Loc, Vec<_>)| {
            loc.file == label.loc.file && range(text, label.loc).is_some()
        };
        if let Some((_, _, group)) = groups.iter_mut().find(same) {
            group.push((primary, label));
            continue;
        }
        // Without any text the place is still named: an empty line stands for the source.
        let text = source::text_for(label.loc)
            .unwrap_or_else(|| SourceText { text: " ".to_owned(), first_line: label.loc.line });
        groups.push((text, label.loc, vec![(primary, label)]));
    }
    groups.into_iter().map(|(text, loc, labels)| excerpt(text, loc, &labels)).collect()
}

fn excerpt(
    source: SourceText,
    loc: Loc,
    labels: &[(bool, &Label)],
) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
    let annotations = labels.iter().map(|(primary, label)| {
        let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(range(&source, label.loc).unwrap_or(0..0));
        if label.text.is_empty() { annotation } else { annotation.label(label.text.clone()) }
    });
    let annotations: Vec<_> = annotations.collect();
    Snippet::source(source.text).path(loc.file.name()).line_start(source.first_line as usize).annotations(annotations)
}

/// Byte range of a place within a text; `None` where the text does not have it.
fn range(source: &SourceText, loc: Loc) -> Option<Range<usize>> {
    let start = offset(source, loc.line, loc.column)?;
    let end = offset(source, loc.end_line, loc.end_column)?;
    (start <= end).then_some(start..end)
}

fn offset(source: &SourceText, line: u32, column: u32) -> Option<usize> {
    let index = line.checked_sub(source.first_line)? as usize;
    let start: usize = source.text.split_inclusive('\n').take(index).map(str::len).sum();
    let text = source.text.split_inclusive('\n').nth(index)?.trim_end_matches('\n');
    let within = text.char_indices().nth(column.checked_sub(1)? as usize).map_or(text.len(), |(at, _)| at);
    Some(start + within)
}

#[cfg(test)]
mod tests {
    use super::super::{codes, source};
    use super::*;
    use crate::ir::FileId;

    const TEXT: &str = "let a = x.tile([0, 0], [128, 64]);\n    let r = matmul(a, b);";

    fn sample() -> Diagnostic {
        let file = FileId::intern("not/on/disk.rs");
        source::register(source::Captured { file, line: 7, column: 5, text: TEXT });
        Diagnostic::error(
            codes::CONTRACTION,
            Loc::new(file, 8, 13, 8, 25),
            "contraction dimensions of `matmul` differ: 64 and 32",
            "lhs is [128, 64], rhs is [32, 128]",
        )
        .label(Loc::new(file, 7, 28, 7, 37), "K = 64 comes from this tile shape")
        .note("while specializing `gemm`")
        .help("load matching slices")
    }

    #[test]
    fn layout_is_that_of_rustc() {
        insta::assert_snapshot!(render(&sample(), false), @r"
        error[PTO0203]: contraction dimensions of `matmul` differ: 64 and 32
         --> not/on/disk.rs:8:13
          |
        7 |     let a = x.tile([0, 0], [128, 64]);
          |                            --------- K = 64 comes from this tile shape
        8 |     let r = matmul(a, b);
          |             ^^^^^^^^^^^^ lhs is [128, 64], rhs is [32, 128]
          |
          = note: while specializing `gemm`
          = help: load matching slices
        ");
    }

    #[test]
    fn colours_are_optional() {
        assert!(!render(&sample(), false).contains('\x1b'));
        assert!(render(&sample(), true).contains('\x1b'));
    }

    #[test]
    fn a_place_without_text_is_named() {
        let loc = Loc::new(FileId::intern("gone.rs"), 3, 9, 3, 10);
        let text = render(&Diagnostic::error(codes::INTERNAL, loc, "broken", "here"), false);
        assert!(text.contains("gone.rs:3"), "{text}");
    }
}
