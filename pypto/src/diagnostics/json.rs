//! Diagnostics for editors: the JSON that rustc prints, one object a line. What reads rustc's, as rust-analyzer does, reads
//! these.

use serde_json::{Value, json};

use super::source::{self, SourceText};
use super::{Diagnostic, Diagnostics, Label, Severity, render};
use crate::ir::Loc;

/// How the lines begin, by which they are found among other output.
pub const START: &str = "{\"$message_type\":\"diagnostic\"";

/// A line for each, in rustc's form.
pub fn lines(diagnostics: &Diagnostics) -> String {
    diagnostics.0.iter().map(|diagnostic| line(diagnostic) + "\n").collect()
}

/// One diagnostic in one line.
pub fn line(diagnostic: &Diagnostic) -> String {
    let secondary = diagnostic.secondary.iter().map(|label| span(label, false));
    let spans: Vec<Value> = std::iter::once(span(&diagnostic.primary, true)).chain(secondary).collect();
    let (notes, helps) = (diagnostic.notes.iter().map(|n| ("note", n)), diagnostic.helps.iter().map(|h| ("help", h)));
    let children: Vec<Value> = notes.chain(helps).map(|(level, text)| child(level, text)).collect();
    let message = json!({
        "message": diagnostic.title,
        "code": { "code": diagnostic.code.to_string(), "explanation": null },
        "level": level(diagnostic.severity),
        "spans": spans,
        "children": children,
        "rendered": render(diagnostic, false),
    });
    // The marker comes first, as rustc writes it; the order of an object's keys is its own affair.
    format!("{START},{}", &message.to_string()[1..])
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "help",
        Severity::Internal => "error: internal compiler error",
    }
}

fn child(level: &str, text: &str) -> Value {
    json!({ "message": text, "code": null, "level": level, "spans": [], "children": [], "rendered": null })
}

fn span(label: &Label, primary: bool) -> Value {
    let Loc { line, column, end_line, end_column, file } = label.loc;
    let source = source::text_for(label.loc);
    let (start, end) =
        source.as_ref().map_or((0, 0), |text| (byte(text, line, column), byte(text, end_line, end_column)));
    json!({
        "file_name": file.name(),
        "byte_start": start,
        "byte_end": end,
        "line_start": line,
        "line_end": end_line,
        "column_start": column,
        "column_end": end_column,
        "is_primary": primary,
        "text": source.map_or(Vec::new(), |text| highlights(&text, label.loc)),
        "label": Some(&label.text).filter(|text| !text.is_empty()),
        "suggested_replacement": null,
        "suggestion_applicability": null,
        "expansion": null,
    })
}

/// Bytes before a place; exact where the text is the whole file.
fn byte(source: &SourceText, line: u32, column: u32) -> usize {
    let before = line.saturating_sub(source.first_line) as usize;
    let start: usize = source.text.split_inclusive('\n').take(before).map(str::len).sum();
    let within: usize = source
        .text
        .lines()
        .nth(before)
        .map_or(0, |text| text.chars().take(column.saturating_sub(1) as usize).map(char::len_utf8).sum());
    start + within
}

/// The lines of a place, with the columns that count.
fn highlights(source: &SourceText, loc: Loc) -> Vec<Value> {
    let lines = (loc.line..=loc.end_line).filter_map(|line| {
        let text = source.text.lines().nth(line.checked_sub(source.first_line)? as usize)?;
        let end = text.chars().count() as u32 + 1;
        let first = if line == loc.line { loc.column } else { 1 };
        let last = if line == loc.end_line { loc.end_column } else { end };
        Some(json!({ "text": text, "highlight_start": first, "highlight_end": last }))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::super::codes;
    use super::*;
    use crate::ir::FileId;

    #[test]
    fn a_line_is_what_rustc_prints() {
        let file = FileId::intern("not/on/disk/json.rs");
        source::register(source::Captured { file, line: 7, column: 1, text: "let ä = 1;\nlet r = matmul(a, b);" });
        let diagnostic = Diagnostic::error(codes::CONTRACTION, Loc::new(file, 8, 9, 8, 21), "they differ", "here")
            .label(Loc::new(file, 7, 5, 7, 6), "")
            .help("load \"slices\"");
        let text = line(&diagnostic);
        assert!(text.starts_with(START) && !text.contains('\n'), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["code"]["code"], &value["level"]), (&json!("PTO0203"), &json!("error")));
        let primary = &value["spans"][0];
        assert_eq!((&primary["is_primary"], &primary["label"]), (&json!(true), &json!("here")));
        assert_eq!((&primary["byte_start"], &primary["byte_end"]), (&json!(20), &json!(32)));
        assert_eq!(primary["text"][0]["highlight_start"], json!(9));
        assert_eq!(value["spans"][1]["label"], Value::Null);
        assert_eq!(value["children"][0]["message"], json!("load \"slices\""));
        assert!(value["rendered"].as_str().unwrap().contains("error[PTO0203]"));
    }
}
