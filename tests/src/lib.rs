//! What the integration tests share: the example programs as modules and other programs, contents of tensors, comparison bit for bit,
//! what is done with texts of programs, and the program after every pass.

pub mod bits;
// Not in the library's own test harness: the programs' tests run with the programs.
#[cfg(not(test))]
pub mod examples;
pub mod fill;
pub mod program_text;
pub mod stages;
pub mod two_roots;
