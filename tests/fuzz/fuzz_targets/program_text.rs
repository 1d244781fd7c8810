//! Texts of programs: whatever is read from them verifies or is refused, and what verifies goes through the passes. The stable driver is
//! `tests/tests/fuzz.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    pypto_tests::program_text::run(text);
});
