//! Compile-time integers given at a call: `softmax.with(meta!{TM: 128})`.

use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    static CURRENT: Cell<Option<Arc<MetaValues>>> = const { Cell::new(None) };
}

/// Values for some of a kernel's `meta(..)` parameters; the others keep their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MetaValues(Vec<(&'static str, i64)>);

impl MetaValues {
    /// No values: every default stays.
    pub const fn new() -> MetaValues {
        MetaValues(Vec::new())
    }

    /// With one more value; a later value of the same name wins.
    pub fn set(mut self, name: &'static str, value: i64) -> MetaValues {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
        self
    }

    /// The value of that name, if one was given.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }

    /// Names and values, in the order in which they were first given.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Runs `call` with these values for the first launch in it.
    pub(crate) fn during<R>(this: &Arc<MetaValues>, call: impl FnOnce() -> R) -> R {
        struct Restore(Option<Arc<MetaValues>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(this.clone())));
        call()
    }

    /// The values that [`MetaValues::during`] set; takes them, for they are for one launch.
    pub(crate) fn take_current() -> Option<Arc<MetaValues>> {
        CURRENT.take()
    }

    /// Whether no value was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Values of `meta(..)` parameters: `meta!{TM: 128, TN: 64}`.
#[macro_export]
macro_rules! meta {
    ($($name:ident : $value:expr),* $(,)?) => {
        $crate::jit::MetaValues::new()$(.set(stringify!($name), $value))*
    };
}
