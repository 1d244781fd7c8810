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
    fn at_distance(self, stride: Option<Value>) -> Left {
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
    fn value(self) -> Value {
        match self {
            Ahead::Elements(value) | Ahead::Columns(value) => value,
        }
    }

    /// The same with another value.
    fn with(self, value: Value) -> Ahead {
        match self {
            Ahead::Elements(_) => Ahead::Elements(value),
            Ahead::Columns(_) => Ahead::Columns(value),
        }
    }

    /// The part of a function's name that says so.
    fn name(self) -> &'static str {
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

impl Tile {
    /// All operands as values: those that every tile has, and the others.
    pub(super) fn operands(&self) -> ([Value; 8], [Option<Value>; 9]) {
        let [sums, is_first, is_last] = self.part.map_or([None; 3], |p| [p.sums, p.is_first, p.is_last].map(Some));
        let ahead = self.ahead.map(Ahead::value);
        (
            [self.depth, self.a, self.b, self.c, self.c_stride, self.init, self.init_stride, self.adds],
            [
                self.left.stride(),
                self.b_stride,
                self.factors,
                self.subnormal,
                ahead,
                sums,
                is_first,
                is_last,
                self.copies,
            ],
        )
    }

    /// The same tile of other values, in the order of [`operands`](Self::operands) and without those that it lacks: in the body of a
    /// function, its parameters.
    pub(super) fn of_parameters(&self, parameters: &[Value]) -> Tile {
        let mut given = parameters[8..].iter().copied();
        let [left_stride, b_stride, factors, subnormal, ahead, sums, is_first, is_last, copies] =
            self.operands().1.map(|value| value.and_then(|_| given.next()));
        let flags = is_first.zip(is_last);
        Tile {
            depth: parameters[0],
            left: self.left.at_distance(left_stride),
            a: parameters[1],
            b: parameters[2],
            b_stride,
            c: parameters[3],
            c_stride: parameters[4],
            init: parameters[5],
            init_stride: parameters[6],
            adds: parameters[7],
            factors,
            subnormal,
            ahead: self.ahead.zip(ahead).map(|(ahead, value)| ahead.with(value)),
            part: sums.zip(flags).map(|(sums, (is_first, is_last))| Part { sums, is_first, is_last }),
            copies,
        }
    }

    /// The part of a function's name that says which operands there are beside those of every tile.
    pub(super) fn suffixes(&self) -> String {
        let of = |is_there: bool, suffix: &'static str| if is_there { suffix } else { "" };
        [
            of(self.b_stride.is_some(), "_apart"),
            of(self.factors.is_some(), "_scaled"),
            self.ahead.map_or("", Ahead::name),
            of(self.part.is_some(), "_part"),
            of(self.copies.is_some(), "_copying"),
        ]
        .concat()
    }
}
