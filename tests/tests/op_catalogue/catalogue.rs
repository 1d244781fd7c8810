//! The text of docs/ops.md.

use std::fmt::Write;

use pypto::ir::DType;
use pypto::ops::{Class, DTypes, OpKind};
use pypto::target;

use crate::probe::{self, Answer};
use crate::surface;

const HEAD: &str = "\
# Operations

Made from the op table (`pypto/src/ops/table.rs`) by `cargo test -p pypto-tests --test op_catalogue -- --ignored`; do not
edit. The same test fails where this page is not what the table says.

The host has every operation on every element type of its row (`cargo test -p pypto-tests --test ops_differential` runs
them). `a2a3` and `a5` are the element types that the Ascend targets take on tiles: the lowering was asked, with a kernel
of 64 x 64 tiles for each. A type in parentheses is converted to some of the target's types only. Scalars are computed by the
kernel's own arithmetic on every target.

Examples that run stand at the methods, in [tile/methods.rs](../pypto/src/language/tile/methods.rs),
[tile/mod.rs](../pypto/src/language/tile/mod.rs), [tile/product.rs](../pypto/src/language/tile/product.rs) and
[tensor/kernel.rs](../pypto/src/language/tensor/kernel.rs); rustdoc shows them. Methods of tiles exist on tensors, too.
The numeric contract is [numerics.md](numerics.md). An error is the largest of a result in `f32`, in units in the last place of
the exact one, over all of `f32`, and is measured (`cargo test -p pypto-tests --test accuracy`); where there is none, results
are exact, or what the row says. Results in `f16` and `bf16` are those of `f32`, rounded once. On Ascend targets, functions
without an instruction have another error: [ascend.md](ascend.md).
";

/// The classes in the order of the page.
const CLASSES: [Class; 21] = [
    Class::Unary,
    Class::Binary,
    Class::Compare,
    Class::Select,
    Class::Cast,
    Class::RowReduce,
    Class::RowArg,
    Class::ColReduce,
    Class::ColArg,
    Class::Create,
    Class::Layout,
    Class::Permute,
    Class::Matmul,
    Class::Transfer,
    Class::Element,
    Class::Tensor,
    Class::Constant,
    Class::Control,
    Class::Call,
    Class::Check,
    Class::Report,
];

/// The whole page.
pub fn text() -> String {
    let mut page = HEAD.to_owned();
    for class in CLASSES {
        let (title, rule) = described(class);
        let _ = write!(page, "\n## {title}\n\n{rule}\n\n");
        let error = if has_errors(class) { [" error |", "---|"] } else { [""; 2] };
        let _ = writeln!(
            page,
            "| op | operands | attributes | element types |{} written | a2a3 | a5 | what it does |",
            error[0]
        );
        let _ = writeln!(page, "|---|---|---|---|{}---|---|---|---|", error[1]);
        for kind in OpKind::ALL.iter().copied().filter(|kind| kind.class() == class) {
            page.push_str(&row(kind));
        }
    }
    page
}

/// Whether some operation of the class has an error bound.
fn has_errors(class: Class) -> bool {
    OpKind::ALL.iter().any(|kind| kind.class() == class && kind.info().ulps.is_some())
}

