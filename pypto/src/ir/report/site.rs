//! Places that show values, as engines know them: by their numbers within a function, in the order of the text.

use super::Report;
use crate::ir::{Block, DType, Function, Op, Type};
use crate::ops::Class;

/// A place that shows values.
#[derive(Clone, Debug)]
pub struct ReportSite {
    pub op: Op,
    pub values: Vec<Layout>,
}

/// What a value is like.
#[derive(Clone, Debug)]
pub enum Layout {
    Scalar(DType),
    /// With its physical extents, where they are constants.
    Tile(DType, Vec<Option<i64>>),
    Tensor(DType, usize),
}

impl ReportSite {
    /// The report of these values.
    pub fn report(&self, values: Vec<super::Shown>) -> Report {
        Report::of(&self.op, values)
    }
}

/// The places of a function, in order.
pub fn sites(function: &Function) -> Vec<ReportSite> {
    let mut found = Vec::new();
    each(&function.body, &mut |op| {
        let layout = |value| match function.ty(value) {
            Type::Tile(tile) => Layout::Tile(tile.dtype, tile.dims.iter().map(|d| d.constant()).collect()),
            Type::Tensor(tensor) => Layout::Tensor(tensor.dtype, tensor.rank()),
            other => Layout::Scalar(other.dtype().unwrap_or(DType::I64)),
        };
        found.push(ReportSite { op: op.clone(), values: op.operands.iter().map(|v| layout(*v)).collect() });
    });
    found
}

/// The number of one of the function's own operations.
pub fn site_number(function: &Function, op: &Op) -> Option<u32> {
    let (mut number, mut found) = (0, None);
    each(&function.body, &mut |other| {
        if std::ptr::eq(op, other) {
            found = Some(number);
        }
        number += 1;
    });
    found
}

fn each<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Op)) {
    for op in &block.ops {
        if op.kind.class() == Class::Report {
            f(op);
        }
        op.regions.iter().for_each(|region| each(region, f));
    }
}
