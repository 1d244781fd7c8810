//! Runs one block of a kernel.

use super::chip::{Chip, Handle, Stop};
use super::clock::Clock;
use super::compute;
use super::conflicts::Accesses;
use super::global::{self, Part};
use crate::codegen::ascend::AscendKernel;
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{
    Alias, Form, Function, GlobalLayout, Inst, Kind, Literal, TileAttr, TileOp, Ty, Value,
};
use crate::ir::DType;
use crate::ir::interpreter::{Passed, Tensor};
use crate::ir::report::{Layout, Report, ReportSite, Shown};
use crate::ops::OpKind;
use crate::ops::reference::matmul::{Initial, Transposed, matmul};
use crate::ops::reference::{Array, Scalar, Shape, cast, create, elementwise, layout, reduce, scalar};
use crate::target::Target;

/// Which block of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub number: i64,
    pub count: i64,
}

/// What a value is while the kernel runs.
#[derive(Clone, Debug)]
enum Slot {
    Empty,
    Number(Scalar),
    Pointer(Tensor),
    /// A tensor, and whether the view exchanges its last two dimensions.
    View(Tensor, bool),
    Part(Part),
    Tile(Handle),
}

struct Machine<'f, 'a> {
    function: &'f Function,
    slots: Vec<Slot>,
    chip: Chip,
    clock: Clock,
    block: i64,
    accesses: &'a mut Accesses,
    shown: &'a mut Shows,
    /// Loops around the instruction, and the iteration of the outermost.
    depth: usize,
    iteration: i64,
}

/// What the blocks of a task show.
#[derive(Default)]
pub(super) struct Shows {
    pub sites: Vec<ReportSite>,
    /// With the iteration of the outermost loop, which blocks share.
    pub reports: Vec<(i64, Report)>,
}

/// Runs a block; gives the virtual cycles that it takes.
pub(super) fn run(
    function: &Function,
    kernel: &AscendKernel,
    target: &'static Target,
    arguments: &[Passed],
    block: Block,
    accesses: &mut Accesses,
    shown: &mut Shows,
) -> Result<f64, Stop> {
    let chip = Chip::new(target, |space| kernel_bytes(function, space));
    let slots = vec![Slot::Empty; function.values.len()];
    let clock = Clock::new(target);
    let (number, depth, iteration) = (block.number, 0, 0);
    let mut machine = Machine { function, slots, chip, clock, block: number, accesses, shown, depth, iteration };
    machine.bind(kernel, arguments, block)?;
    machine.body(&function.body)?;
    Ok(machine.clock.now())
}

/// Bytes up to the end of the last tile of a space.
fn kernel_bytes(function: &Function, space: crate::target::Space) -> i64 {
    let constants = function.body.iter().filter_map(|inst| match inst.kind {
        Kind::Constant { result, literal: Literal::Int(n) } => Some((result, n)),
        _ => None,
    });
    let constants: std::collections::HashMap<Value, i64> = constants.collect();
    fn most(body: &[Inst], f: &Function, space: crate::target::Space, known: &dyn Fn(Value) -> i64) -> i64 {
        let of = |inst: &Inst| {
            let own = match &inst.kind {
                Kind::Alloc { result, address: Some(address), .. } => {
                    f.tile(*result).filter(|t| t.space == space).map_or(0, |t| known(*address) + t.bytes())
                }
                _ => 0,
            };
            inst.bodies().into_iter().map(|b| most(b, f, space, known)).fold(own, i64::max)
        };
        body.iter().map(of).max().unwrap_or(0)
    }
    most(&function.body, function, space, &|v| constants.get(&v).copied().unwrap_or(0))
}

