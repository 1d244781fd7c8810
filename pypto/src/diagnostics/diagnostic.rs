//! The one diagnostic type of the compiler. A diagnostic has a code, a title that states the contradiction with values,
//! and a primary place: the constructor demands it.

use std::fmt;

use crate::ir::Loc;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The user's kernel or call is wrong.
    Error,
    /// It works, but not as the user may think.
    Warning,
    /// Advice about speed.
    Hint,
    /// A fault of the compiler itself.
    Internal,
}

/// A stable code, `PTO0203`; the list is in [`super::codes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTO{:04}", self.0)
    }
}

/// A place with what is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub loc: Loc,
    pub text: String,
}

/// One thing that is wrong, where, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// One line that states the contradiction, with values.
    pub title: String,
    /// The smallest guilty expression.
    pub primary: Label,
    /// The origins of the conflicting facts.
    pub secondary: Vec<Label>,
    pub notes: Vec<String>,
    /// Concrete edits.
    pub helps: Vec<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, loc: Loc, title: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            title: title.into(),
            primary: Label { loc, text: label.into() },
            secondary: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
        }
    }

    /// The same with another severity.
    pub fn with_severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// With a secondary place.
    pub fn label(mut self, loc: Loc, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { loc, text: text.into() });
        self
    }

    /// With a note.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// With a concrete edit.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
            Severity::Internal => "internal error",
        })
    }
}

/// The short form: place, code and title in one line, then the primary label, notes and helps.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, severity, title, primary, notes, helps, .. } = self;
        write!(f, "{}: {severity}[{code}]: {title}", primary.loc)?;
        if !primary.text.is_empty() {
            write!(f, "\n  {}", primary.text)?;
        }
        for label in &self.secondary {
            write!(f, "\n  {}: {}", label.loc, label.text)?;
        }
        for note in notes {
            write!(f, "\n  note: {note}")?;
        }
        for help in helps {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// How many diagnostics of one stage are reported; the rest is counted.
pub const MAX_REPORTED: usize = 20;

/// The errors of one stage, in source order.
///
/// `Debug` is the readable form of `Display`, so that `.unwrap()` shows what is wrong.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Sorts by place, drops repetitions, and keeps the first [`MAX_REPORTED`], the last of which then tells how many
    /// more there are.
    pub fn finish(mut self) -> Diagnostics {
        self.0.sort_by(|a, b| (a.primary.loc, a.code, &a.title).cmp(&(b.primary.loc, b.code, &b.title)));
        self.0.dedup_by(|a, b| a.primary.loc == b.primary.loc && a.code == b.code && a.title == b.title);
        let more = self.0.len().saturating_sub(MAX_REPORTED);
        self.0.truncate(MAX_REPORTED);
        if more > 0
            && let Some(last) = self.0.last_mut()
        {
            last.notes.push(format!("{more} more errors are not shown"));
        }
        self
    }

    /// The same with a note on each, for example what was being specialized.
    pub fn with_note(mut self, text: &str) -> Diagnostics {
        for diagnostic in &mut self.0 {
            diagnostic.notes.push(text.to_owned());
        }
        self
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| matches!(d.severity, Severity::Error | Severity::Internal))
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics(diagnostics)
    }
}
