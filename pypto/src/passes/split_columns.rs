//! Computes rows that are too long for a core's memory in blocks of columns.
//!
//! Each reduction of rows becomes a loop over blocks that carries the partial result, each store of rows a loop over
//! blocks; what they need is made again, block by block, from what is in global memory, so that nothing as long as a row
//! is left. Extremes come out the same; sums have one more level of partial sums. Works on kernels that read no tensor
//! they write: what is made again would be made of other numbers.

use std::collections::{HashMap, HashSet};

use super::extract::simple_op;
use super::outline::index_constant;
use crate::ir::{Attr, AttrKey, Attrs, Block, DType, Extent, Function, Loc, LoopKind, Op, TileType, Type, ValueId};
use crate::ops::{Class, OpKind};

/// Cuts tiles of more than `width` columns; tells whether it could cut every one of them.
pub fn split_columns(function: &mut Function, width: i64) -> bool {
    let body = std::mem::take(&mut function.body);
    let mut written = HashSet::new();
    let mut views = HashMap::new();
    note(&body, &mut views, &mut written);
    let mut splitter = Splitter { function, width, views, written, recipes: HashMap::new() };
    match splitter.block(body) {
        Some(body) => {
            function.body = body;
            true
        }
        None => false,
    }
}

/// Notes what views are parts of, and which tensors are written.
fn note(block: &Block, views: &mut HashMap<ValueId, ValueId>, written: &mut HashSet<ValueId>) {
    for op in &block.ops {
        let root = |v: &ValueId| views.get(v).copied().unwrap_or(*v);
        match op.kind {
            OpKind::View => {
                let root = root(&op.operands[0]);
                views.insert(op.results[0], root);
            }
            OpKind::Store | OpKind::ScatterRows | OpKind::Write => {
                written.insert(root(&op.operands[1]));
            }
            OpKind::Call => written.extend(op.operands.iter().map(root)),
            _ => {}
        }
        op.regions.iter().for_each(|region| note(region, views, written));
    }
}

struct Splitter<'a> {
    function: &'a mut Function,
    width: i64,
    /// The tensor that a view is a part of.
    views: HashMap<ValueId, ValueId>,
    written: HashSet<ValueId>,
    /// How wide values are made.
    recipes: HashMap<ValueId, Op>,
}

