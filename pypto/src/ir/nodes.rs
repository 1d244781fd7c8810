//! Programs, functions, blocks, operations and values.

use super::dtype::{DType, Round};
use super::loc::Loc;
use super::types::{Extent, Type};
use crate::ops::OpKind;

/// Index of a value in its function's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    pub ty: Type,
    /// The user's name for it, for dumps and errors.
    pub name: Option<String>,
    pub loc: Loc,
}

/// A compilation unit: functions that call one another, one of them the entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub name: String,
    pub functions: Vec<Function>,
    /// Index of the function that a call of the program runs.
    pub entry: usize,
}

impl Program {
    /// The function that a call of the program runs.
    pub fn entry_function(&self) -> &Function {
        &self.functions[self.entry]
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Computes on tiles; becomes a kernel.
    InCore,
    /// Dispatches in-core functions as tasks.
    Orchestration,
    /// Expanded into its callers.
    Inline,
    /// Decided by its body: compute written outside in-core functions is outlined.
    Opaque,
    /// Drives ranks of a distributed program.
    Host,
}

impl FunctionKind {
    /// Every kind, in declaration order.
    pub const ALL: [FunctionKind; 5] = [
        FunctionKind::InCore,
        FunctionKind::Orchestration,
        FunctionKind::Inline,
        FunctionKind::Opaque,
        FunctionKind::Host,
    ];

    /// Whether functions of this kind start tasks instead of being one. With one rank, a host function is an orchestration.
    pub const fn dispatches(self) -> bool {
        matches!(self, FunctionKind::Orchestration | FunctionKind::Opaque | FunctionKind::Host)
    }

    /// The spelling in attributes and IR text.
    pub const fn name(self) -> &'static str {
        match self {
            FunctionKind::InCore => "incore",
            FunctionKind::Orchestration => "orchestration",
            FunctionKind::Inline => "inline",
            FunctionKind::Opaque => "opaque",
            FunctionKind::Host => "host",
        }
    }
}

/// How a parameter's memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    In,
    /// Written in full before any read.
    Out,
    InOut,
}

impl Direction {
    /// Every direction, in declaration order.
    pub const ALL: [Direction; 3] = [Direction::In, Direction::Out, Direction::InOut];

    /// The spelling in the IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }
}

/// What a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamRole {
    /// A tensor of the signature, or a returned tensor that the caller allocates.
    Tensor,
    /// A run-time scalar of the signature.
    Scalar,
    /// A dynamic extent: dimension `axis` of parameter number `param`.
    Extent { param: usize, axis: usize },
    /// A stride that no constant or extent expresses: of dimension `axis` of parameter number `param`.
    Stride { param: usize, axis: usize },
}

/// A parameter; the value is defined at function entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub value: ValueId,
    pub name: String,
    pub direction: Direction,
    pub role: ParamRole,
    /// Allocated by the caller and handed back as the function's result.
    pub returned: bool,
    pub loc: Loc,
}

/// A function: parameters, a table of values, and a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub kind: FunctionKind,
    pub params: Vec<Param>,
    pub values: Vec<ValueInfo>,
    pub body: Block,
    pub loc: Loc,
}

impl Function {
    /// Type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// What is known of a value.
    pub fn info(&self, value: ValueId) -> &ValueInfo {
        &self.values[value.0 as usize]
    }

    /// Adds a value that some operation or block is about to define.
    pub fn add_value(&mut self, ty: Type, name: Option<String>, loc: Loc) -> ValueId {
        self.values.push(ValueInfo { ty, name, loc });
        ValueId(self.values.len() as u32 - 1)
    }
}

/// Operations in order, with arguments at the top and yielded values at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub args: Vec<ValueId>,
    pub ops: Vec<Op>,
    /// What the block yields to the operation around it; for a function body, its results.
    pub yields: Vec<ValueId>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    pub operands: Vec<ValueId>,
    pub attrs: Attrs,
    pub regions: Vec<Block>,
    pub results: Vec<ValueId>,
    pub loc: Loc,
}

impl Op {
    /// The only result of an operation that has one.
    pub fn result(&self) -> ValueId {
        debug_assert_eq!(self.results.len(), 1, "`{}` has {} results", self.kind.name(), self.results.len());
        self.results[0]
    }
}

/// How the iterations of a loop relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// In order.
    Sequential,
    /// In order by the language (`tiles`, `grid`); run in parallel where that is proved to change nothing.
    Auto,
    /// Independent by the user's word (`parallel`); proved, or an error.
    Parallel,
    /// In order, with loads of later iterations started early.
    Pipeline(u32),
    /// Expanded at specialization.
    Unroll,
    /// One iteration a core (`spmd`); proved independent, or an error.
    Spmd,
}

