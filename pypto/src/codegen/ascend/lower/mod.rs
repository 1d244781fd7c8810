//! From an in-core function of the IR to a kernel of the dialect, without addresses.
//!
//! Tiles become two-dimensional, with lines of whole 32-byte blocks; a tile of one column lies in column order, which is
//! what reductions give and what row expansions take, and is computed on as a row over the same bytes. Whatever has no
//! faithful translation is a diagnostic that names the operation, the target and the line; nothing is approximated.

mod blocks;
mod column;
mod control;
mod elementwise;
mod emit;
mod entry;
mod fold;
mod integers;
mod layout;
mod math;
mod memory;
mod pieces;
mod product;
mod reduce;
mod report;
mod rows;
mod scalar;
mod tile;

use std::collections::HashMap;

use super::dialect::{Core, Function, Inst, Place, Ty, Value};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{self, Block, Loc, Op, ValueId};
use crate::ops::{Class, OpKind};
use crate::target::{self, Target};
use tile::Tile;

/// A lowered kernel and how it is called.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub function: Function,
    /// For each parameter of the dialect's function the number of the IR function's; the hidden ones behind have none.
    pub arguments: Vec<usize>,
    /// Whether blocks share the work: the kernel takes the number of its block and the number of blocks.
    pub is_spmd: bool,
    /// Iterations of the flattened parallel loops over the IR function's arguments; 1 where there are none.
    pub iterations: ir::IndexExpr,
}

/// A tensor in global memory: a parameter, or a part of one.
#[derive(Clone, Debug)]
struct Tensor {
    pointer: Value,
    /// Of the parameter.
    dims: Vec<Value>,
    strides: Vec<Value>,
    /// Where the part begins in the parameter.
    origin: Vec<Value>,
    /// Leading dimensions of the parameter that the part does not have.
    dropped: usize,
    dtype: ir::DType,
}

/// What an IR value has become.
#[derive(Clone, Debug)]
enum Held {
    Scalar(Value),
    Tensor(Tensor),
    Tile(Tile),
    /// On the matrix unit: a load, which products read block by block, or a product that waits for its store.
    Deferred(Op),
}

type Outcome<T> = Result<T, Diagnostic>;

/// Lowers a kernel for a target.
///
/// # Errors
/// The first operation that the target does not have, or that is not translated.
pub fn lower(source: &ir::Function, target: &'static Target) -> Result<Lowered, Diagnostic> {
    let core = core_of(&source.body);
    let function =
        Function { name: source.name.clone(), core, params: Vec::new(), values: Vec::new(), body: Vec::new() };
    let mut lowering = Lowering {
        source,
        target,
        function,
        bodies: vec![Vec::new()],
        prologue: Vec::new(),
        constants: HashMap::new(),
        held: HashMap::new(),
        names: HashMap::new(),
        views: HashMap::new(),
        transposed_views: HashMap::new(),
        first_products: HashMap::new(),
        valid_of: HashMap::new(),
        roots: HashMap::new(),
        place: None,
        loc: source.loc,
    };
    lowering.kernel()
}

/// The unit that a kernel needs: products run on the matrix unit.
pub fn core_of(block: &Block) -> Core {
    fn multiplies(block: &Block) -> bool {
        block.ops.iter().any(|op| op.kind.class() == Class::Matmul || op.regions.iter().any(multiplies))
    }
    if multiplies(block) { Core::Cube } else { Core::Vector }
}

struct Lowering<'a> {
    source: &'a ir::Function,
    target: &'static Target,
    function: Function,
    /// Bodies that are being written, innermost last.
    bodies: Vec<Vec<Inst>>,
    /// Constants and tensor views, which stand at the top.
    prologue: Vec<Inst>,
    constants: HashMap<(u64, String), Value>,
    held: HashMap<ValueId, Held>,
    names: HashMap<String, u32>,
    views: HashMap<(Value, bool), Value>,
    transposed_views: HashMap<Value, Value>,
    /// Accumulators of loops that start from zeros, with the condition under which the first product overwrites them.
    first_products: HashMap<Value, Value>,
    /// Valid extents of handles, and what windows are over.
    valid_of: HashMap<Value, [Value; 2]>,
    roots: HashMap<Value, Value>,
    place: Option<Place>,
    /// The operation that is being lowered.
    loc: Loc,
}

