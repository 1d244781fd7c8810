//! From a broken type rule to what the user reads: the rule knows operands and extents, this module adds the places, the
//! words, and the advice.

use crate::diagnostics::{Code, Diagnostic, codes};
use crate::ir::{DType, Extent, Loc};
use crate::ops::OpKind;
use crate::ops::rules::RuleError;
use crate::ops::rules::error::{dims_text, extent_text, type_text};

/// Where an operation stands in the source.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// As the user wrote it: `+`, `matmul`, `row_sum`.
    pub spelled: String,
    pub loc: Loc,
    /// In the order of the operation's operands; operands that the source does not show may be missing at the end.
    pub operands: Vec<OperandPlace>,
}

/// Where an operand stands, and where its shape was decided.
#[derive(Clone, Debug)]
pub(super) struct OperandPlace {
    pub loc: Loc,
    pub origin: Loc,
    /// `acc`, or `this value` for longer expressions.
    pub name: String,
}

impl Site {
    /// An operation without operands that could be named.
    pub fn new(spelled: impl Into<String>, loc: Loc) -> Site {
        Site { spelled: spelled.into(), loc, operands: Vec::new() }
    }

    fn loc_of(&self, operand: usize) -> Loc {
        self.operands.get(operand).map_or(self.loc, |o| o.loc)
    }

    /// The place that decided an operand's shape, unless it is the operation itself.
    fn origin_of(&self, operand: usize) -> Option<Loc> {
        self.operands.get(operand).map(|o| o.origin).filter(|o| *o != self.loc)
    }

    fn name_of(&self, operand: usize) -> String {
        self.operands.get(operand).map_or_else(|| format!("operand {operand}"), |o| o.name.clone())
    }

    fn error(&self, code: Code, title: String, label: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.loc, title, label)
    }
}

/// The diagnostic for an operation that its rule rejects.
pub(super) fn explain(error: &RuleError, site: &Site) -> Diagnostic {
    let spelled = &site.spelled;
    match error {
        RuleError::ShapesDiffer { op, left, right, left_dims, right_dims, axis } => {
            shapes_differ(site, *op, (*left, left_dims), (*right, right_dims), *axis)
        }
        RuleError::DTypesDiffer { op, left, right, left_dtype, right_dtype } => {
            dtypes_differ(site, *op, (*left, *left_dtype), (*right, *right_dtype))
        }
        RuleError::Contraction { left, right, left_dims, right_dims, left_extent, right_extent, .. } => {
            contraction(site, (*left, left_dims, *left_extent), (*right, right_dims, *right_extent))
        }
        RuleError::OutOfBounds { operand, axis, offset, size, extent, .. } => {
            out_of_bounds(site, &site.name_of(*operand), *axis, *offset, *size, *extent)
        }
        RuleError::UnsupportedDType { operand, dtype, accepted, .. } => {
            let supported: Vec<&str> = accepted.members().map(|d| d.name()).collect();
            let help = match accepted.contains(DType::F32) && !dtype.is_float() {
                true => "convert it first: `.cast::<f32>()`".to_owned(),
                false => format!("supported are {}", supported.join(", ")),
            };
            let title = format!("`{spelled}` does not exist for `{dtype}`");
            site.error(codes::ELEMENT_TYPE, title, "")
                .label_unless_same(site.loc_of(*operand), format!("this is {dtype}"))
                .help(help)
        }
        RuleError::NotFull { operand, axis, dim, valid, .. } => site
            .error(
                codes::PARTLY_VALID,
                format!("`{spelled}` needs a tile that is valid in full in dimension {axis}"),
                format!("extent {}, of which {} is valid", extent_text(*dim), extent_text(*valid)),
            )
            .label_unless_same(site.loc_of(*operand), "partly valid")
            .help("`fillpad(value)` gives the elements outside a value and makes the tile valid in full"),
        RuleError::OperandKind { operand, expected, found, .. } => site
            .error(codes::OPERAND, format!("`{spelled}` takes {expected} here, not {}", type_text(found)), "")
            .label_unless_same(site.loc_of(*operand), format!("this is {}", type_text(found))),
        RuleError::RanksDiffer { left, right, left_rank, right_rank, .. } => site
            .error(
                codes::RANK,
                format!("`{spelled}` gets operands of rank {left_rank} and {right_rank}"),
                "ranks differ",
            )
            .label_unless_same(site.loc_of(*left), format!("rank {left_rank}"))
            .label_unless_same(site.loc_of(*right), format!("rank {right_rank}"))
            .help("`reshape` adds or removes dimensions of extent 1"),
        RuleError::Rank { operand, expected, found, .. } => site
            .error(codes::RANK, format!("`{spelled}` needs rank {expected}, found rank {found}"), "")
            .label_unless_same(site.loc_of(*operand), format!("rank {found}")),
        RuleError::Axis { axis, rank, .. } => site.error(
            codes::PARAMETER_RANGE,
            format!("`{spelled}` has no dimension {axis}: the rank is {rank}"),
            format!("must be in 0..{rank}"),
        ),
        RuleError::Overflow { op, left, right, dtype } => {
            let title = format!("`{left} {} {right}` overflows `{dtype}`", op.symbol());
            site.error(codes::CONSTANT_ARITHMETIC, title, "evaluated at specialization")
        }
        RuleError::DivisionByZero { op, left } => {
            let title = format!("`{left} {} 0` divides by zero", op.symbol());
            site.error(codes::CONSTANT_ARITHMETIC, title, "evaluated at specialization")
        }
        other => site.error(code_of(other), other.to_string(), ""),
    }
}

