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

/// The errors of one stage, in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}
