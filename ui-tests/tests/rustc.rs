//! What rustc and the macros say about wrong kernels: each `rustc/*.rs` has its text beside it.
//!
//! After a deliberate change of a message: `TRYBUILD=overwrite cargo test -p pypto-ui-tests --test rustc`.

#[test]
fn wrong_kernels_get_the_recorded_errors() {
    trybuild::TestCases::new().compile_fail("rustc/*.rs");
}
