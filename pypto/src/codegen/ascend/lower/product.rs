//! Products on the matrix unit: blocks of operands go from global memory through L1 into L0, accumulators to global memory.
//!
//! Operands are parts of tensors, never tiles of the kernel: kernels are cut so that what the vector unit makes for a
//! product is in memory. A product that is only stored is computed block by block, whatever its extents; an accumulator
//! that a loop carries has to fit as a whole.

use super::blocks::{Blocks, choose};
use super::emit::round_up;
use super::tile::{Repr, Tile};
use super::{Held, Lowering, Outcome, Tensor};
use crate::codegen::ascend::dialect::{GlobalLayout, Inst, Kind, Region, TileOp, TileTy, Ty, Value};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{AttrKey, Block, DType, Op, TileType, ValueId};
use crate::ops::OpKind;
use crate::target::{Space, Target};

/// Rows and columns of tiles of the matrix spaces are multiples of this.
pub(super) const FRACTAL: i64 = 16;

/// An operand of a product: a matrix in global memory, transposed where the product reads it so.
#[derive(Clone)]
struct Operand {
    tensor: Tensor,
    offsets: Vec<Value>,
    transposed: bool,
    dtype: DType,
    rows: i64,
    cols: i64,
    valid: [Value; 2],
}

/// A window of the result: first row and column, extents, and how far it is valid.
struct Window {
    at: [Value; 2],
    extents: [i64; 2],
    valid: [Value; 2],
}

