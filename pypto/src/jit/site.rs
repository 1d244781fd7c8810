//! A call site: the launcher function of one kernel, with room for the specialization that it used last.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::variant::Variant;

/// The static beside every launcher function, made by [`call_site!`](crate::call_site).
///
/// A static inside a generic function is one for all its instances, so an entry is only a guess: the launch compares
/// element types as it compares extents.
pub struct CallSite {
    last: AtomicPtr<Variant>,
}

impl CallSite {
    /// A call site that was not used yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> CallSite {
        CallSite { last: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The variant used last.
    pub(super) fn last(&self) -> Option<&'static Variant> {
        // SAFETY: only `set` writes it, and variants live as long as the process.
        unsafe { self.last.load(Ordering::Acquire).as_ref() }
    }

    /// Remembers the variant used last.
    pub(super) fn set(&self, variant: &'static Variant) {
        self.last.store(std::ptr::from_ref(variant).cast_mut(), Ordering::Release);
    }
}

/// The [`CallSite`](crate::jit::CallSite) of the place where it is written.
#[macro_export]
#[doc(hidden)]
macro_rules! call_site {
    () => {{
        static SITE: $crate::jit::CallSite = $crate::jit::CallSite::new();
        &SITE
    }};
}
