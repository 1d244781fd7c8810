//! The texts of `print!` and of assertions: placeholders `{}`, `{:?}`, and with them a sign, a width, an alignment and a precision, as
//! `format!` has them. Values are taken in order.

use std::fmt::Write;

use super::{Report, Shown};
use crate::ops::reference::{Scalar, with_element};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spec {
    fill: char,
    /// `<`, `^` or `>`.
    align: Option<char>,
    plus: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    debug: bool,
}

/// What stands for a placeholder.
#[derive(Clone, Debug)]
pub enum Part {
    Value(Shown),
    /// As it is.
    Text(String),
    /// The placeholder itself: its value comes later.
    Later,
}

impl Report {
    /// The text with the values in it.
    pub fn to_text(&self) -> String {
        write(&self.text, &self.values)
    }
}

/// The text of a template with these values; placeholders without a value are left out, and doubled braces are one.
pub fn write(template: &str, values: &[Shown]) -> String {
    let (mut text, mut values) = (String::new(), values.iter());
    pieces(template, &mut |piece| match piece {
        Piece::Char(c) => text.push(c),
        Piece::Placeholder(inside) => {
            let spec = Spec::of(inside.strip_prefix(':').unwrap_or(&inside));
            if let Some(value) = values.next() {
                spec.write(&mut text, value);
            }
        }
    });
    text
}

/// The template with parts in place of its placeholders.
pub fn fill(template: &str, parts: &[Part]) -> String {
    let (mut text, mut parts) = (String::new(), parts.iter());
    let doubled = |text: &str| text.replace('{', "{{").replace('}', "}}");
    pieces(template, &mut |piece| match piece {
        Piece::Char(c) => text.push_str(&doubled(c.encode_utf8(&mut [0; 4]))),
        Piece::Placeholder(inside) => match parts.next() {
            Some(Part::Value(value)) => {
                let mut written = String::new();
                Spec::of(inside.strip_prefix(':').unwrap_or(&inside)).write(&mut written, value);
                text.push_str(&doubled(&written));
            }
            Some(Part::Text(part)) => text.push_str(&doubled(part)),
            Some(Part::Later) | None => text.push_str(&format!("{{{inside}}}")),
        },
    });
    text
}

enum Piece {
    Char(char),
    /// With what stands between its braces.
    Placeholder(String),
}

fn pieces(template: &str, each: &mut dyn FnMut(Piece)) {
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                each(Piece::Char(c));
            }
            '{' => each(Piece::Placeholder(rest.by_ref().take_while(|c| *c != '}').collect())),
            c => each(Piece::Char(c)),
        }
    }
}

impl Spec {
    /// `[[fill]align][+][0][width][.precision][?]`, which the macros have checked.
    fn of(text: &str) -> Spec {
        let chars: Vec<char> = text.chars().collect();
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '^' | '>'));
        let (fill, align, start) = match chars.as_slice() {
            [fill, align, ..] if is_align(Some(align)) => (*fill, Some(*align), 2),
            [align, ..] if is_align(Some(align)) => (' ', Some(*align), 1),
            _ => (' ', None, 0),
        };
        let mut rest: String = chars[start..].iter().collect();
        let debug = rest.ends_with('?');
        rest.truncate(rest.trim_end_matches('?').len());
        let plus = rest.starts_with('+');
        let rest = rest.trim_start_matches('+');
        let (width, precision) = rest.split_once('.').map_or((rest, None), |(width, p)| (width, p.parse().ok()));
        let zeros = width.starts_with('0');
        Spec { fill, align, plus, zeros, width: width.parse().unwrap_or(0), precision, debug }
    }

    fn write(self, text: &mut String, value: &Shown) {
        let Shown::Scalar(scalar) = value else {
            // Writing to a string does not fail.
            let _ = write!(text, "{value}");
            return;
        };
        let mut digits = self.digits(*scalar);
        let number = scalar.dtype != crate::ir::DType::Bool;
        if self.plus && number && !digits.starts_with(['-', 'N']) {
            digits.insert(0, '+');
        }
        let missing = self.width.saturating_sub(digits.chars().count());
        if self.zeros && number {
            let at = usize::from(digits.starts_with(['+', '-']));
            digits.insert_str(at, &"0".repeat(missing));
            text.push_str(&digits);
            return;
        }
        let by_kind = if scalar.dtype == crate::ir::DType::Bool { '<' } else { '>' };
        let before = match self.align.unwrap_or(by_kind) {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        text.extend(std::iter::repeat_n(self.fill, before));
        text.push_str(&digits);
        text.extend(std::iter::repeat_n(self.fill, missing - before));
    }

    fn digits(self, scalar: Scalar) -> String {
        with_element!(scalar.dtype, T => {
            let value = scalar.get::<T>();
            match (self.precision, self.debug) {
                (None, false) => format!("{value}"),
                (None, true) => format!("{value:?}"),
                (Some(precision), false) => format!("{value:.precision$}"),
                (Some(precision), true) => format!("{value:.precision$?}"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::report::ReportKind;
    use crate::ir::{FileId, Loc};
    use crate::ops::reference::{Array, Shape};

    fn text(template: &str, values: Vec<Shown>) -> String {
        let loc = Loc::new(FileId::intern("k.rs"), 1, 1, 1, 2);
        let report = Report { kind: ReportKind::Print, text: template.to_owned(), origin: String::new(), loc, values };
        report.to_text()
    }

    #[test]
    fn numbers_are_written_as_format_writes_them() {
        let x = -1.5f32;
        let one = |template: &str| text(template, vec![Shown::Scalar(Scalar::new(x))]);
        assert_eq!(one("{}"), format!("{x}"));
        assert_eq!(one("{:?}"), format!("{x:?}"));
        assert_eq!(one("{:8.3}|"), format!("{x:8.3}|"));
        assert_eq!(one("{:<8}|"), format!("{x:<8}|"));
        assert_eq!(one("{:*^9.2}"), format!("{x:*^9.2}"));
        assert_eq!(one("{:+}"), format!("{x:+}"));
        assert_eq!(one("{:08.2}"), format!("{x:08.2}"));
        assert_eq!(text("{:+03}", vec![Shown::Scalar(Scalar::new(7i64))]), format!("{:+03}", 7));
        assert_eq!(text("{:06}|", vec![Shown::Scalar(Scalar::new(f32::NAN))]), format!("{:06}|", f32::NAN));
        assert_eq!(text("{:6}|", vec![Shown::Scalar(Scalar::new(true))]), format!("{:6}|", true));
    }

    #[test]
    fn braces_and_tiles() {
        let tile = Array::from_vec(vec![1.0f32, 2.0], Shape::from([1, 2]));
        assert_eq!(text("{{{:?}}}\n", vec![Shown::Tile(tile)]), "{Tile<f32>[1, 2] [1.0, 2.0]}\n");
    }
}
