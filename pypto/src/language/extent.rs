//! The contracts of `#[shape(..)]` in eager runs: literal extents, and names that several parameters share.

/// Compares an extent with what `#[shape]` says of it; the macros put the call in front of an eager body.
///
/// `name` is the shared name, empty where the attribute has a literal.
///
/// # Panics
/// Where the extent differs, as indexing out of bounds does in plain Rust. A compiled call returns an error instead.
#[doc(hidden)]
#[track_caller]
pub fn check(parameter: &str, axis: usize, found: i64, name: &str, expected: i64) {
    if found != expected {
        let said = if name.is_empty() { String::new() } else { format!("`{name}`, which is ") };
        panic!("dimension {axis} of `{parameter}` is {found}, but its `#[shape]` says {said}{expected}");
    }
}

/// The named extents of one struct parameter.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Names(Vec<(&'static str, i64)>);

impl Names {
    /// Compares an extent with the name's, or gives the name its extent.
    ///
    /// # Panics
    /// As [`check`].
    #[track_caller]
    pub fn check(&mut self, parameter: &str, axis: usize, found: i64, name: &'static str) {
        match self.0.iter().find(|(known, _)| *known == name) {
            Some((_, expected)) => check(parameter, axis, found, name, *expected),
            None => self.0.push((name, found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, check};

    #[test]
    #[should_panic(expected = "dimension 0 of `w.b` is 3, but its `#[shape]` says `K`, which is 4")]
    fn fields_share_names_with_one_another() {
        let mut names = Names::default();
        names.check("w.a", 0, 2, "M");
        names.check("w.a", 1, 4, "K");
        names.check("w.b", 0, 3, "K");
    }

    #[test]
    fn equal_extents_pass() {
        check("x", 0, 4, "M", 4);
    }

    #[test]
    #[should_panic(expected = "dimension 1 of `b` is 3, but its `#[shape]` says `K`, which is 4")]
    fn different_extents_panic_with_names() {
        check("b", 1, 3, "K", 4);
    }
}
