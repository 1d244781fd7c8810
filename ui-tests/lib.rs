//! Tests of what users read: errors of rustc and the macros, and of the JIT.