impl Splitter<'_> {
    fn is_wide(&self, value: ValueId) -> bool {
        let tile = self.function.ty(value).as_tile();
        tile.and_then(|t| t.dims.last()?.constant()).is_some_and(|columns| columns > self.width)
    }

    fn block(&mut self, block: Block) -> Option<Block> {
        let mut ops = Vec::new();
        if block.args.iter().chain(&block.yields).any(|v| self.is_wide(*v)) {
            return None;
        }
        for mut op in block.ops {
            let makes_wide = op.results.iter().any(|v| self.is_wide(*v));
            let uses_wide = op.operands.iter().any(|v| self.is_wide(*v));
            if !op.regions.is_empty() {
                if makes_wide || uses_wide {
                    return None;
                }
                let regions = std::mem::take(&mut op.regions);
                op.regions = regions.into_iter().map(|region| self.block(region)).collect::<Option<_>>()?;
                ops.push(op);
            } else if makes_wide {
                if !self.can_be_remade(&op) {
                    return None;
                }
                self.recipes.insert(op.results[0], op);
            } else if uses_wide {
                match op.kind {
                    OpKind::Store => self.store(&op, &mut ops),
                    kind if kind.class() == Class::RowReduce => self.reduce(&op, &mut ops)?,
                    _ => return None,
                }
            } else {
                ops.push(op);
            }
        }
        Some(Block { ops, ..block })
    }

    /// Whether any block of columns of the result can be made by itself.
    fn can_be_remade(&self, op: &Op) -> bool {
        match op.kind.class() {
            Class::Transfer if op.kind == OpKind::Load => {
                let tensor = op.operands[0];
                !self.written.contains(self.views.get(&tensor).unwrap_or(&tensor))
            }
            Class::Create | Class::ColReduce | Class::ColArg => true,
            Class::Layout => matches!(op.kind, OpKind::Broadcast | OpKind::SetValid),
            _ => op.kind.is_elementwise(),
        }
    }

    /// How many columns of a wide value are valid.
    fn valid_columns(&self, value: ValueId) -> Extent {
        let valid = self.function.ty(value).as_tile().and_then(|t| t.valid.last().copied());
        valid.unwrap_or(Extent::Const(0))
    }

    fn store(&mut self, op: &Op, out: &mut Vec<Op>) {
        let index = self.function.add_value(Type::INDEX, None, op.loc);
        let mut body = Blocks::new(self, index, op.loc);
        let mut operands = op.operands.clone();
        operands[0] = body.of(operands[0]);
        if let Some(column) = operands.last_mut() {
            *column = body.scalar(OpKind::Add, *column, index, DType::I64);
        }
        body.ops.push(Op { operands, ..op.clone() });
        let ops = body.ops;
        let columns = self.valid_columns(op.operands[0]);
        self.over_blocks(columns, None, Block { args: vec![index], ops, yields: Vec::new() }, op.loc, out);
    }

    /// A loop that combines the results of blocks. Sums of 16-bit floats are carried in f32, and rounded once.
    fn reduce(&mut self, op: &Op, out: &mut Vec<Op>) -> Option<()> {
        let whole = self.function.ty(op.result()).as_tile()?.clone();
        let sums = matches!(op.kind, OpKind::RowSum | OpKind::RowProd);
        let wide = sums && matches!(whole.dtype, DType::F16 | DType::BF16);
        let dtype = if wide { DType::F32 } else { whole.dtype };
        let ty = TileType { dtype, ..whole.clone() };
        let initial = self.identity(op.kind, &ty, op.loc, out)?;
        let columns = self.valid_columns(op.operands[0]);
        let index = self.function.add_value(Type::INDEX, None, op.loc);
        let carried = self.function.add_value(Type::Tile(ty.clone()), None, op.loc);
        let mut body = Blocks::new(self, index, op.loc);
        let mut block = body.of(op.operands[0]);
        if wide {
            block = body.cast(block, dtype)?;
        }
        let part = body.tile(op.kind, vec![block], Attrs::new(), ty.clone());
        let combine = match op.kind {
            OpKind::RowSum => OpKind::Add,
            OpKind::RowProd => OpKind::Mul,
            OpKind::RowMax => OpKind::Max,
            _ => OpKind::Min,
        };
        let next = body.tile(combine, vec![carried, part], Attrs::new(), ty.clone());
        let region = Block { args: vec![index, carried], ops: body.ops, yields: vec![next] };
        let result = if wide { self.function.add_value(Type::Tile(ty), None, op.loc) } else { op.result() };
        self.over_blocks(columns, Some((initial, result)), region, op.loc, out);
        if wide {
            let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(whole.dtype));
            out.push(simple_op(OpKind::Cast, vec![result], attrs, vec![op.result()], op.loc));
        }
        Some(())
    }

    /// The tile that changes nothing where a result is combined with it.
    fn identity(&mut self, kind: OpKind, ty: &TileType, loc: Loc, out: &mut Vec<Op>) -> Option<ValueId> {
        let bits = ty.dtype.bits();
        let integer = |largest: bool| match (ty.dtype.is_unsigned_integer(), largest) {
            (true, true) => Attr::Int((1i64 << bits.min(62)) - 1),
            (true, false) => Attr::Int(0),
            (false, true) => Attr::Int(i64::MAX >> (64 - bits)),
            (false, false) => Attr::Int(i64::MIN >> (64 - bits)),
        };
        let float = ty.dtype.is_float();
        let value: Option<Attr> = match kind {
            OpKind::RowSum if float => Some(Attr::Float(0.0)),
            OpKind::RowSum => Some(Attr::Int(0)),
            OpKind::RowProd if float => Some(Attr::Float(1.0)),
            OpKind::RowProd => Some(Attr::Int(1)),
            OpKind::RowMax if float => Some(Attr::Float(f64::NEG_INFINITY)),
            OpKind::RowMin if float => Some(Attr::Float(f64::INFINITY)),
            OpKind::RowMax => Some(integer(false)),
            OpKind::RowMin => Some(integer(true)),
            _ => None,
        };
        let attrs = Attrs::new().with(AttrKey::Value, value?).with(AttrKey::DType, Attr::DType(ty.dtype));
        let number = self.function.add_value(Type::Scalar(ty.dtype), None, loc);
        out.push(simple_op(OpKind::Constant, Vec::new(), attrs, vec![number], loc));
        let tile = self.function.add_value(Type::Tile(ty.clone()), None, loc);
        out.push(simple_op(OpKind::Full, vec![number], Attrs::new(), vec![tile], loc));
        Some(tile)
    }

    /// A loop over the blocks of so many columns, which may carry a value and result in one.
    fn over_blocks(
        &mut self,
        columns: Extent,
        carried: Option<(ValueId, ValueId)>,
        region: Block,
        loc: Loc,
        out: &mut Vec<Op>,
    ) {
        let lower = index_constant(self.function, 0, out, loc);
        let upper = match columns {
            Extent::Const(n) => index_constant(self.function, n, out, loc),
            Extent::Value(v) => v,
        };
        let step = index_constant(self.function, self.width, out, loc);
        let mut operands = vec![lower, upper, step];
        operands.extend(carried.map(|(initial, _)| initial));
        out.push(Op {
            kind: OpKind::For,
            operands,
            attrs: Attrs::new().with(AttrKey::Loop, Attr::Loop(LoopKind::Sequential)),
            regions: vec![region],
            results: carried.into_iter().map(|(_, result)| result).collect(),
            loc,
        });
    }
}