impl Lowering<'_> {
    fn block(&mut self, block: &Block) -> Outcome<()> {
        for op in &block.ops {
            self.op(op)?;
        }
        Ok(())
    }

    fn at(&mut self, loc: Loc) {
        self.loc = loc;
        self.place = Some(Place { file: loc.file, line: loc.line, column: loc.column });
    }

    fn op(&mut self, op: &Op) -> Outcome<()> {
        self.at(op.loc);
        let scalar = op.operands.iter().chain(&op.results).all(|v| matches!(self.source.ty(*v), ir::Type::Scalar(_)));
        match op.kind.class() {
            Class::Constant => self.constant_op(op),
            _ if scalar && op.kind.is_elementwise() => self.scalar_op(op),
            Class::Control => match op.kind {
                OpKind::For => self.for_op(op),
                OpKind::If => self.if_op(op),
                _ => {
                    let problem = self.refuse(op, "in a kernel");
                    Err(problem.note("kernels have loops whose number of iterations is known when they begin"))
                }
            },
            Class::Permute => {
                let problem = self.refuse(op, "on the vector unit");
                Err(if op.kind == OpKind::RowArgsort {
                    problem.note("it sorts runs of 32 elements alone")
                } else {
                    problem.note("an index outside of a row stops the kernel, which the vector unit cannot")
                })
            }
            Class::Tensor if op.kind == OpKind::View => self.view(op),
            Class::Transfer | Class::Element => self.memory_op(op),
            Class::Matmul => self.product(op),
            Class::Layout if op.kind == OpKind::SetValid && self.function.core == Core::Cube => self.narrower_load(op),
            Class::Report => self.report(op),
            _ if self.function.core == Core::Cube && op.kind != OpKind::Full => {
                Err(self.refuse(op, "on the matrix unit"))
            }
            Class::Unary => self.unary(op),
            Class::Binary => self.binary(op),
            Class::Compare => self.compare(op),
            Class::Select => self.select(op),
            Class::Cast if op.kind == OpKind::Bitcast => self.bitcast(op),
            Class::Cast => self.cast(op),
            Class::RowReduce | Class::RowArg | Class::ColReduce | Class::ColArg => self.reduce(op),
            Class::Create => self.create(op),
            Class::Layout => self.layout(op),
            _ => Err(self.refuse(op, "in a kernel")),
        }
    }

    /// The diagnostic of an operation that is not translated; `where_to` ends the sentence.
    fn refuse(&self, op: &Op, where_to: &str) -> Diagnostic {
        let problem = self.refusal(op.loc, op.kind.name(), where_to);
        match op.operands.iter().chain(&op.results).find_map(|v| self.source.ty(*v).as_tile()) {
            Some(tile) if !problem.title.contains(tile.dtype.name()) => {
                problem.note(format!("of tiles of `{}`", tile.dtype))
            }
            _ => problem,
        }
    }

    fn refusal(&self, loc: Loc, operation: &str, where_to: &str) -> Diagnostic {
        self.refusal_where(loc, operation, where_to, |_| false)
    }

    /// As [`Lowering::refusal`]; `has` tells the other accelerators that have the operation.
    fn refusal_where(
        &self,
        loc: Loc,
        operation: &str,
        where_to: &str,
        has: impl Fn(&'static Target) -> bool,
    ) -> Diagnostic {
        let target = self.target.name;
        let title = format!("target `{target}` has no `{operation}` {where_to}");
        let others = target::ALL.into_iter().filter(|other| other.name != target && has(other));
        let names: Vec<String> = others.map(|other| format!("`{}`", other.name)).chain(["`host`".to_owned()]).collect();
        let have = if names.len() == 1 {
            "target `host` has it".to_owned()
        } else {
            format!("targets {} have it", names.join(" and "))
        };
        Diagnostic::error(codes::TARGET_SUPPORT, loc, title, "this operation")
            .note(format!("in kernel `{}`, for {}", self.source.name, self.target.product))
            .help(have)
    }

    /// A fault of the compiler itself.
    fn internal(&self, message: &str) -> Diagnostic {
        Diagnostic::error(codes::INTERNAL, self.loc, format!("lowering for `{}`: {message}", self.target.name), "")
    }

    fn bind(&mut self, value: ValueId, held: Held) {
        self.held.insert(value, held);
    }

    fn scalar(&self, value: ValueId) -> Outcome<Value> {
        match self.held.get(&value) {
            Some(Held::Scalar(scalar)) => Ok(*scalar),
            _ => Err(self.internal("a scalar is missing")),
        }
    }

    fn tensor(&self, value: ValueId) -> Outcome<Tensor> {
        match self.held.get(&value) {
            Some(Held::Tensor(tensor)) => Ok(tensor.clone()),
            _ => Err(self.internal("a tensor is missing")),
        }
    }

    fn is_scalar(&self, value: ValueId) -> bool {
        matches!(self.source.ty(value), ir::Type::Scalar(_))
    }

    fn name_of(&self, value: ValueId) -> String {
        self.source.info(value).name.clone().unwrap_or_else(|| "t".to_owned())
    }

    fn ty(&self, value: Value) -> &Ty {
        self.function.ty(value)
    }
}
