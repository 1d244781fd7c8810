//! Compile-time integers given at a call: `softmax.with(meta!{TM: 128})`.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    /// For the next launch of this thread.
    static CURRENT: Cell<Option<Arc<MetaValues>>> = const { Cell::new(None) };
    /// For the eager bodies of this thread, by the kernels' companion types, innermost last.
    static EAGER: RefCell<Vec<(TypeId, Arc<MetaValues>)>> = const { RefCell::new(Vec::new()) };
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

    /// Runs the eager body of a kernel with these values; kernels that it calls keep theirs.
    pub(crate) fn during_eager<R>(kernel: TypeId, this: &Arc<MetaValues>, body: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                EAGER.with_borrow_mut(Vec::pop);
            }
        }
        EAGER.with_borrow_mut(|values| values.push((kernel, this.clone())));
        let _leave = Leave;
        body()
    }

    /// The value that [`MetaValues::during_eager`] set for a kernel.
    pub(crate) fn of_eager(kernel: TypeId, name: &str) -> Option<i64> {
        EAGER.with_borrow(|values| values.iter().rev().find(|(k, _)| *k == kernel).and_then(|(_, v)| v.get(name)))
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
