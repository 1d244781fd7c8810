//! What lowering made of a kernel, for people: loops, fusion groups and why each of them ended, products, values that were
//! brought to memory. Nothing depends on it.

use super::plan::Plan;
use crate::ir::{Block, Loc, Op};
use crate::ops::OpKind;

/// One thing that a kernel does, in order of execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// How many steps it is inside of.
    pub depth: usize,
    pub loc: Loc,
    pub kind: StepKind,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// A loop whose iterations run in order.
    Loop {
        /// Its number of iterations, where that is known.
        trips: Option<i64>,
    },
    /// A condition.
    Branch,
    /// Row-local operations in one loop over rows.
    Group(GroupStep),
    /// A product of matrices.
    Product,
    /// A value that is brought into memory of its own.
    Kept,
    /// An operation that takes elements one by one.
    ByElement(OpKind),
}

/// A fusion group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupStep {
    /// Its operations in order, and where they are written.
    pub ops: Vec<(OpKind, Loc)>,
    /// How often a row is passed over.
    pub column_loops: usize,
    /// Values of a row that are kept between these loops, because computing them again costs more.
    pub row_buffers: usize,
    /// Whether columns are computed as vectors; a group with one value a row is not.
    pub vectorized: bool,
    /// The operation that could not join; `None` where the block ended.
    pub ended: Option<Boundary>,
}

/// What ended a fusion group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundary {
    pub op: OpKind,
    pub loc: Loc,
    pub reason: Reason,
}

/// Why an operation cannot join a fusion group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It needs values of the group that lie in other rows or columns.
    NeedsWholeValue,
    /// It runs over other extents.
    OtherExtents,
    /// It reads memory that the group writes, elsewhere than the group does.
    ReadsWhatIsWritten,
    /// It writes memory that is read before and after.
    WritesWhatIsRead,
    /// It is a loop or a condition.
    ControlFlow,
    /// It is a product of matrices.
    Product,
    /// It takes single elements.
    SingleElements,
}

impl Reason {
    /// The end of a sentence that begins with the operation.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::NeedsWholeValue => "needs values of other rows or columns",
            Reason::OtherExtents => "runs over other extents",
            Reason::ReadsWhatIsWritten => "reads memory that the group writes",
            Reason::WritesWhatIsRead => "writes memory that is read before and after",
            Reason::ControlFlow => "is control flow",
            Reason::Product => "is a product of matrices",
            Reason::SingleElements => "takes single elements",
        }
    }
}

/// The steps so far.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub steps: Vec<Step>,
    depth: usize,
    /// What is about to end the open group.
    boundary: Option<Boundary>,
}

impl Trace {
    /// A step at the present depth.
    pub fn note(&mut self, loc: Loc, kind: StepKind) {
        self.steps.push(Step { depth: self.depth, loc, kind });
    }

    /// A step that others are inside of, until [`Trace::leave`].
    pub fn enter(&mut self, loc: Loc, kind: StepKind) {
        self.note(loc, kind);
        self.depth += 1;
    }

    /// Ends the innermost step that was entered.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Says what ends the open group, if there is one; the first reason of an operation counts.
    pub fn ends_at(&mut self, op: &Op, reason: Reason) {
        self.boundary.get_or_insert(Boundary { op: op.kind, loc: op.loc, reason });
    }

    /// Forgets what [`Trace::ends_at`] said: another operation comes, or the block ends.
    pub fn forget(&mut self) {
        self.boundary = None;
    }

    /// The group of the operations of a block at these positions.
    pub fn group(&mut self, block: &Block, positions: &[usize], plan: &Plan, vectorized: bool) {
        let ops: Vec<_> = positions.iter().map(|&at| (block.ops[at].kind, block.ops[at].loc)).collect();
        let Some(&(_, loc)) = ops.first() else { return };
        let column_loops = plan.segments.iter().filter(|segment| !segment.is_empty()).count();
        let row_buffers = plan.home.iter().flatten().count();
        let ended = self.boundary.take();
        self.note(loc, StepKind::Group(GroupStep { ops, column_loops, row_buffers, vectorized, ended }));
    }
}