/// Title and type rule of a class.
fn described(class: Class) -> (&'static str, &'static str) {
    match class {
        Class::Unary => ("Elementwise, one operand", "Extents, valid extents and element type of the operand."),
        Class::Binary => (
            "Elementwise, two operands",
            "Both operands have one element type and rank, or one is a scalar; extents are equal or 1. The result has that \
             element type, the larger extents, and is valid where all operands are.",
        ),
        Class::Compare => ("Comparisons", "As with two operands; the result is of `bool`."),
        Class::Select => (
            "Selection",
            "The mask is of `bool`, `a` and `b` of one element type, which is the result's; extents as with two operands.",
        ),
        Class::Cast => ("Conversion", "Extents of the operand, element type of attribute `dtype`."),
        Class::RowReduce => (
            "Reductions of rows",
            "`[.., M, N]` to `[.., M, 1]`, of the same element type. Only valid elements count; an empty row gives the \
             identity.",
        ),
        Class::RowArg => ("Indices of rows", "`[.., M, N]` to `[.., M, 1]` of `i32`."),
        Class::ColReduce => ("Reductions of columns", "`[.., M, N]` to `[.., 1, N]`, of the same element type."),
        Class::ColArg => ("Indices of columns", "`[.., M, N]` to `[.., 1, N]` of `i32`."),
        Class::Create => ("Creation", "The extents that are asked for, all valid; the scalar's element type."),
        Class::Layout => (
            "Layout",
            "The element type stays. Extents are those asked for (`slice`, `reshape`, `broadcast`), the target's \
             (`assemble`), exchanged (`transpose`), added along the axis (`concat`), or the operand's. Valid extents follow \
             their elements; where none would fit, the operation demands a full tile.",
        ),
        Class::Permute => (
            "Elements of rows by index",
            "A row is the last dimension; indices are of `i32`. `gather` has the extents of the index, with leading ones as \
             those of an elementwise operation, and is valid where index and row are; `scatter` is as its target; an order \
             has the extents of its operand.",
        ),
        Class::Matmul => (
            "Products of matrices",
            "`[M, K]` and `[K, N]` of one element type, or `[B, M, K]` and `[B, K, N]`; the result is of `f32` for floats \
             and of `i32` for integers, valid in `M` and `N` as the operands are. Only valid elements of K take part.",
        ),
        Class::Transfer => (
            "Transfers",
            "A load has the extents that are asked for; what lies inside of the tensor is valid. A store writes what is \
             valid. Rows by index: `[n, 1]` of `i32` or `i64` and `[rows, N]` give `[n, N]`.",
        ),
        Class::Element => ("Single elements", "A scalar of the tensor's or tile's element type."),
        Class::Tensor => (
            "Tensors",
            "A new tensor is contiguous. A view has its tensor's strides; leading extents of 1 may be dropped.",
        ),
        Class::Constant => ("Constants", "A scalar of attribute `dtype`."),
        Class::Control => ("Control flow", "Carried values keep element type and extents; valid extents may change."),
        Class::Call => ("Calls", "The results of the callee; with a name, the event of its completion."),
        Class::Check => ("Checks", "No result."),
        Class::Report => ("Reports", "No result. Tiles are shown as far as they are valid."),
    }
}

/// Attributes that the operation has.
fn attributes(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Constant => "`value`, `dtype`",
        OpKind::Cast => "`dtype`, `round`",
        OpKind::Bitcast => "`dtype`",
        OpKind::Iota | OpKind::Concat => "`axis`",
        OpKind::Matmul | OpKind::MatmulAcc | OpKind::MatmulBias => "`transpose_a`, `transpose_b`",
        OpKind::Alloc => "`dtype`",
        OpKind::For => "`loop`",
        OpKind::Call => "`callee`, `after`",
        OpKind::Assert | OpKind::Print => "`message`",
        OpKind::Checkpoint => "`message`, `origin`",
        _ => "",
    }
}

fn row(kind: OpKind) -> String {
    let info = kind.info();
    let operands: Vec<String> = info.operands.iter().map(|name| format!("`{name}`")).collect();
    let targets = target::ALL.map(|target| taken(kind, target));
    let semantics = info.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let mut cells =
        vec![format!("`{}`", info.name), operands.join(", "), attributes(kind).to_owned(), elements(info.dtypes)];
    if has_errors(info.class) {
        cells.push(info.ulps.map_or(String::new(), |bound| bound.to_string()));
    }
    cells.push(surface::written(kind).unwrap_or_default());
    cells.extend(targets);
    cells.push(semantics);
    format!("| {} |\n", cells.join(" | "))
}

fn elements(dtypes: DTypes) -> String {
    match dtypes {
        DTypes::Any => "all".to_owned(),
        DTypes::Number => "all but `bool`".to_owned(),
        DTypes::Float => "floats".to_owned(),
        DTypes::Signed => "signed integers, floats".to_owned(),
        DTypes::Integer => "integers".to_owned(),
        DTypes::Bits => "integers, `bool`".to_owned(),
        DTypes::Bool => "`bool`".to_owned(),
        DTypes::Matmul => "floats, integers up to 32 bits".to_owned(),
        DTypes::NoDType => String::new(),
    }
}

/// The element types that a target takes, as a cell.
fn taken(kind: OpKind, target: &'static target::Target) -> String {
    if !probe::is_in_kernels(kind) {
        return "orchestration".to_owned();
    }
    if matches!(kind.class(), Class::Constant | Class::Control | Class::Check) {
        let answer = probe::ask(kind, DType::I64, target);
        return if answer == Answer::Yes { "yes" } else { "no" }.to_owned();
    }
    let members: Vec<DType> = kind.info().dtypes.members().collect();
    let answers: Vec<Answer> = members.iter().map(|dtype| probe::ask(kind, *dtype, target)).collect();
    if answers.iter().all(|answer| *answer == Answer::Yes) {
        return "all".to_owned();
    }
    let names: Vec<String> = (members.iter().zip(&answers))
        .filter_map(|(dtype, answer)| match answer {
            Answer::Yes => Some(format!("{dtype}")),
            Answer::Partly => Some(format!("({dtype})")),
            Answer::No => None,
        })
        .collect();
    if names.is_empty() { "no".to_owned() } else { names.join(" ") }
}
