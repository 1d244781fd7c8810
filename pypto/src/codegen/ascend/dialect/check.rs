//! The assembler's rules for a function: types, spaces, extents and addresses.
//!
//! Rules are applied to what was read, never to what the compiler meant, so that a fault of lowering or planning shows.

use super::read::Level;
use super::tile_op::{Form, TileOp};
use super::types::{Order, TileTy, Ty};
use super::{Alias, Core, Function, Inst, Kind, Literal, TileAttr, Value};
use crate::ir::DType;
use crate::target::{Space, Target};

/// What is wrong: the number of the instruction, counting nested ones in order, and why.
pub type Wrong = (Option<usize>, String);

/// Checks a function.
///
/// # Errors
/// The first rule that it breaks.
pub fn function(f: &Function, arch: &str, level: Level) -> Result<(), Wrong> {
    let target = Target::named(arch).ok_or_else(|| (None, format!("`{arch}` is no architecture")))?;
    let mut checker = Checker { f, target, level, position: 0, constants: vec![None; f.values.len()] };
    checker.body(&f.body)?;
    if level == Level::Three {
        super::super::overlap::check(f).map_err(|message| (None, message))?;
    }
    Ok(())
}

struct Checker<'a> {
    f: &'a Function,
    target: &'static Target,
    level: Level,
    position: usize,
    constants: Vec<Option<i64>>,
}

type Rule = Result<(), String>;

fn hold(condition: bool, message: impl FnOnce() -> String) -> Rule {
    if condition { Ok(()) } else { Err(message()) }
}

