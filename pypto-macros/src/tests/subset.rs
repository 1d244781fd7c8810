//! `docs/rust-subset.md` is what the macro does: every row of its tables is tried.

use super::{errors, expand_item};

/// A row: construct, example, and the meaning or the error.
struct Row {
    construct: String,
    example: String,
    last: String,
}

/// The rows of the table under a heading.
fn rows(heading: &str) -> Vec<Row> {
    let text = include_str!("../../../docs/rust-subset.md");
    let section = text.split("\n## ").find(|s| s.starts_with(heading)).expect("the heading is in the document");
    let lines = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    lines.map(|line| row(line).unwrap_or_else(|| panic!("malformed row: {line}"))).collect()
}

fn row(line: &str) -> Option<Row> {
    let line = line.replace("\\|", "\u{1}");
    let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|"));
    let (construct, example, last) = (cells.next()?, cells.next()?, cells.next()?);
    let example = example.strip_prefix('`')?.strip_suffix('`')?.to_owned();
    cells.next().is_none().then_some(Row { construct, example, last })
}

fn in_body(example: &str) -> String {
    format!(
        "#[pypto::function] fn k<T: Element>(#[shape(M, N)] x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>, \
         w: &Tensor<T, 1>, n: i64, s: f32, flag: bool) {{ {example} }}"
    )
}

fn accepted(row: &Row, item: &str) {
    assert_eq!(errors(&expand_item(item)), Vec::<String>::new(), "{}: {}", row.construct, row.example);
}

fn rejected(row: &Row, item: &str) {
    let found = errors(&expand_item(item));
    assert_eq!(found.len(), 1, "{}: {} gives {found:?}", row.construct, row.example);
    assert!(found[0].contains(&row.last), "{}: expected {}, found {}", row.construct, row.last, found[0]);
}

#[test]
fn subset_accepted_in_bodies() {
    let rows = rows("Accepted in bodies");
    assert!(rows.len() > 30);
    rows.iter().for_each(|row| accepted(row, &in_body(&row.example)));
}

#[test]
fn subset_rejected_in_bodies() {
    let rows = rows("Rejected in bodies");
    assert!(rows.len() > 40);
    rows.iter().for_each(|row| rejected(row, &in_body(&row.example)));
}

#[test]
fn subset_accepted_signatures() {
    rows("Accepted signatures").iter().for_each(|row| accepted(row, &row.example));
}

#[test]
fn subset_rejected_signatures() {
    rows("Rejected signatures").iter().for_each(|row| rejected(row, &row.example));
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = errors(&expand_item(&in_body("let a = b?; unsafe {} let f = || 1; c[0] = 1u64;")));
    assert_eq!(found.len(), 5, "{found:?}");
}
