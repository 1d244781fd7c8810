//! Every operation of the op table, on every element type that it accepts: what compiled code writes is what the
//! interpreter writes, bit for bit (NaN payloads aside).
//!
//! The cases come from the table: a new row is tested without a change here if its class is known, and fails
//! [`every_operation_has_cases`] otherwise. Extents are 0, 1, prime, and about a tile; contents are special values; ranks are 1 to 3. A
//! kernel that falls back to the interpreter is a failure. Eager tiles are the interpreter's own functions (`ops::reference`).

mod compare;
mod data;
mod elementwise;
mod layout;
mod matmul;
mod permute;
mod random;
mod ranks;
mod reductions;
mod session;
mod stops;
mod structure;
mod transfer;

use pypto::ops::{Class, OpKind};

/// Extents of the tensors.
const EXTENTS: [[i64; 2]; 8] = [[0, 5], [6, 0], [1, 1], [1, 33], [7, 1], [3, 31], [5, 32], [13, 67]];

/// The rows of the table of the given classes.
fn of_class(classes: &[Class]) -> impl Iterator<Item = OpKind> + '_ {
    OpKind::ALL.iter().copied().filter(|kind| classes.contains(&kind.class()))
}

#[test]
fn every_operation_has_cases() {
    let lists = [layout::KINDS, matmul::KINDS, permute::KINDS, structure::KINDS, transfer::KINDS];
    for kind in OpKind::ALL {
        let tested = match kind.class() {
            Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast => true,
            Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => true,
            // What is shown is compared in `reports`.
            Class::Report => true,
            _ => lists.iter().any(|list| list.contains(kind)),
        };
        assert!(tested, "no cases for `{}`", kind.name());
    }
}