/// Blocks of wide values from column `index` on.
struct Blocks<'s, 'a> {
    splitter: &'s mut Splitter<'a>,
    index: ValueId,
    loc: Loc,
    ops: Vec<Op>,
    made: HashMap<ValueId, ValueId>,
    /// How much of so many columns lies in the block.
    valids: HashMap<Extent, Extent>,
}

impl<'s, 'a> Blocks<'s, 'a> {
    fn new(splitter: &'s mut Splitter<'a>, index: ValueId, loc: Loc) -> Blocks<'s, 'a> {
        Blocks { splitter, index, loc, ops: Vec::new(), made: HashMap::new(), valids: HashMap::new() }
    }

    /// The block of a value; what is not wide is its own block.
    fn of(&mut self, value: ValueId) -> ValueId {
        if let Some(made) = self.made.get(&value) {
            return *made;
        }
        let Some(op) = self.splitter.recipes.get(&value).cloned() else { return value };
        let mut operands: Vec<ValueId> = op.operands.iter().map(|operand| self.of(*operand)).collect();
        self.loc = op.loc;
        match op.kind {
            OpKind::Load => {
                if let Some(column) = operands.last_mut() {
                    *column = self.scalar(OpKind::Add, *column, self.index, DType::I64);
                }
            }
            OpKind::Iota => operands[0] = self.start(&op, operands[0]),
            _ => {}
        }
        let Some(mut ty) = self.splitter.function.ty(value).as_tile().cloned() else { return value };
        let last = ty.rank().saturating_sub(1);
        ty.dims[last] = Extent::Const(self.splitter.width);
        ty.valid[last] = self.valid(ty.valid[last]);
        let block = self.tile(op.kind, operands, op.attrs.clone(), ty);
        self.made.insert(value, block);
        block
    }

    /// Where ascending numbers start in the block.
    fn start(&mut self, op: &Op, start: ValueId) -> ValueId {
        let rank = self.splitter.function.ty(op.result()).as_tile().map_or(1, TileType::rank);
        if op.attrs.int(AttrKey::Axis).unwrap_or(0) + 1 != rank as i64 {
            return start;
        }
        let dtype = self.splitter.function.ty(start).dtype().unwrap_or(DType::I64);
        let mut index = self.index;
        if dtype != DType::I64 {
            let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(dtype));
            index = self.push(OpKind::Cast, vec![index], attrs, Type::Scalar(dtype));
        }
        self.scalar(OpKind::Add, start, index, dtype)
    }

    /// `min(width, columns - index)`, and not below 0.
    fn valid(&mut self, columns: Extent) -> Extent {
        if let Some(known) = self.valids.get(&columns) {
            return *known;
        }
        let width = self.splitter.width;
        let within = match columns {
            Extent::Const(n) if n % width == 0 => Extent::Const(width),
            _ => {
                let limit = match columns {
                    Extent::Const(n) => index_constant(self.splitter.function, n, &mut self.ops, self.loc),
                    Extent::Value(v) => v,
                };
                let rest = self.scalar(OpKind::Sub, limit, self.index, DType::I64);
                let size = index_constant(self.splitter.function, width, &mut self.ops, self.loc);
                let inside = self.scalar(OpKind::Min, size, rest, DType::I64);
                let zero = index_constant(self.splitter.function, 0, &mut self.ops, self.loc);
                Extent::Value(self.scalar(OpKind::Max, inside, zero, DType::I64))
            }
        };
        self.valids.insert(columns, within);
        within
    }

    fn cast(&mut self, value: ValueId, dtype: DType) -> Option<ValueId> {
        let ty = TileType { dtype, ..self.splitter.function.ty(value).as_tile()?.clone() };
        Some(self.tile(OpKind::Cast, vec![value], Attrs::new().with(AttrKey::DType, Attr::DType(dtype)), ty))
    }

    fn tile(&mut self, kind: OpKind, operands: Vec<ValueId>, attrs: Attrs, ty: TileType) -> ValueId {
        self.push(kind, operands, attrs, Type::Tile(ty))
    }

    fn scalar(&mut self, kind: OpKind, a: ValueId, b: ValueId, dtype: DType) -> ValueId {
        self.push(kind, vec![a, b], Attrs::new(), Type::Scalar(dtype))
    }

    fn push(&mut self, kind: OpKind, operands: Vec<ValueId>, attrs: Attrs, ty: Type) -> ValueId {
        let value = self.splitter.function.add_value(ty, None, self.loc);
        self.ops.push(simple_op(kind, operands, attrs, vec![value], self.loc));
        value
    }
}
