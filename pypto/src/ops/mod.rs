//! Operations: one declaration each, in [`table`]; everything else about them derives from it.

pub mod fold;
pub mod math;
pub mod reference;
pub mod rules;
pub mod table;

pub use table::{Class, DTypes, Effect, OpInfo, OpKind};