/// Names of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttrKey {
    /// Value of a constant: `Int`, `Float` or `Bool`.
    Value,
    /// A dimension, counted from 0: `Int`.
    Axis,
    /// Rounding of a cast: `Round`.
    Round,
    /// Whether the left operand of a matmul is read transposed: `Bool`.
    TransposeA,
    /// Whether the right operand of a matmul is read transposed: `Bool`.
    TransposeB,
    /// Callee of a call: `Text`.
    Callee,
    /// How many of a call's last operands are events to wait for: `Int`.
    After,
    /// Kind of a loop: `Loop`.
    Loop,
    /// Text of an assertion: `Text`.
    Message,
    /// Element type of the result where operands do not tell: `DType`.
    DType,
    /// Of a checkpoint, the operation that made its value, and the line of that: `Text`. Of a printed line, the numbers of the
    /// tensors that hold what the source calls tiles.
    Origin,
}

impl AttrKey {
    /// Every key, in declaration order.
    pub const ALL: [AttrKey; 11] = [
        AttrKey::Value,
        AttrKey::Axis,
        AttrKey::Round,
        AttrKey::TransposeA,
        AttrKey::TransposeB,
        AttrKey::Callee,
        AttrKey::After,
        AttrKey::Loop,
        AttrKey::Message,
        AttrKey::DType,
        AttrKey::Origin,
    ];

    /// The spelling in the IR text.
    pub const fn name(self) -> &'static str {
        match self {
            AttrKey::Value => "value",
            AttrKey::Axis => "axis",
            AttrKey::Round => "round",
            AttrKey::TransposeA => "transpose_a",
            AttrKey::TransposeB => "transpose_b",
            AttrKey::Callee => "callee",
            AttrKey::After => "after",
            AttrKey::Loop => "loop",
            AttrKey::Message => "message",
            AttrKey::DType => "dtype",
            AttrKey::Origin => "origin",
        }
    }
}

/// An attribute's value.
#[derive(Clone, Debug)]
pub enum Attr {
    Int(i64),
    /// Compared and printed by bits, so that NaN round-trips.
    Float(f64),
    Bool(bool),
    Text(String),
    DType(DType),
    Round(Round),
    Loop(LoopKind),
}

impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        match (self, other) {
            (Attr::Int(a), Attr::Int(b)) => a == b,
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Text(a), Attr::Text(b)) => a == b,
            (Attr::DType(a), Attr::DType(b)) => a == b,
            (Attr::Round(a), Attr::Round(b)) => a == b,
            (Attr::Loop(a), Attr::Loop(b)) => a == b,
            _ => false,
        }
    }
}

/// A small ordered map; printing follows the order of keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(Vec<(AttrKey, Attr)>);

impl Attrs {
    /// No attributes.
    pub fn new() -> Attrs {
        Attrs::default()
    }

    /// With one more attribute; replaces one of the same key.
    pub fn with(mut self, key: AttrKey, value: Attr) -> Attrs {
        self.set(key, value);
        self
    }

    /// Adds or replaces an attribute.
    pub fn set(&mut self, key: AttrKey, value: Attr) {
        match self.0.binary_search_by_key(&key, |(k, _)| *k) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (key, value)),
        }
    }

    /// The attribute's value.
    pub fn get(&self, key: AttrKey) -> Option<&Attr> {
        self.0.binary_search_by_key(&key, |(k, _)| *k).ok().map(|i| &self.0[i].1)
    }

    /// An integer attribute.
    pub fn int(&self, key: AttrKey) -> Option<i64> {
        match self.get(key) {
            Some(Attr::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// A flag; absent means false.
    pub fn flag(&self, key: AttrKey) -> bool {
        matches!(self.get(key), Some(Attr::Bool(true)))
    }

    /// A text attribute.
    pub fn text(&self, key: AttrKey) -> Option<&str> {
        match self.get(key) {
            Some(Attr::Text(s)) => Some(s),
            _ => None,
        }
    }

    /// An element type.
    pub fn dtype(&self) -> Option<DType> {
        match self.get(AttrKey::DType) {
            Some(Attr::DType(d)) => Some(*d),
            _ => None,
        }
    }

    /// The kind of a loop; `Sequential` where absent.
    pub fn loop_kind(&self) -> LoopKind {
        match self.get(AttrKey::Loop) {
            Some(Attr::Loop(kind)) => *kind,
            _ => LoopKind::Sequential,
        }
    }

    /// The rounding of a cast; `None` where absent.
    pub fn round(&self) -> Round {
        match self.get(AttrKey::Round) {
            Some(Attr::Round(round)) => *round,
            _ => Round::None,
        }
    }

    /// All attributes in key order.
    pub fn iter(&self) -> impl Iterator<Item = (AttrKey, &Attr)> {
        self.0.iter().map(|(k, v)| (*k, v))
    }
}

/// Convenience for building extents out of values whose constant is known.
impl From<ValueId> for Extent {
    fn from(value: ValueId) -> Extent {
        Extent::Value(value)
    }
}