impl Lowering<'_> {
    /// A product whose result is only stored waits for the store; any other is computed into one accumulator.
    pub(super) fn product(&mut self, op: &Op) -> Outcome<()> {
        if op.kind == OpKind::MatmulBias {
            return Err(self.refuse(op, "in a kernel"));
        }
        if op.kind == OpKind::Matmul && self.is_only_stored(op.result()) {
            self.bind(op.result(), Held::Deferred(op.clone()));
            return Ok(());
        }
        if self.source.ty(op.result()).as_tile().is_some_and(|t| t.rank() > 2) {
            return Err(self.refuse(op, "of rank 3 that is used by other than a store"));
        }
        let operands = &op.operands[op.operands.len() - 2..];
        let a = self.operand_of(op, operands[0], op.attrs.flag(AttrKey::TransposeA))?;
        let b = self.operand_of(op, operands[1], op.attrs.flag(AttrKey::TransposeB))?;
        let shape = self.shape_of(op.result())?;
        let onto = match op.kind {
            OpKind::MatmulAcc if self.uses(op.operands[0]).1 > 1 => {
                return Err(self.refuse(op, "onto a value that is used again"));
            }
            OpKind::MatmulAcc => match self.tile(op.operands[0])?.repr {
                Repr::Data(handle) => Some(handle),
                _ => None,
            },
            _ => None,
        };
        let acc = match onto {
            Some(handle) => self.with_valid(handle, shape.valid)?,
            None => self.accumulator(&shape)?,
        };
        let zero = self.index(0);
        let window = Window { at: [zero, zero], extents: [shape.rows, shape.cols], valid: shape.valid };
        let first = match onto {
            None => First::Overwrites,
            Some(handle) => {
                let root = self.root(handle);
                self.first_products.get(&root).copied().map_or(First::Accumulates, First::OverwritesIf)
            }
        };
        let blocks = choose(self.target, a.dtype, shape.rows, shape.cols);
        self.accumulate(acc, &a, &b, &window, blocks, first)?;
        self.bind(op.result(), Held::Tile(shape.with(Repr::Data(acc), shape.dtype)));
        Ok(())
    }

    /// An accumulator for a whole tile.
    fn accumulator(&mut self, shape: &Tile) -> Outcome<Value> {
        let (rows, cols) = (round_up(shape.rows, FRACTAL), round_up(shape.cols, FRACTAL));
        let ty = TileTy::matrix(Space::Acc, shape.dtype, rows, cols);
        let capacity = self.target.space(Space::Acc).capacity;
        if ty.bytes() > capacity {
            let title = format!(
                "an accumulator of {rows} x {cols} needs {} bytes of `acc`, target `{}` has {capacity}",
                ty.bytes(),
                self.target.name
            );
            let rows = (capacity / (cols * 4) / FRACTAL * FRACTAL).max(FRACTAL);
            return Err(Diagnostic::error(codes::MEMORY, self.loc, title, "this product")
                .help(format!("accumulate tiles of {rows} rows")));
        }
        Ok(self.alloc(&shape.name, ty, shape.valid))
    }

    /// The place of an accumulator that a loop carries. From zeros the first product overwrites it.
    pub(super) fn carried_accumulator(&mut self, initial: ValueId, shape: &Tile) -> Outcome<(Value, Tile, bool)> {
        match self.tile(initial)?.repr {
            Repr::Data(handle) if self.root(handle) == handle => {
                Ok((handle, shape.with(Repr::Data(handle), shape.dtype), false))
            }
            _ => {
                let handle = self.accumulator(shape)?;
                Ok((handle, shape.with(Repr::Data(handle), shape.dtype), true))
            }
        }
    }

    fn is_only_stored(&self, value: ValueId) -> bool {
        let (stores, uses) = self.uses(value);
        stores == uses
    }

    /// How often a value is stored, and how often it is used at all.
    fn uses(&self, value: ValueId) -> (usize, usize) {
        fn count(block: &Block, value: ValueId) -> (usize, usize) {
            let mut found = (0, usize::from(block.yields.contains(&value)));
            for op in &block.ops {
                let uses = op.operands.iter().filter(|v| **v == value).count();
                let stored = op.kind == OpKind::Store && op.operands[0] == value;
                found = (found.0 + usize::from(stored), found.1 + uses);
                for region in &op.regions {
                    let (stores, uses) = count(region, value);
                    found = (found.0 + stores, found.1 + uses);
                }
            }
            found
        }
        count(&self.source.body, value)
    }

    fn operand_of(&mut self, op: &Op, value: ValueId, transposed: bool) -> Outcome<Operand> {
        let Some(Held::Deferred(load)) = self.held.get(&value).cloned() else {
            return Err(self.refuse(op, "of a tile that is no load"));
        };
        if load.kind != OpKind::Load {
            return Err(self.refuse(op, "of another product's result in one kernel"));
        }
        let Some(ty) = self.source.ty(value).as_tile().cloned() else {
            return Err(self.internal("an operand is no tile"));
        };
        let (mut rows, mut cols, mut valid) = self.extents(&matrix_of(&ty))?;
        // What a value says to be valid beyond its load is not there.
        if let Some(loaded) = self.source.ty(load.result()).as_tile().filter(|_| load.result() != value).cloned() {
            let (_, _, most) = self.extents(&matrix_of(&loaded))?;
            valid = [0, 1].map(|axis| match valid[axis] == most[axis] {
                true => most[axis],
                false => self.index_op("minsi", valid[axis], most[axis]),
            });
        }
        let tensor = self.tensor(load.operands[0])?;
        let offsets = load.operands[1..].iter().map(|v| self.scalar(*v)).collect::<Outcome<Vec<Value>>>()?;
        if transposed {
            std::mem::swap(&mut rows, &mut cols);
            valid.swap(0, 1);
        }
        if !self.target.elements.product.contains(&ty.dtype) {
            let has = |target: &'static Target| target.elements.product.contains(&ty.dtype);
            let problem = self.refusal_where(op.loc, op.kind.name(), &format!("of `{}`", ty.dtype), has);
            let supported: Vec<&str> = self.target.elements.product.iter().map(|dtype| dtype.name()).collect();
            return Err(problem.note(format!("it multiplies {}", supported.join(", "))));
        }
        if tensor.strides.last().and_then(|s| self.known(*s)) != Some(1) {
            return Err(self.refuse(op, "of rows whose elements are apart"));
        }
        Ok(Operand { tensor, offsets, transposed, dtype: ty.dtype, rows, cols, valid })
    }

    /// A load of which less is valid: products read only that.
    pub(super) fn narrower_load(&mut self, op: &Op) -> Outcome<()> {
        match self.held.get(&op.operands[0]).cloned() {
            Some(Held::Deferred(load)) if load.kind == OpKind::Load => {
                self.bind(op.result(), Held::Deferred(load));
                Ok(())
            }
            _ => Err(self.refuse(op, "of a product on the matrix unit")),
        }
    }

    /// Stores a product, or an accumulator.
    pub(super) fn store_product(&mut self, op: &Op) -> Outcome<()> {
        let tensor = self.tensor(op.operands[1])?;
        let offsets = op.operands[2..].iter().map(|v| self.scalar(*v)).collect::<Outcome<Vec<Value>>>()?;
        let Some(ty) = self.source.ty(op.operands[0]).as_tile().cloned() else {
            return Err(self.internal("a store takes no tile"));
        };
        match self.held.get(&op.operands[0]).cloned() {
            Some(Held::Deferred(product)) if product.kind == OpKind::Matmul => {
                self.product_to_memory(&product, &tensor, &offsets, &ty)
            }
            Some(Held::Tile(Tile { repr: Repr::Data(acc), .. })) => {
                let sizes = self.sizes(&ty)?;
                let (_, _, valid) = self.extents(&ty)?;
                let acc = self.with_valid(acc, valid)?;
                let part = self.partition(&tensor, &offsets, &sizes, false);
                self.tile_op(TileOp::Store, &[acc], part);
                Ok(())
            }
            _ => Err(self.refuse(op, "of a tile that is no product on the matrix unit")),
        }
    }

    /// Of rank 3 one matrix after the other.
    fn product_to_memory(&mut self, op: &Op, tensor: &Tensor, offsets: &[Value], ty: &TileType) -> Outcome<()> {
        let a = self.operand_of(op, op.operands[0], op.attrs.flag(AttrKey::TransposeA))?;
        let b = self.operand_of(op, op.operands[1], op.attrs.flag(AttrKey::TransposeB))?;
        if offsets.len() < 2 {
            return Err(self.refuse(op, "into a tensor of rank 1"));
        }
        let Some(batch) = ty.rank().checked_sub(3) else {
            return self.matrix_to_memory(&a, &b, tensor, offsets, ty);
        };
        let (Some(count), valid) = (ty.dims[batch].constant(), self.extent(ty.valid[batch])?) else {
            return Err(self.refuse(op, "of a number of matrices that is not known"));
        };
        self.for_blocks("batch", count, 1, valid, |this, number, _| {
            let [a, b] = [&a, &b].map(|operand| {
                let mut operand = operand.clone();
                operand.offsets[batch] = this.index_op("addi", operand.offsets[batch], number);
                operand
            });
            let mut offsets = offsets.to_vec();
            offsets[batch] = this.index_op("addi", offsets[batch], number);
            this.matrix_to_memory(&a, &b, tensor, &offsets, &matrix_of(ty))
        })
    }

    /// Block by block: rows and columns in loops, each block accumulated and stored.
    fn matrix_to_memory(
        &mut self,
        a: &Operand,
        b: &Operand,
        tensor: &Tensor,
        offsets: &[Value],
        ty: &TileType,
    ) -> Outcome<()> {
        let [.., row_at, col_at] = offsets else { return Err(self.internal("a product has no rows")) };
        let (row_at, col_at) = (*row_at, *col_at);
        let (rows, cols, valid) = self.extents(ty)?;
        let blocks = choose(self.target, a.dtype, rows, cols);
        let [m, n] = [blocks.rows.min(round_up(rows, FRACTAL)), blocks.cols.min(round_up(cols, FRACTAL))];
        let dtype = ty.dtype;
        self.for_blocks("i", rows, m, valid[0], |this, i, valid_rows| {
            this.for_blocks("j", cols, n, valid[1], |this, j, valid_cols| {
                let valid = [valid_rows, valid_cols];
                let acc = this.alloc("acc", TileTy::matrix(Space::Acc, dtype, m, n), valid);
                let window = Window { at: [i, j], extents: [m, n], valid };
                this.accumulate(acc, a, b, &window, blocks, First::Overwrites)?;
                let mut at = offsets.to_vec();
                let rank = at.len();
                at[rank - 2] = this.index_op("addi", row_at, i);
                at[rank - 1] = this.index_op("addi", col_at, j);
                let one = this.index(1);
                let mut sizes = vec![one; rank];
                sizes[rank - 2] = valid_rows;
                sizes[rank - 1] = valid_cols;
                let part = this.partition(tensor, &at, &sizes, false);
                this.tile_op(TileOp::Store, &[acc], part);
                Ok(())
            })
        })
    }

    /// A loop over the blocks of a dimension, or the one block: gives its start and how far it is valid.
    fn for_blocks(
        &mut self,
        name: &str,
        extent: i64,
        block: i64,
        valid: Value,
        body: impl FnOnce(&mut Self, Value, Value) -> Outcome<()>,
    ) -> Outcome<()> {
        let zero = self.index(0);
        if extent <= block {
            return body(self, zero, valid);
        }
        let step = self.index(block);
        let index = self.fresh(name, Ty::Index);
        self.bodies.push(Vec::new());
        let rest = self.index_op("subi", valid, index);
        let valid_here = if extent % block == 0 && self.known(valid) == Some(extent) {
            step
        } else {
            self.index_op("minsi", step, rest)
        };
        body(self, index, valid_here)?;
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        self.push(Kind::For { index, lower: zero, upper: valid, step, carried: Vec::new(), body, yields: Vec::new() });
        Ok(())
    }

    /// `acc (+)= a[window rows, :] @ b[:, window columns]`, K block by block.
    fn accumulate(
        &mut self,
        acc: Value,
        a: &Operand,
        b: &Operand,
        window: &Window,
        blocks: Blocks,
        first: First,
    ) -> Outcome<()> {
        let depth = a.cols.min(b.rows);
        let k = blocks.depth.min(round_up(depth, FRACTAL));
        let valid_depth =
            if a.valid[1] == b.valid[0] { a.valid[1] } else { self.index_op("minsi", a.valid[1], b.valid[0]) };
        let zero = self.index(0);
        let block = self.index(k);
        let first_valid = if self.known(valid_depth).is_some() || depth > k {
            self.index_op("minsi", block, valid_depth)
        } else {
            valid_depth
        };
        self.step(acc, a, b, window, (zero, k, first_valid), first)?;
        if depth <= k {
            return Ok(());
        }
        let index = self.fresh("k", Ty::Index);
        self.bodies.push(Vec::new());
        let rest = self.index_op("subi", valid_depth, index);
        let valid_here = if depth % k == 0 && self.known(valid_depth) == Some(depth) {
            block
        } else {
            self.index_op("minsi", block, rest)
        };
        self.step(acc, a, b, window, (index, k, valid_here), First::Accumulates)?;
        let body: Vec<Inst> = self.bodies.pop().unwrap_or_default();
        let (carried, yields) = (Vec::new(), Vec::new());
        self.push(Kind::For { index, lower: block, upper: valid_depth, step: block, carried, body, yields });
        Ok(())
    }

    /// One block of K: operands to L1, to L0, and the product.
    fn step(
        &mut self,
        acc: Value,
        a: &Operand,
        b: &Operand,
        window: &Window,
        (k_at, k, valid_k): (Value, i64, Value),
        first: First,
    ) -> Outcome<()> {
        let [m, n] = window.extents.map(|extent| round_up(extent, FRACTAL));
        let left = self.operand_tile(a, Space::Left, [window.at[0], k_at], [m, k], [window.valid[0], valid_k])?;
        let right = self.operand_tile(b, Space::Right, [k_at, window.at[1]], [k, n], [valid_k, window.valid[1]])?;
        match first {
            First::Overwrites => self.tile_op(TileOp::Product, &[left, right], acc),
            First::Accumulates => self.tile_op(TileOp::ProductAcc, &[acc, left, right], acc),
            First::OverwritesIf(condition) => {
                let place = self.place;
                let one = |op, ins: Vec<Value>| Region {
                    body: vec![Inst {
                        kind: Kind::Tile { op, ins, attr: crate::codegen::ascend::dialect::TileAttr::None, out: acc },
                        place,
                    }],
                    yields: Vec::new(),
                };
                let then = one(TileOp::Product, vec![left, right]);
                let otherwise = one(TileOp::ProductAcc, vec![acc, left, right]);
                self.push(Kind::If { condition, results: Vec::new(), then, otherwise });
            }
        }
        Ok(())
    }

    /// A block of an operand in L0.
    fn operand_tile(
        &mut self,
        operand: &Operand,
        space: Space,
        at: [Value; 2],
        [rows, cols]: [i64; 2],
        valid: [Value; 2],
    ) -> Outcome<Value> {
        let part = self.operand_part(operand, at, valid);
        let name = operand.dtype.name();
        let stage = self.alloc(&format!("l1_{name}"), TileTy::matrix(Space::Mat, operand.dtype, rows, cols), valid);
        self.tile_op(TileOp::Load, &[part], stage);
        let tile = self.alloc(&format!("{space}_{name}"), TileTy::matrix(space, operand.dtype, rows, cols), valid);
        self.tile_op(TileOp::Move, &[stage], tile);
        Ok(tile)
    }

    /// The part of the tensor that a block of an operand is.
    fn operand_part(&mut self, operand: &Operand, at: [Value; 2], valid: [Value; 2]) -> Value {
        let rank = operand.offsets.len();
        let one = self.index(1);
        let (mut offsets, mut sizes) = (operand.offsets.clone(), vec![one; rank]);
        let [first, second] = if operand.transposed { [at[1], at[0]] } else { at };
        offsets[rank - 2] = self.index_op("addi", offsets[rank - 2], first);
        offsets[rank - 1] = self.index_op("addi", offsets[rank - 1], second);
        if !operand.transposed {
            sizes[rank - 2] = valid[0];
            sizes[rank - 1] = valid[1];
            return self.partition(&operand.tensor, &offsets, &sizes, false);
        }
        sizes[rank - 2] = valid[1];
        sizes[rank - 1] = valid[0];
        self.transposed_partition(&operand.tensor, &offsets, &sizes)
    }

    /// As [`Lowering::partition`], through a view whose last two dimensions are exchanged.
    fn transposed_partition(&mut self, tensor: &Tensor, offsets: &[Value], sizes: &[Value]) -> Value {
        let Ty::Pointer(dtype) = self.ty(tensor.pointer).clone() else { return tensor.pointer };
        let rank = tensor.dims.len();
        let view = match self.transposed_views.get(&tensor.pointer) {
            Some(known) => *known,
            None => {
                let (mut shape, mut strides) = (tensor.dims.clone(), tensor.strides.clone());
                shape.swap(rank - 2, rank - 1);
                strides.swap(rank - 2, rank - 1);
                let name = format!("{}_turned", self.function.name_of(tensor.pointer));
                let result = self.fresh(&name, Ty::View { rank, dtype });
                let layout = GlobalLayout::Dn;
                let kind = Kind::TensorView { result, pointer: tensor.pointer, shape, strides, layout };
                let place = self.place;
                self.prologue.push(Inst { kind, place });
                self.transposed_views.insert(tensor.pointer, result);
                result
            }
        };
        let (mut at, mut sizes) = self.in_parameter(tensor, offsets, sizes);
        at.swap(rank - 2, rank - 1);
        sizes.swap(rank - 2, rank - 1);
        self.partition_of("turned_part", view, at, sizes)
    }
}

/// The type of the matrices of a tile.
fn matrix_of(ty: &TileType) -> TileType {
    let leading = ty.rank().saturating_sub(2);
    TileType { dims: ty.dims[leading..].to_vec(), valid: ty.valid[leading..].to_vec(), ..ty.clone() }
}

/// What the first product of a sum does with the accumulator.
#[derive(Clone, Copy)]
enum First {
    Overwrites,
    Accumulates,
    /// Overwrites in the first iteration of a loop, where this condition holds.
    OverwritesIf(Value),
}
