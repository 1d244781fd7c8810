//! Patterns of `let` and `for`: a name, `_`, or a tuple or array of these.

use syn::Pat;

use super::Capture;
use crate::code;

impl Capture<'_> {
    /// A pattern; binds its names in the innermost scope.
    pub(super) fn pattern(&mut self, pattern: &Pat) -> String {
        match pattern {
            Pat::Ident(p) => {
                if let Some(token) = &p.by_ref {
                    self.errors.over(token, "`ref` is not supported in a kernel body: bind the value itself");
                }
                if let Some((token, _)) = &p.subpat {
                    self.errors.over(token, "`@` patterns are not supported in a kernel body: use two `let`s");
                }
                self.scope.bind(&p.ident);
                format!("name {} {}", code::ident(&p.ident), p.mutability.is_some())
            }
            Pat::Wild(p) => format!("ignore {}", code::range(p)),
            Pat::Paren(p) => self.pattern(&p.pat),
            Pat::Tuple(p) => {
                let items: Vec<String> = p.elems.iter().map(|item| self.pattern(item)).collect();
                format!("tuple {} {}", code::list(items), code::range(p))
            }
            Pat::Slice(p) => {
                let items: Vec<String> = p.elems.iter().map(|item| self.pattern(item)).collect();
                format!("tuple {} {}", code::list(items), code::range(p))
            }
            other => {
                let what = match other {
                    Pat::Reference(_) => "reference patterns are not supported in a kernel body: bind a plain name",
                    Pat::Struct(_) | Pat::TupleStruct(_) => {
                        "struct patterns are not supported in a kernel body: use tuples, or read the fields"
                    }
                    Pat::Rest(_) => "`..` is not supported in a pattern: name every entry, or write `_`",
                    Pat::Type(_) => "a type belongs after the whole pattern: `let (a, b): (A, B) = ..`",
                    _ => "a pattern in a kernel body is a name, `_`, or a tuple or array of these",
                };
                self.errors.over(other, what);
                String::new()
            }
        }
    }
}