fn code_of(error: &RuleError) -> Code {
    match error {
        RuleError::ElementCount { .. } => codes::SHAPE_MISMATCH,
        RuleError::NegativeExtent { .. } | RuleError::ValidExceeds { .. } | RuleError::Step { .. } => {
            codes::PARAMETER_RANGE
        }
        RuleError::ResultExtents { .. } => codes::RANK,
        RuleError::OperandCount { .. } => codes::OPERAND,
        RuleError::CarriedType { .. } => codes::LOOP_TYPES,
        RuleError::BranchType { .. } => codes::BRANCH_TYPES,
        _ => codes::INTERNAL,
    }
}

fn shapes_differ(
    site: &Site,
    op: OpKind,
    (left, left_dims): (usize, &[Extent]),
    (right, right_dims): (usize, &[Extent]),
    axis: usize,
) -> Diagnostic {
    let (a, b) = (dims_text(left_dims), dims_text(right_dims));
    let title = match op {
        OpKind::Add => format!("cannot add {a} and {b}"),
        OpKind::Sub => format!("cannot subtract {b} from {a}"),
        OpKind::Mul => format!("cannot multiply {a} and {b}"),
        OpKind::Div => format!("cannot divide {a} by {b}"),
        _ => format!("`{}` cannot combine {a} and {b}", site.spelled),
    };
    let mut diagnostic = site.error(codes::SHAPE_MISMATCH, title, format!("extents differ in dimension {axis}"));
    for (operand, dims) in [(left, &a), (right, &b)] {
        if let Some(origin) = site.origin_of(operand) {
            diagnostic = diagnostic.label(origin, format!("{dims} comes from here"));
        }
    }
    diagnostic.help("extents must be equal; only an operand of extent 1 in a dimension is repeated along it")
}

fn dtypes_differ(site: &Site, op: OpKind, (left, a): (usize, DType), (right, b): (usize, DType)) -> Diagnostic {
    let title = match op {
        OpKind::Store | OpKind::Write | OpKind::ScatterRows => {
            format!("cannot store {a} elements in a tensor of {b}")
        }
        _ => format!("`{}` gets operands of element types {a} and {b}", site.spelled),
    };
    site.error(codes::DTYPE_MISMATCH, title, "there is no implicit conversion")
        .label_unless_same(site.loc_of(left), format!("this is {a}"))
        .label_unless_same(site.loc_of(right), format!("this is {b}"))
        .help(format!("convert one: `.cast::<{b}>()` on a tile, `as {b}` on a scalar"))
}

fn contraction(
    site: &Site,
    (left, left_dims, left_extent): (usize, &[Extent], Extent),
    (right, right_dims, right_extent): (usize, &[Extent], Extent),
) -> Diagnostic {
    let (k, l) = (extent_text(left_extent), extent_text(right_extent));
    let title = format!("contraction dimensions of `{}` differ: {k} and {l}", site.spelled);
    let label = format!("lhs is {}, rhs is {}", dims_text(left_dims), dims_text(right_dims));
    let mut diagnostic = site.error(codes::CONTRACTION, title, label);
    for (operand, extent) in [(left, &k), (right, &l)] {
        if let Some(origin) = site.origin_of(operand) {
            diagnostic = diagnostic.label(origin, format!("K = {extent} comes from this shape"));
        }
    }
    diagnostic.help("load matching slices along K; `.t()` exchanges the last two dimensions of an operand")
}

/// An access that is known to reach outside.
pub(super) fn out_of_bounds(site: &Site, name: &str, axis: usize, offset: i64, size: i64, extent: i64) -> Diagnostic {
    if site.spelled == "set_valid" {
        let title = format!("{name} has {extent} elements in dimension {axis}, and {offset} of them cannot be valid");
        return site.error(codes::OUT_OF_BOUNDS, title, "").help(format!("the limits are 0 and {extent}"));
    }
    let range = match size {
        0 => format!("offset {offset}"),
        1 => format!("index {offset}"),
        _ => format!("{offset}..{}", offset.saturating_add(size)),
    };
    let title = format!("{range} lies outside {name} of extent {extent} in dimension {axis}");
    let label = match offset.saturating_add(size).saturating_sub(extent) {
        _ if offset < 0 => "the offset is negative".to_owned(),
        excess if excess > 0 => format!("exceeds dimension {axis} by {excess}"),
        _ => "outside".to_owned(),
    };
    site.error(codes::OUT_OF_BOUNDS, title, label)
        .help("`tiles(..)` cuts its last tile to the tensor; `tile(offset, shape)` clips at the end")
}

impl Diagnostic {
    /// A secondary label, or, where it would stand at the primary place, the primary label's text.
    fn label_unless_same(mut self, loc: Loc, text: impl Into<String>) -> Diagnostic {
        if loc != self.primary.loc {
            return self.label(loc, text);
        }
        if self.primary.text.is_empty() {
            self.primary.text = text.into();
        }
        self
    }
}
