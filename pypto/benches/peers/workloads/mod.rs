//! The rows of the table, a file for each family. Kernels are written as a user writes them; those that the library has
//! are the library's.

pub mod activation;
pub mod attention;
pub mod first_call;
mod movement;
pub mod normalization;
mod order;
pub mod product;
mod reduction;
mod small_call;
mod transformer;

use crate::workload::Workload;

/// All of them, in the order of the table.
pub fn all() -> Vec<Workload> {
    [
        product::workloads(),
        normalization::workloads(),
        activation::workloads(),
        attention::workloads(),
        reduction::workloads(),
        movement::workloads(),
        order::workloads(),
        transformer::workloads(),
        small_call::workloads(),
        first_call::workloads(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
