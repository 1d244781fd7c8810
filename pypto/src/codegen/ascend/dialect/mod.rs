//! The assembler's dialect as data: what a `.pto` file says, no more and no less.
//!
//! Lowering makes a [`Module`], the planner fills in addresses, the printer writes it, the reader makes it of text again,
//! and the simulator runs it. Values are numbered per function; names are unique and survive a round trip.

pub mod check;
pub mod lexer;
pub mod print;
pub mod read;
mod read_inst;
mod read_type;
pub mod tile_op;
pub mod types;

#[cfg(test)]
mod tests;

pub use tile_op::{Form, TileOp};
pub use types::{TileTy, Ty};

use crate::ir::FileId;

/// The kernels of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The target's name.
    pub arch: String,
    pub functions: Vec<Function>,
}

/// The unit of a core that runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Core {
    Cube,
    Vector,
}

impl Core {
    /// The spelling in `pto.kernel_kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Core::Cube => "cube",
            Core::Vector => "vector",
        }
    }

    /// The spelling in names of directories and of run-time calls.
    pub const fn unit(self) -> &'static str {
        match self {
            Core::Cube => "aic",
            Core::Vector => "aiv",
        }
    }
}

/// A value of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Without the `%`.
    pub name: String,
    pub ty: Ty,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub core: Core,
    pub params: Vec<Value>,
    pub values: Vec<ValueInfo>,
    pub body: Vec<Inst>,
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Ty {
        &self.values[value.0 as usize].ty
    }

    /// The type of a tile.
    pub fn tile(&self, value: Value) -> Option<&TileTy> {
        match self.ty(value) {
            Ty::Tile(tile) => Some(tile),
            _ => None,
        }
    }

    /// The name of a value, without the `%`.
    pub fn name_of(&self, value: Value) -> &str {
        &self.values[value.0 as usize].name
    }

    /// Adds a value that an instruction is about to define.
    pub fn add(&mut self, name: String, ty: Ty) -> Value {
        self.values.push(ValueInfo { name, ty });
        Value(self.values.len() as u32 - 1)
    }
}

/// A place in the user's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: FileId,
    pub line: u32,
    pub column: u32,
}

/// An instruction with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    pub kind: Kind,
    pub place: Option<Place>,
}

/// A number in the text.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    Int(i64),
    /// Compared by bits, so that NaN and negative zero survive.
    Float(f64),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

/// Attributes of tile operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileAttr {
    None,
    /// `eq`, `ne`, `lt`, `le`, `gt`, `ge`.
    Compare(&'static str),
    /// `NONE`, `RINT`, `ROUND`, `FLOOR`, `CEIL`, `TRUNC`, `ODD`.
    Round(&'static str),
}

/// The spellings of comparisons.
pub const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// The spellings of roundings.
pub const ROUNDINGS: [&str; 7] = ["NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD"];

/// How a tensor lies in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalLayout {
    /// Row-major.
    Nd,
    /// Column-major.
    Dn,
}

/// What makes another handle on a tile's bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Alias {
    /// Other extents, same element type.
    Reshape,
    /// Another element type of the same size.
    Bitcast,
    /// A window at the given row and column; with valid extents where they are not the window's.
    Subview { offset: [Value; 2], valid: Option<[Value; 2]> },
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Constant {
        result: Value,
        literal: Literal,
    },
    /// `arith.NAME`; comparisons have a predicate.
    Arith {
        result: Value,
        op: &'static str,
        predicate: Option<&'static str>,
        operands: Vec<Value>,
    },
    TensorView {
        result: Value,
        pointer: Value,
        shape: Vec<Value>,
        strides: Vec<Value>,
        layout: GlobalLayout,
    },
    Partition {
        result: Value,
        view: Value,
        offsets: Vec<Value>,
        sizes: Vec<Value>,
    },
    /// A tile at an address (level 3) or wherever the assembler puts it (level 2).
    Alloc {
        result: Value,
        address: Option<Value>,
        valid: [Value; 2],
    },
    Alias {
        result: Value,
        source: Value,
        alias: Alias,
    },
    Tile {
        op: TileOp,
        ins: Vec<Value>,
        attr: TileAttr,
        out: Value,
    },
    /// One element, by its position in row-major order.
    GetElement {
        result: Value,
        tile: Value,
        position: Value,
    },
    LoadScalar {
        result: Value,
        pointer: Value,
        offset: Value,
    },
    StoreScalar {
        value: Value,
        pointer: Value,
        offset: Value,
    },
    /// Shows values at place number `site` of the kernel, in the simulator; for the assembler it is a comment.
    Report {
        site: u32,
        values: Vec<Value>,
    },
    For {
        index: Value,
        lower: Value,
        upper: Value,
        step: Value,
        carried: Vec<Carried>,
        body: Vec<Inst>,
        yields: Vec<Value>,
    },
    If {
        condition: Value,
        results: Vec<Value>,
        then: Region,
        otherwise: Region,
    },
}

/// A scalar that a loop hands from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    pub result: Value,
    pub argument: Value,
    pub initial: Value,
}

/// Instructions of a branch, and the scalars that it gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    pub body: Vec<Inst>,
    pub yields: Vec<Value>,
}

impl Inst {
    /// Values that it defines itself, not inside of its regions.
    pub fn results(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Constant { result, .. }
            | Kind::Arith { result, .. }
            | Kind::TensorView { result, .. }
            | Kind::Partition { result, .. }
            | Kind::Alloc { result, .. }
            | Kind::Alias { result, .. }
            | Kind::GetElement { result, .. }
            | Kind::LoadScalar { result, .. } => vec![*result],
            Kind::Tile { .. } | Kind::StoreScalar { .. } | Kind::Report { .. } => Vec::new(),
            Kind::For { carried, .. } => carried.iter().map(|c| c.result).collect(),
            Kind::If { results, .. } => results.clone(),
        }
    }

    /// Values that it uses itself, not inside of its regions; the destination of a tile operation is not among them.
    pub fn operands(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Constant { .. } => Vec::new(),
            Kind::Arith { operands, .. } => operands.clone(),
            Kind::TensorView { pointer, shape, strides, .. } => [&[*pointer][..], shape, strides].concat(),
            Kind::Partition { view, offsets, sizes, .. } => [&[*view][..], offsets, sizes].concat(),
            Kind::Alloc { address, valid, .. } => address.iter().chain(valid).copied().collect(),
            Kind::Alias { source, alias, .. } => match alias {
                Alias::Subview { offset, valid } => {
                    [*source].into_iter().chain(*offset).chain(valid.iter().flatten().copied()).collect()
                }
                _ => vec![*source],
            },
            Kind::Tile { ins, .. } => ins.clone(),
            Kind::GetElement { tile, position, .. } => vec![*tile, *position],
            Kind::LoadScalar { pointer, offset, .. } => vec![*pointer, *offset],
            Kind::StoreScalar { value, pointer, offset } => vec![*value, *pointer, *offset],
            Kind::Report { values, .. } => values.clone(),
            Kind::For { lower, upper, step, carried, .. } => {
                [*lower, *upper, *step].into_iter().chain(carried.iter().map(|c| c.initial)).collect()
            }
            Kind::If { condition, .. } => vec![*condition],
        }
    }

    /// The bodies inside.
    pub fn bodies(&self) -> Vec<&[Inst]> {
        match &self.kind {
            Kind::For { body, .. } => vec![body],
            Kind::If { then, otherwise, .. } => vec![&then.body, &otherwise.body],
            _ => Vec::new(),
        }
    }
}
