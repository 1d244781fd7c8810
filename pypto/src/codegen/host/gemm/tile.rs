//! The operands of a call of the micro-kernel.

use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::Value;

/// How the left factor lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    /// Packed, in panels of so many rows.
    Panels(usize),
    /// Rows at this distance, whose steps are neighbours.
    Rows(Value),
    /// Columns at this distance, whose rows are neighbours.
    Columns(Value),
}

impl Left {
    pub(super) fn stride(self) -> Option<Value> {
        match self {
            Left::Panels(_) => None,
            Left::Rows(stride) | Left::Columns(stride) => Some(stride),
        }
    }

    /// The same at another distance.
    pub(super) fn at_distance(self, stride: Option<Value>) -> Left {
        match (self, stride) {
            (Left::Rows(_), Some(stride)) => Left::Rows(stride),
            (Left::Columns(_), Some(stride)) => Left::Columns(stride),
            (left, _) => left,
        }
    }

    /// The part of a function's name that says so.
    pub(super) fn name(self, target: Target) -> String {
        match self {
            Left::Panels(rows) => super::of_panels(rows, target),
            Left::Rows(_) => "_rows".to_string(),
            Left::Columns(_) => "_columns".to_string(),
        }
    }
}

/// What is fetched meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ahead {
    /// Elements from here on: [`FETCHED`](super::kernel::FETCHED) for each step.
    Elements(Value),
    /// Of each row of B, the columns so many elements further. They go to the second-level cache: where rows are at a distance of a power
    /// of two, the first one has room for few of them.
    Columns(Value),
}

impl Ahead {
    pub(super) fn value(self) -> Value {
        match self {
            Ahead::Elements(value) | Ahead::Columns(value) => value,
        }
    }

    /// The same with another value.
    pub(super) fn with(self, value: Value) -> Ahead {
        match self {
            Ahead::Elements(_) => Ahead::Elements(value),
            Ahead::Columns(_) => Ahead::Columns(value),
        }
    }

    /// The part of a function's name that says so.
    pub(super) fn name(self) -> &'static str {
        match self {
            Ahead::Elements(_) => "_ahead",
            Ahead::Columns(_) => "_columns_ahead",
        }
    }
}

/// A part of the steps of a tile, whose sums lie in memory from one part to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Sums of the tile, row by row.
    pub sums: Value,
    /// Whether the sums begin here.
    pub is_first: Value,
    /// Whether they are the result.
    pub is_last: Value,
}

/// Operands of one call.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub depth: Value,
    pub left: Left,
    pub a: Value,
    pub b: Value,
    /// Distance of the rows of B; `None` where it is packed.
    pub b_stride: Option<Value>,
    pub c: Value,
    pub c_stride: Value,
    pub init: Value,
    pub init_stride: Value,
    /// 1 when the result is added to the initial value, 0 when it is stored as it is.
    pub adds: Value,
    /// A factor for each column, by which the initial value is multiplied.
    pub factors: Option<Value>,
    /// Whether a sum of bf16 may be subnormal, where that is not known to be so.
    pub subnormal: Option<Value>,
    pub ahead: Option<Ahead>,
    /// `None` where these are all steps.
    pub part: Option<Part>,
    /// Where the rows of B are copied to, as packed ones, for other tiles of their columns.
    pub copies: Option<Value>,
}
