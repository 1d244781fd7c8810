//! The intermediate representation: plain data.
//!
//! A [`Program`] is a list of functions; a [`Function`] owns a table of SSA values and a body of structured operations
//! (`for`, `if` and `while` carry regions with block arguments; there is no branch instruction). Tensors are memory:
//! `load`, `store` and calls are effects in program order. Tiles and scalars are values.
//!
//! Invariants, checked by the verifier: every value is defined once and before its uses, a region sees the values of
//! the regions around it, every operation carries a [`Loc`], operand and result types obey the op table, and extents
//! in types are constants or index values that are in scope where the type is used.
//!
//! This module names nothing of the front end, the targets or the runtime.

pub mod builder;
pub mod dtype;
pub mod facts;
pub mod index_expr;
pub mod interpreter;
pub mod loc;
pub mod nodes;
pub mod report;
mod roots;
pub mod scalars;
pub mod text;
pub mod types;
pub mod verifier;

pub use builder::Builder;
pub use dtype::{DType, Round};
pub use index_expr::{IndexExpr, IndexExprs};
pub use loc::{FileId, Loc};
pub use nodes::{
    Attr, AttrKey, Attrs, Block, Direction, Function, FunctionKind, LoopKind, Op, Param, ParamRole, Program, ValueId,
    ValueInfo,
};
pub use types::{Extent, TensorType, TileType, Type};
pub use verifier::{verify, verify_function};