impl Machine<'_, '_> {
    fn bind(&mut self, kernel: &AscendKernel, arguments: &[Passed], block: Block) -> Result<(), Stop> {
        let hidden = [block.number, block.count].map(|n| Slot::Number(Scalar::new(n as i32)));
        let given = kernel.arguments.iter().map(|number| match arguments.get(*number) {
            Some(Passed::Scalar(scalar)) => Ok(Slot::Number(*scalar)),
            Some(Passed::Tensor(tensor)) => Ok(Slot::Pointer(tensor.clone())),
            None => Err(Stop::Malformed("an argument is missing")),
        });
        let all: Vec<Slot> = given.chain(hidden.into_iter().map(Ok)).collect::<Result<_, Stop>>()?;
        for (param, slot) in self.function.params.iter().zip(all) {
            self.slots[param.0 as usize] = slot;
        }
        Ok(())
    }

    fn body(&mut self, body: &[Inst]) -> Result<(), Stop> {
        body.iter().try_for_each(|inst| self.inst(inst))
    }

    fn set(&mut self, value: Value, slot: Slot) {
        self.slots[value.0 as usize] = slot;
    }

    fn number(&self, value: Value) -> Result<Scalar, Stop> {
        match &self.slots[value.0 as usize] {
            Slot::Number(scalar) => Ok(*scalar),
            _ => Err(Stop::Malformed("a number is missing")),
        }
    }

    fn int(&self, value: Value) -> Result<i64, Stop> {
        self.number(value)?.index().ok_or(Stop::Malformed("an integer is missing"))
    }

    fn handle(&self, value: Value) -> Result<Handle, Stop> {
        match &self.slots[value.0 as usize] {
            Slot::Tile(handle) => Ok(*handle),
            _ => Err(Stop::Malformed("a tile is missing")),
        }
    }

    fn part(&self, value: Value) -> Result<Part, Stop> {
        match &self.slots[value.0 as usize] {
            Slot::Part(part) => Ok(part.clone()),
            _ => Err(Stop::Malformed("a partition is missing")),
        }
    }