impl Checker<'_> {
    fn body(&mut self, body: &[Inst]) -> Result<(), Wrong> {
        for inst in body {
            let position = self.position;
            self.position += 1;
            self.inst(inst).map_err(|message| (Some(position), message))?;
            for body in inst.bodies() {
                self.body(body)?;
            }
        }
        Ok(())
    }

    fn inst(&mut self, inst: &Inst) -> Rule {
        match &inst.kind {
            Kind::Constant { result, literal } => {
                if let Literal::Int(n) = literal {
                    self.constants[result.0 as usize] = Some(*n);
                }
                Ok(())
            }
            Kind::Arith { op, predicate, operands, .. } => self.arith(op, predicate.is_some(), operands),
            Kind::TensorView { result, pointer, shape, strides, .. } => self.view(*result, *pointer, shape, strides),
            Kind::Partition { result, view, offsets, sizes } => self.partition(*result, *view, offsets, sizes),
            Kind::Alloc { result, address, valid } => self.alloc(*result, *address, valid),
            Kind::Alias { result, source, alias } => self.alias(*result, *source, alias),
            Kind::Tile { op, ins, attr, out } => {
                self.tile_op(*op, ins, *attr, *out).map_err(|message| format!("`pto.{}`: {message}", op.name()))
            }
            Kind::GetElement { tile, position, result } => {
                self.index(*position)?;
                let dtype = self.tile(*tile)?.dtype;
                hold(*self.f.ty(*result) == Ty::Scalar(dtype), || "the element has another type than the tile".into())
            }
            Kind::LoadScalar { result: value, pointer, offset } | Kind::StoreScalar { value, pointer, offset } => {
                self.index(*offset)?;
                let same = match (self.f.ty(*pointer), self.f.ty(*value)) {
                    (Ty::Pointer(a), Ty::Scalar(b)) => a == b,
                    _ => false,
                };
                hold(same, || "a scalar has the type that the pointer points to".into())
            }
            Kind::Report { values, .. } => {
                hold(values.iter().all(|v| !matches!(self.f.ty(*v), Ty::View { .. } | Ty::Partition { .. })), || {
                    "a report shows tiles, numbers and what pointers point to".into()
                })
            }
            Kind::For { lower, upper, step, carried, yields, .. } => {
                [lower, upper, step].into_iter().try_for_each(|v| self.index(*v))?;
                hold(self.constant(*step).is_none_or(|n| n > 0), || "the step of a loop is positive".into())?;
                let types = |vs: &[Value]| vs.iter().map(|v| self.f.ty(*v).clone()).collect::<Vec<_>>();
                let results: Vec<Value> = carried.iter().map(|c| c.result).collect();
                hold(types(yields) == types(&results), || "a loop yields what it carries".into())
            }
            Kind::If { condition, results, then, otherwise } => {
                hold(*self.f.ty(*condition) == Ty::Scalar(DType::Bool), || "a condition is `i1`".into())?;
                let types = |vs: &[Value]| vs.iter().map(|v| self.f.ty(*v).clone()).collect::<Vec<_>>();
                let same = types(results) == types(&then.yields) && types(results) == types(&otherwise.yields);
                hold(same, || "both branches yield what the `scf.if` gives".into())
            }
        }
    }

    fn constant(&self, value: Value) -> Option<i64> {
        self.constants[value.0 as usize]
    }

    fn index(&self, value: Value) -> Rule {
        hold(*self.f.ty(value) == Ty::Index, || format!("`%{}` is no `index`", self.f.name_of(value)))
    }

    fn tile(&self, value: Value) -> Result<&TileTy, String> {
        self.f.tile(value).ok_or_else(|| format!("`%{}` is no tile", self.f.name_of(value)))
    }

    fn arith(&self, op: &str, compares: bool, operands: &[Value]) -> Rule {
        let numbers = operands.iter().all(|v| matches!(self.f.ty(*v), Ty::Index | Ty::Scalar(_)));
        hold(numbers, || "arithmetic takes numbers".into())?;
        let count = match op {
            "select" => 3,
            "negf" | "absi" => 1,
            cast if super::print::is_cast(cast) => 1,
            _ => 2,
        };
        hold(operands.len() == count, || format!("`arith.{op}` takes {count} operands"))?;
        let same = &operands[usize::from(op == "select")..];
        let _ = compares;
        hold(same.iter().all(|v| self.f.ty(*v) == self.f.ty(same[0])), || "operands are of one type".into())
    }

    fn view(&self, result: Value, pointer: Value, shape: &[Value], strides: &[Value]) -> Rule {
        shape.iter().chain(strides).try_for_each(|v| self.index(*v))?;
        match (self.f.ty(result), self.f.ty(pointer)) {
            (Ty::View { rank, dtype }, Ty::Pointer(pointee)) => {
                hold(dtype == pointee, || "a view has the pointer's element type".into())?;
                hold(shape.len() == *rank && strides.len() == *rank, || {
                    format!("a view of rank {rank} has as many extents and strides")
                })
            }
            _ => Err("a view is made of a pointer".into()),
        }
    }

    fn partition(&self, result: Value, view: Value, offsets: &[Value], sizes: &[Value]) -> Rule {
        offsets.iter().chain(sizes).try_for_each(|v| self.index(*v))?;
        let (Ty::Partition { dims, dtype }, Ty::View { rank, dtype: viewed }) = (self.f.ty(result), self.f.ty(view))
        else {
            return Err("a partition is made of a view".into());
        };
        hold(dtype == viewed, || "a partition has the view's element type".into())?;
        hold([dims.len(), offsets.len(), sizes.len()] == [*rank; 3], || "a partition has the view's rank".into())?;
        for (dim, size) in dims.iter().zip(sizes) {
            hold(*dim == self.constant(*size).filter(|n| *n > 0), || {
                "the sizes of a partition are those of its type".into()
            })?;
        }
        Ok(())
    }

    fn alloc(&self, result: Value, address: Option<Value>, valid: &[Value; 2]) -> Rule {
        let tile = self.tile(result)?;
        valid.iter().try_for_each(|v| self.index(*v))?;
        hold(tile.valid == [None; 2], || "`valid_row` and `valid_col` go with `?` in the type".into())?;
        self.layout(tile)?;
        let info = self.target.space(tile.space);
        match (self.level, address) {
            (Level::Two, None) => Ok(()),
            (Level::Two, Some(_)) => Err("level 2 takes no `addr`".into()),
            (Level::Three, None) => Err("level 3 needs an `addr`".into()),
            (Level::Three, Some(address)) => {
                let at = self.constant(address).filter(|_| *self.f.ty(address) == Ty::Scalar(DType::I64));
                let at = at.ok_or("an address is a constant `i64`")?;
                hold(at >= 0 && at % info.alignment == 0, || {
                    format!("address {at} is no multiple of {}", info.alignment)
                })?;
                hold(at + tile.bytes() <= info.capacity, || {
                    format!("bytes {at}..{} of `{}`, which has {}", at + tile.bytes(), tile.space, info.capacity)
                })
            }
        }
    }

    /// Rows of vector tiles are whole blocks of 32 bytes; tiles of the matrix spaces are whole fractals.
    fn layout(&self, tile: &TileTy) -> Rule {
        let size = tile.dtype.size() as i64;
        hold(tile.rows > 0 && tile.cols > 0, || "a tile has rows and columns".into())?;
        let expected = |space| {
            let m = TileTy::matrix(space, tile.dtype, tile.rows, tile.cols);
            (m.outer, m.inner, m.fractal)
        };
        match tile.space {
            Space::Vec => {
                hold(tile.inner == Order::None, || "vector tiles have no inner order".into())?;
                let line = if tile.outer == Order::Row { tile.cols } else { tile.rows };
                hold(line * size % 32 == 0, || format!("lines of {} bytes are no multiple of 32", line * size))
            }
            space => hold((tile.outer, tile.inner, tile.fractal) == expected(space), || {
                format!("a tile in `{space}` has another layout")
            }),
        }
    }

    fn alias(&self, result: Value, source: Value, alias: &Alias) -> Rule {
        let (to, from) = (self.tile(result)?, self.tile(source)?);
        hold(to.space == from.space, || "an alias stays in its space".into())?;
        match alias {
            Alias::Reshape => {
                hold(to.dtype == from.dtype, || "a reshape keeps the element type".into())?;
                hold(to.bytes() == from.bytes(), || "a reshape keeps the number of bytes".into())?;
                self.layout(to)
            }
            Alias::Bitcast => {
                let same = to.dtype.size() == from.dtype.size() && (to.rows, to.cols) == (from.rows, from.cols);
                hold(same, || "a bitcast keeps extents and the size of elements".into())
            }
            Alias::Subview { offset, valid } => {
                offset.iter().chain(valid.iter().flatten()).try_for_each(|v| self.index(*v))?;
                hold(to.dtype == from.dtype, || "a window keeps the element type".into())?;
                hold(to.rows <= from.rows && to.cols <= from.cols, || "a window is inside of its tile".into())
            }
        }
    }

    fn tile_op(&self, op: TileOp, ins: &[Value], attr: TileAttr, out: Value) -> Rule {
        let counts: &[usize] = match op.form() {
            Form::Load | Form::Store | Form::Unary | Form::RowExpand | Form::ColExpand | Form::Convert => &[1],
            Form::Fill | Form::Iota | Form::Move => &[1],
            Form::ColReduce => &[1, 2],
            Form::Binary | Form::TileScalar | Form::RowReduce | Form::Compare | Form::CompareScalar => &[2],
            Form::RowExpandBinary | Form::ColExpandBinary | Form::Transpose | Form::Product => &[2],
            Form::Extract | Form::ProductAcc => &[3],
            Form::Select => &[4],
        };
        hold(counts.contains(&ins.len()), || format!("takes {} operands, {} given", counts[0], ins.len()))?;
        let attr_fits = match op.form() {
            Form::Compare | Form::CompareScalar => matches!(attr, TileAttr::Compare(_)),
            Form::Convert => matches!(attr, TileAttr::Round(_)),
            _ => attr == TileAttr::None,
        };
        hold(attr_fits, || "has another attribute".into())?;
        match op.form() {
            Form::Load => self.transfer(ins[0], out, true),
            Form::Store => self.transfer(out, ins[0], false),
            Form::Move | Form::Extract => self.moves(op, ins, out),
            Form::Product | Form::ProductAcc => self.product(op, ins, out),
            _ => self.vector_op(op, ins, out),
        }
    }

    fn transfer(&self, partition: Value, tile: Value, load: bool) -> Rule {
        let Ty::Partition { dtype, .. } = self.f.ty(partition) else {
            return Err("moves between a partition and a tile".into());
        };
        let tile = self.tile(tile)?;
        let info = self.target.space(tile.space);
        hold(if load { info.loads } else { info.stores }, || {
            format!("`{}` and global memory are not connected this way", tile.space)
        })?;
        let converts =
            tile.space == Space::Acc && tile.dtype == DType::F32 && matches!(dtype, DType::F16 | DType::BF16);
        hold(*dtype == tile.dtype || converts, || "elements of the tile and of the tensor differ".into())
    }

    fn moves(&self, op: TileOp, ins: &[Value], out: Value) -> Rule {
        let (from, to) = (self.tile(ins[0])?, self.tile(out)?);
        hold(from.dtype == to.dtype, || "a move keeps the element type".into())?;
        let reachable = self.target.space(from.space).moves_to.contains(&to.space);
        hold(reachable, || format!("there is no way from `{}` to `{}`", from.space, to.space))?;
        if op.form() == Form::Extract {
            return ins[1..].iter().try_for_each(|v| self.index(*v));
        }
        hold((from.rows, from.cols) == (to.rows, to.cols), || "a move keeps the extents".into())
    }

    fn product(&self, op: TileOp, ins: &[Value], out: Value) -> Rule {
        hold(self.f.core == Core::Cube, || "runs on the matrix unit only".into())?;
        if op == TileOp::ProductAcc {
            hold(ins[0] == out, || "accumulates in place".into())?;
        }
        let operands = &ins[ins.len() - 2..];
        let (left, right, acc) = (self.tile(operands[0])?, self.tile(operands[1])?, self.tile(out)?);
        let spaces = [left.space, right.space, acc.space] == [Space::Left, Space::Right, Space::Acc];
        hold(spaces, || "operands are in `left`, `right` and `acc`".into())?;
        let types = left.dtype == right.dtype
            && self.target.elements.product.contains(&left.dtype)
            && acc.dtype == left.dtype.accumulator();
        hold(types, || "no product of these element types".into())?;
        let extents = left.cols == right.rows && acc.rows == left.rows && acc.cols == right.cols;
        hold(extents, || "extents of the operands disagree".into())
    }

    fn vector_op(&self, op: TileOp, ins: &[Value], out: Value) -> Rule {
        hold(self.f.core == Core::Vector, || "runs on the vector unit only".into())?;
        let result = self.tile(out)?;
        hold(result.space == Space::Vec, || "the result is in `vec`".into())?;
        let form = op.form();
        for value in ins {
            if let Ty::Tile(tile) = self.f.ty(*value) {
                hold(tile.space == Space::Vec, || "operands are in `vec`".into())?;
            }
        }
        let same = |value: Value| -> Rule {
            let tile = self.tile(value)?;
            let fits = (tile.dtype, tile.rows, tile.cols) == (result.dtype, result.rows, result.cols);
            hold(fits, || "the result differs from its operands in element type or extents".into())
        };
        let row_major = |value: Value| -> Rule {
            hold(self.tile(value)?.outer == Order::Row, || "operands are in row order".into())
        };
        let number = |value: Value, dtype: DType| {
            hold(*self.f.ty(value) == Ty::Scalar(dtype), || "the number has the tile's element type".into())
        };
        let dtypes = self.allowed(op);
        let operand = ins.iter().find_map(|v| self.f.tile(*v).filter(|_| form != Form::Select));
        let dtype = operand.unwrap_or(result).dtype;
        hold(dtypes.is_empty() || dtypes.contains(&dtype), || {
            format!("{} has no such operation on {dtype}", self.target.name)
        })?;
        match form {
            Form::Unary => same(ins[0]).and_then(|()| row_major(ins[0])),
            Form::Binary => ins.iter().try_for_each(|v| same(*v).and_then(|()| row_major(*v))),
            Form::TileScalar => {
                same(ins[0])?;
                row_major(ins[0])?;
                number(ins[1], if op.is_shift() { DType::I32 } else { result.dtype })
            }
            Form::RowReduce => self.row_reduce(op, ins, result),
            Form::ColReduce => self.col_reduce(op, ins, result),
            Form::RowExpand | Form::RowExpandBinary => {
                if form == Form::RowExpandBinary {
                    same(ins[0])?;
                }
                let column = self.tile(ins[ins.len() - 1])?;
                let fits = column.dtype == result.dtype && column.outer == Order::Column && column.cols == 1;
                hold(fits, || "the repeated operand is a column".into())?;
                hold(column.rows >= result.rows, || "the column has fewer rows".into())
            }
            Form::ColExpand | Form::ColExpandBinary => {
                if form == Form::ColExpandBinary {
                    same(ins[0])?;
                }
                let row = self.tile(ins[ins.len() - 1])?;
                let fits = row.dtype == result.dtype && row.outer == Order::Row && row.rows == 1;
                hold(fits && row.cols == result.cols, || "the repeated operand is a row of as many columns".into())
            }
            Form::Compare | Form::CompareScalar => {
                let tile = self.tile(ins[0])?;
                row_major(ins[0])?;
                if form == Form::Compare {
                    let other = self.tile(ins[1])?;
                    let fits = (tile.dtype, tile.rows, tile.cols) == (other.dtype, other.rows, other.cols);
                    hold(fits, || "the operands differ in element type or extents".into())?;
                } else {
                    number(ins[1], tile.dtype)?;
                }
                hold(result.dtype == DType::I8 && result.rows == tile.rows, || "the result is a mask of `i8`".into())
            }
            Form::Select => {
                hold(self.tile(ins[0])?.dtype == DType::I8, || "the first operand is a mask of `i8`".into())?;
                same(ins[1])?;
                same(ins[2])?;
                row_major(ins[1])
            }
            Form::Convert => {
                let tile = self.tile(ins[0])?;
                hold((tile.rows, tile.cols) == (result.rows, result.cols), || "a conversion keeps the extents".into())?;
                hold(self.target.conversions.contains(&(tile.dtype, result.dtype)), || {
                    format!("{} has no conversion of {} to {}", self.target.name, tile.dtype, result.dtype)
                })
            }
            Form::Fill | Form::Iota => number(ins[0], result.dtype),
            Form::Transpose => {
                let tile = self.tile(ins[0])?;
                hold(tile.dtype == result.dtype, || "a transposition keeps the element type".into())?;
                hold(tile.cols >= result.rows && result.cols >= tile.rows, || "extents of the result do not fit".into())
            }
            _ => Ok(()),
        }
    }

    fn row_reduce(&self, op: TileOp, ins: &[Value], result: &TileTy) -> Rule {
        let (tile, scratch) = (self.tile(ins[0])?, self.tile(ins[1])?);
        let picks = matches!(op, TileOp::RowArgmax | TileOp::RowArgmin);
        hold(result.dtype == if picks { DType::I32 } else { tile.dtype }, || {
            "the result has another element type than its operand".into()
        })?;
        hold(scratch.dtype == tile.dtype && scratch.bytes() >= tile.bytes(), || {
            "the scratch tile is too small".into()
        })?;
        let fits = result.outer == Order::Column && result.cols == 1 && result.rows >= tile.rows;
        hold(fits && tile.outer == Order::Row, || "rows of a row-major tile become a column".into())
    }

    fn col_reduce(&self, op: TileOp, ins: &[Value], result: &TileTy) -> Rule {
        let tile = self.tile(ins[0])?;
        let picks = matches!(op, TileOp::ColArgmax | TileOp::ColArgmin);
        hold(result.dtype == if picks { DType::I32 } else { tile.dtype }, || {
            "the result has another element type than its operand".into()
        })?;
        let fits = result.outer == Order::Row && result.rows == 1 && result.cols == tile.cols;
        hold(fits && tile.outer == Order::Row, || "columns of a row-major tile become a row".into())
    }

    /// Element types that the target computes this on; none stands for all.
    fn allowed(&self, op: TileOp) -> &'static [DType] {
        op.elements(&self.target.elements)
    }
}
