//! How tensors and tiles print.

use std::fmt;

/// At most this many elements are printed.
const SHOWN: usize = 64;

/// The first elements in brackets.
pub(super) fn elements<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, elements: &[T]) -> fmt::Result {
    if elements.len() <= SHOWN {
        return write!(f, "{elements:?}");
    }
    f.debug_list().entries(&elements[..SHOWN]).finish_non_exhaustive()
}
