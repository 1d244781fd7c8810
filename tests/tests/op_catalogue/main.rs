//! docs/ops.md is made from the op table, and docs/support-matrix.md names every row of it and nothing that is not there.
//!
//! After a change of the table, or of what Ascend targets translate, write the catalogue anew:
//!
//! ```text
//! cargo test -p pypto-tests --test op_catalogue -- --ignored
//! ```

mod catalogue;
mod matrix;
mod probe;
mod surface;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn the_catalogue_is_that_of_the_table() {
    let (found, expected) = (read("docs/ops.md"), catalogue::text());
    let lines = found.lines().zip(expected.lines()).enumerate();
    if let Some((number, (found, expected))) = lines.into_iter().find(|(_, (found, expected))| found != expected) {
        panic!("docs/ops.md:{}: stands\n  {found}\nbut should\n  {expected}\nsee the head of this test", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "docs/ops.md ends early or late");
}

#[test]
#[ignore = "writes docs/ops.md"]
fn write_the_catalogue() {
    fs::write(root().join("docs/ops.md"), catalogue::text()).unwrap();
}