    fn shape(&self, values: &[Value]) -> Result<Shape, Stop> {
        let entries = values.iter().map(|v| self.int(*v)).collect::<Result<Vec<i64>, Stop>>()?;
        Ok(Shape::new(&entries))
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Stop> {
        match &inst.kind {
            Kind::Constant { result, literal } => {
                let scalar = self.constant(*result, *literal)?;
                self.set(*result, Slot::Number(scalar));
            }
            Kind::Arith { result, op, predicate, operands } => {
                let scalar = self.arith(*result, op, *predicate, operands)?;
                self.set(*result, Slot::Number(scalar));
            }
            Kind::TensorView { result, pointer, shape, layout, .. } => {
                let (tensor, shape) = (self.pointer(*pointer)?, self.shape(shape)?);
                // Column order is that of a column, or of a matrix whose dimensions are exchanged.
                let column = shape == tensor.memory().dims() && shape.last() == Some(&1);
                self.set(*result, Slot::View(tensor, *layout == GlobalLayout::Dn && !column));
            }
            Kind::Partition { result, view, offsets, sizes } => {
                let Slot::View(tensor, transposed) = self.slots[view.0 as usize].clone() else {
                    return Err(Stop::Malformed("a view is missing"));
                };
                let (mut offset, mut sizes) = (self.shape(offsets)?, self.shape(sizes)?);
                if transposed {
                    (offset, sizes) = (offset.swap_last_two(), sizes.swap_last_two());
                }
                self.set(*result, Slot::Part(Part { tensor, offset, sizes, transposed }));
            }
            Kind::Alloc { result, address, valid } => {
                let address = self.int(address.ok_or(Stop::Malformed("a tile has no address"))?)?;
                let handle = self.alloc(*result, address, [self.int(valid[0])?, self.int(valid[1])?])?;
                self.set(*result, Slot::Tile(handle));
            }
            Kind::Alias { result, source, alias } => {
                let handle = self.alias(*result, *source, alias)?;
                self.set(*result, Slot::Tile(handle));
            }
            Kind::Tile { op, ins, attr, out } => self.tile_op(*op, ins, *attr, *out)?,
            Kind::GetElement { result, tile, position } => {
                let (handle, position) = (self.handle(*tile)?, self.int(*position)?);
                let (row, col) = (position / handle.cols.max(1), position % handle.cols.max(1));
                let one = self.element(&handle, row, col);
                let array = self.chip.read(&one, [1, 1])?;
                self.clock.scalar(&handle);
                self.set(*result, Slot::Number(array.get(&[0, 0])?));
            }
            Kind::LoadScalar { result, pointer, offset } => {
                let (tensor, offset) = (self.pointer(*pointer)?, self.int(*offset)?);
                let scalar = global::read(&tensor, offset, self.block, self.accesses)?;
                self.set(*result, Slot::Number(scalar));
            }
            Kind::StoreScalar { value, pointer, offset } => {
                let (tensor, offset) = (self.pointer(*pointer)?, self.int(*offset)?);
                global::write(&tensor, self.number(*value)?, offset, self.block, self.accesses)?;
            }
            Kind::Report { site, values } => self.report(*site, values)?,
            Kind::For { index, lower, upper, step, carried, body, yields } => {
                let (lower, upper, step) = (self.int(*lower)?, self.int(*upper)?, self.int(*step)?);
                if step <= 0 {
                    return Err(Stop::Malformed("the step of a loop is not positive"));
                }
                for c in carried {
                    self.set(c.argument, self.slots[c.initial.0 as usize].clone());
                }
                let mut at = lower;
                self.depth += 1;
                while at < upper {
                    if self.depth == 1 {
                        self.iteration = at;
                    }
                    self.set(*index, Slot::Number(Scalar::new(at)));
                    self.body(body)?;
                    let next: Vec<Slot> = yields.iter().map(|v| self.slots[v.0 as usize].clone()).collect();
                    for (c, slot) in carried.iter().zip(next) {
                        self.set(c.argument, slot);
                    }
                    at += step;
                }
                self.depth -= 1;
                for c in carried {
                    self.set(c.result, self.slots[c.argument.0 as usize].clone());
                }
            }
            Kind::If { condition, results, then, otherwise } => {
                let region = if self.int(*condition)? == 1 { then } else { otherwise };
                self.body(&region.body)?;
                for (result, value) in results.iter().zip(&region.yields) {
                    self.set(*result, self.slots[value.0 as usize].clone());
                }
            }
        }
        Ok(())
    }

    /// Keeps the values that place number `site` shows. It takes no time.
    fn report(&mut self, site: u32, values: &[Value]) -> Result<(), Stop> {
        let site = self.shown.sites.get(site as usize).cloned().ok_or(Stop::Malformed("a report has no place"))?;
        let mut shown = Vec::new();
        for (value, layout) in values.iter().zip(&site.values) {
            shown.push(match layout {
                Layout::Scalar(dtype) => {
                    let number = self.number(*value)?;
                    let same = if number.dtype == *dtype { Some(number) } else { None };
                    let index = || number.index().map(|n| Scalar::from_int(n, *dtype));
                    Shown::Scalar(same.or_else(index).ok_or(Stop::Malformed("a number is of another type"))?)
                }
                Layout::Tile(_, dims) => {
                    let handle = self.handle(*value)?;
                    let array = self.chip.read(&handle, handle.valid)?;
                    Shown::Tile(in_rank(array, dims))
                }
                Layout::Tensor(..) => {
                    let memory = *self.pointer(*value)?.memory();
                    let start = Shape::splat(0, memory.dims().len());
                    Shown::Tensor(memory.load(start, memory.dims(), memory.dims())?)
                }
            });
        }
        self.shown.reports.push((self.iteration, site.report(shown)));
        Ok(())
    }

    fn pointer(&self, value: Value) -> Result<Tensor, Stop> {
        match &self.slots[value.0 as usize] {
            Slot::Pointer(tensor) => Ok(tensor.clone()),
            _ => Err(Stop::Malformed("a pointer is missing")),
        }
    }

    fn constant(&self, result: Value, literal: Literal) -> Result<Scalar, Stop> {
        let dtype = self.scalar_type(result)?;
        Ok(match literal {
            Literal::Int(n) => Scalar::from_int(n, dtype),
            Literal::Float(x) => Scalar::from_float(x, dtype),
        })
    }

    fn scalar_type(&self, value: Value) -> Result<DType, Stop> {
        match self.function.ty(value) {
            Ty::Index => Ok(DType::I64),
            Ty::Scalar(dtype) => Ok(*dtype),
            _ => Err(Stop::Malformed("a number is of no number type")),
        }
    }

    fn arith(
        &self,
        result: Value,
        op: &str,
        predicate: Option<&'static str>,
        operands: &[Value],
    ) -> Result<Scalar, Stop> {
        let a = self.number(operands[0])?;
        let kind = match op {
            "addi" | "addf" => OpKind::Add,
            "subi" | "subf" => OpKind::Sub,
            "muli" | "mulf" => OpKind::Mul,
            "divsi" | "divf" => OpKind::Div,
            "remsi" | "remf" => OpKind::Rem,
            "minsi" | "minui" | "minimumf" => OpKind::Min,
            "maxsi" | "maxui" | "maximumf" => OpKind::Max,
            "andi" => OpKind::And,
            "ori" => OpKind::Or,
            "xori" => OpKind::Xor,
            "shli" => OpKind::Shl,
            "shrsi" | "shrui" => OpKind::Shr,
            "negf" => return Ok(scalar::unary(OpKind::Neg, a)?),
            "select" => return self.number(operands[if a.index() == Some(1) { 1 } else { 2 }]),
            "cmpi" | "cmpf" => match predicate {
                Some("eq" | "oeq") => OpKind::CmpEq,
                Some("ne" | "une") => OpKind::CmpNe,
                Some("slt" | "olt") => OpKind::CmpLt,
                Some("sle" | "ole") => OpKind::CmpLe,
                Some("sgt" | "ogt") => OpKind::CmpGt,
                _ => OpKind::CmpGe,
            },
            cast if crate::codegen::ascend::dialect::print::is_cast(cast) => {
                return Ok(scalar::cast(a, self.scalar_type(result)?, crate::ir::Round::None)?);
            }
            _ => return Err(Stop::Malformed("an arithmetic operation is not known")),
        };
        Ok(scalar::binary(kind, a, self.number(operands[1])?)?)
    }

    fn alloc(&self, value: Value, address: i64, valid: [i64; 2]) -> Result<Handle, Stop> {
        let ty = self.function.tile(value).ok_or(Stop::Malformed("a tile is missing"))?;
        let within = valid[0] >= 0 && valid[0] <= ty.rows && valid[1] >= 0 && valid[1] <= ty.cols;
        if !within {
            return Err(Stop::Valid { op: "alloc_tile", found: valid, expected: [ty.rows, ty.cols] });
        }
        let column_order = ty.space == crate::target::Space::Vec && ty.outer == Order::Column;
        let (space, dtype, rows, cols) = (ty.space, ty.dtype, ty.rows, ty.cols);
        Ok(Handle { space, address, dtype, rows, cols, pitch: cols, column_order, valid })
    }

    fn alias(&self, result: Value, source: Value, alias: &Alias) -> Result<Handle, Stop> {
        let from = self.handle(source)?;
        let ty = self.function.tile(result).ok_or(Stop::Malformed("a tile is missing"))?;
        let mut handle = Handle { dtype: ty.dtype, rows: ty.rows, cols: ty.cols, ..from };
        let mut valid = ty.valid;
        match alias {
            Alias::Bitcast => {}
            Alias::Reshape => {
                handle.pitch = ty.cols;
                handle.column_order = ty.outer == Order::Column;
            }
            Alias::Subview { offset, valid: given } => {
                let (row, col) = (self.int(offset[0])?, self.int(offset[1])?);
                handle.address = self.element(&from, row, col).address;
                if let Some([rows, cols]) = given {
                    valid = [Some(self.int(*rows)?), Some(self.int(*cols)?)];
                }
            }
        }
        handle.valid = [valid[0].unwrap_or(from.valid[0]), valid[1].unwrap_or(from.valid[1])];
        Ok(handle)
    }

    /// A handle on one element.
    fn element(&self, handle: &Handle, row: i64, col: i64) -> Handle {
        let position = if handle.column_order { col * handle.rows + row } else { row * handle.pitch + col };
        let address = handle.address + position * handle.dtype.size() as i64;
        Handle { address, rows: 1, cols: 1, pitch: 1, column_order: false, valid: [1, 1], ..*handle }
    }

    fn tile_op(&mut self, op: TileOp, ins: &[Value], attr: TileAttr, out: Value) -> Result<(), Stop> {
        match op.form() {
            Form::Load => {
                let (part, handle) = (self.part(ins[0])?, self.handle(out)?);
                same_extents(op, part.extents(), handle.valid)?;
                let array = part.load(self.block, self.accesses)?;
                self.clock.tile_op(op, &[], &handle, array_bytes(&array));
                return self.chip.write(&handle, &array);
            }
            Form::Store => {
                let (part, handle) = (self.part(out)?, self.handle(ins[0])?);
                same_extents(op, part.extents(), handle.valid)?;
                let mut array = self.chip.read(&handle, handle.valid)?;
                let to = part.tensor.memory().dtype();
                if array.dtype() != to && to != DType::Bool {
                    array = cast::cast(&array, to, crate::ir::Round::Rint)?;
                }
                self.clock.store(&handle, array_bytes(&array));
                return part.store(array, self.block, self.accesses);
            }
            _ => {}
        }
        let result = self.handle(out)?;
        let array = self.value(op, ins, attr, &result)?;
        let operands: Vec<Handle> = ins
            .iter()
            .filter(|v| self.function.tile(**v).is_some())
            .map(|v| self.handle(*v))
            .collect::<Result<_, _>>()?;
        let work = operands.iter().map(Handle::bytes).fold(result.bytes(), i64::max);
        self.clock.tile_op(op, &operands, &result, work);
        self.chip.write(&result, &array)
    }

    fn read(&self, value: Value, extents: [i64; 2]) -> Result<Array, Stop> {
        let handle = self.handle(value)?;
        self.chip.read(&handle, extents)
    }

    /// What an operation computes for the valid part of its result.
    fn value(&self, op: TileOp, ins: &[Value], attr: TileAttr, out: &Handle) -> Result<Array, Stop> {
        let valid = out.valid;
        let kind = op.kind().unwrap_or(OpKind::Add);
        Ok(match op.form() {
            Form::Unary => elementwise::unary(kind, &self.read(ins[0], valid)?)?,
            Form::Binary => compute::binary(kind, &self.read(ins[0], valid)?, &self.read(ins[1], valid)?)?,
            Form::TileScalar => {
                let number = compute::amounts(Array::scalar(self.number(ins[1])?), out.dtype)?;
                compute::binary(kind, &self.read(ins[0], valid)?, &number)?
            }
            Form::RowReduce => {
                let [_, cols] = self.handle(ins[0])?.valid;
                reduce::reduce(kind, &self.read(ins[0], [valid[0], cols])?)?
            }
            Form::ColReduce => {
                let [rows, _] = self.handle(ins[0])?.valid;
                reduce::reduce(kind, &self.read(ins[0], [rows, valid[1]])?)?
            }
            Form::RowExpand => compute::repeated(&self.read(ins[0], [valid[0], 1])?, valid)?,
            Form::ColExpand => compute::repeated(&self.read(ins[0], [1, valid[1]])?, valid)?,
            Form::RowExpandBinary => {
                compute::binary(kind, &self.read(ins[0], valid)?, &self.read(ins[1], [valid[0], 1])?)?
            }
            Form::ColExpandBinary => {
                compute::binary(kind, &self.read(ins[0], valid)?, &self.read(ins[1], [1, valid[1]])?)?
            }
            Form::Compare | Form::CompareScalar => {
                let a = self.read(ins[0], valid)?;
                let b = match op.form() {
                    Form::Compare => self.read(ins[1], valid)?,
                    _ => Array::scalar(self.number(ins[1])?),
                };
                compute::as_mask(&elementwise::compare(compute::comparison(attr)?, &a, &b)?)
            }
            Form::Select => {
                let mask = compute::of_mask(&self.read(ins[0], valid)?);
                elementwise::select(&mask, &self.read(ins[1], valid)?, &self.read(ins[2], valid)?)?
            }
            Form::Convert => {
                let x = self.read(ins[0], valid)?;
                if x.dtype() == out.dtype {
                    compute::integral(&x, compute::round(attr))
                } else {
                    cast::cast(&x, out.dtype, compute::round(attr))?
                }
            }
            Form::Fill => create::full(self.number(ins[0])?, Shape::from(valid))?,
            Form::Iota => create::iota(self.number(ins[0])?, Shape::from(valid), 1)?,
            Form::Transpose => layout::transpose(&self.read(ins[0], [valid[1], valid[0]])?)?,
            Form::Move => {
                let from = self.handle(ins[0])?;
                same_extents(op, from.valid, valid)?;
                self.read(ins[0], valid)?
            }
            Form::Extract => {
                let from = self.handle(ins[0])?;
                let (row, col) = (self.int(ins[1])?, self.int(ins[2])?);
                let address = self.element(&from, row, col).address;
                self.chip.read(&Handle { address, ..from }, valid)?
            }
            Form::Product | Form::ProductAcc => self.product(op, ins, valid)?,
            Form::Load | Form::Store => return Err(Stop::Malformed("a transfer computes nothing")),
        })
    }

    fn product(&self, op: TileOp, ins: &[Value], valid: [i64; 2]) -> Result<Array, Stop> {
        let operands = &ins[ins.len() - 2..];
        let (left, right) = (self.handle(operands[0])?, self.handle(operands[1])?);
        let depth = left.valid[1];
        same_extents(op, right.valid, [depth, valid[1]])?;
        let (a, b) = (self.read(operands[0], [valid[0], depth])?, self.read(operands[1], [depth, valid[1]])?);
        let plain = Transposed { a: false, b: false };
        Ok(if op == TileOp::ProductAcc {
            let acc = self.read(ins[0], valid)?;
            matmul(&a, &b, plain, Initial::Accumulator(&acc))?
        } else {
            matmul(&a, &b, plain, Initial::Nothing)?
        })
    }
}

/// Rows and columns as a tile of its own rank; of its extents only the first above 1 may be cut short.
fn in_rank(array: Array, dims: &[Option<i64>]) -> Array {
    let [rows, columns] = [array.valid[0], array.valid[1]];
    let leading = &dims[..dims.len().saturating_sub(1)];
    let mut extents: Vec<i64> = leading.iter().map(|dim| dim.unwrap_or(1)).collect();
    if let Some(first) = extents.iter().position(|dim| *dim > 1) {
        extents[first] = rows / extents[first + 1..].iter().product::<i64>().max(1);
    } else if let Some(last) = extents.last_mut() {
        *last = rows;
    }
    extents.push(columns);
    let shape = Shape::new(&extents);
    Array { dims: shape, valid: shape, data: array.data }
}

fn array_bytes(array: &Array) -> i64 {
    (array.data.len() * array.dtype().size()) as i64
}

fn same_extents(op: TileOp, found: [i64; 2], expected: [i64; 2]) -> Result<(), Stop> {
    if found == expected { Ok(()) } else { Err(Stop::Valid { op: op.name(), found, expected }) }
}
