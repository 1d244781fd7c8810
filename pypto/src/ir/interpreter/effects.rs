//! Operations on memory.

use std::rc::Rc;

use super::error::{Outcome, malformed};
use super::machine::{Frame, Machine};
use super::value::{Allocation, Tensor, Value};
use crate::ir::report::{Report, Shown};
use crate::ir::{Op, Type};
use crate::ops::OpKind;
use crate::ops::reference::{Array, Shape};

impl Machine<'_> {
    /// Runs a transfer, an element access, an allocation or a view.
    pub(super) fn effect(&mut self, frame: &mut Frame<'_>, op: &Op) -> Outcome<()> {
        match op.kind {
            OpKind::Load => {
                let value = self.load(frame, op)?;
                frame.set_result(op, value)
            }
            OpKind::Store => self.store(frame, op),
            OpKind::GatherRows => {
                let (tensor, index) = (frame.tensor(op, 0)?, frame.tile(op, 1)?);
                self.check_rows(tensor, index)?;
                let array = tensor.memory.gather_rows(index)?;
                frame.set_result(op, Value::Tile(Rc::new(array)))
            }
            OpKind::ScatterRows => self.scatter(frame, op),
            OpKind::Read => {
                let (tensor, index) = (frame.tensor(op, 0)?, frame.indices(op, 1)?);
                let value = tensor.memory.read(index)?;
                tensor.check_read(index, Shape::splat(1, index.len()))?;
                frame.set_result(op, Value::Scalar(value))
            }
            OpKind::Write => {
                let (value, tensor, index) = (frame.scalar(op, 0)?, frame.tensor(op, 1)?, frame.indices(op, 2)?);
                self.note_write(tensor, index, Shape::splat(1, index.len()))?;
                Ok(tensor.memory.write(value, index)?)
            }
            OpKind::Alloc => {
                let (dims, strides, ty) = layout(frame, op)?;
                let tensor = Allocation::tensor(ty, dims, strides, self.options.checked)?;
                frame.set_result(op, Value::Tensor(tensor))
            }
            OpKind::View => {
                let (dims, strides, _) = layout(frame, op)?;
                let tensor = frame.tensor(op, 0)?;
                let memory = tensor.memory.view(frame.indices(op, 1)?, dims, strides)?;
                let view = Tensor { memory, ..tensor.clone() };
                frame.set_result(op, Value::Tensor(view))
            }
            _ => Err(malformed(format!("`{}` has no effect", op.kind.name()))),
        }
    }

    fn load(&self, frame: &Frame<'_>, op: &Op) -> Outcome<Value> {
        let Type::Tile(ty) = frame.result_type(op)? else { return Err(malformed("`load` does not give a tile")) };
        let (tensor, offset) = (frame.tensor(op, 0)?, frame.indices(op, 1)?);
        let (dims, valid) = (frame.shape(&ty.dims)?, frame.shape(&ty.valid)?);
        let array = tensor.memory.load(offset, dims, valid)?;
        tensor.check_read(offset, valid)?;
        Ok(Value::Tile(Rc::new(array)))
    }

    fn store(&mut self, frame: &Frame<'_>, op: &Op) -> Outcome<()> {
        let (array, tensor, offset) = (frame.tile(op, 0)?, frame.tensor(op, 1)?, frame.indices(op, 2)?);
        self.note_write(tensor, offset, array.valid)?;
        Ok(tensor.memory.store(array, offset)?)
    }

    fn scatter(&mut self, frame: &Frame<'_>, op: &Op) -> Outcome<()> {
        let (tile, tensor, index) = (frame.tile(op, 0)?, frame.tensor(op, 1)?, frame.tile(op, 2)?);
        if let Some(name) = &tensor.read_only {
            return Err(super::ErrorKind::ReadOnly(name.to_string()));
        }
        // Written first, so that a bad index is found before its row is noted.
        tensor.memory.scatter_rows(tile, index)?;
        for n in 0..index.valid[0].min(tile.valid[0]) {
            self.note_write(tensor, Shape::from([row(index, n), 0]), Shape::from([1, tile.valid[1]]))?;
        }
        Ok(())
    }

    /// An error where rows of an allocated tensor are read before they are written.
    fn check_rows(&self, tensor: &Tensor, index: &Array) -> Outcome<()> {
        if self.options.checked && tensor.allocation.is_some() && tensor.memory.dims().len() == 2 {
            for n in 0..index.valid.first().copied().unwrap_or(0) {
                tensor.check_read(Shape::from([row(index, n), 0]), Shape::from([1, tensor.memory.dims()[1]]))?;
            }
        }
        Ok(())
    }

    /// Whether a region may be written, and by whom it was.
    fn note_write(&mut self, tensor: &Tensor, offset: Shape, shape: Shape) -> Outcome<()> {
        tensor.note_write(offset, shape)?;
        for writes in &mut self.loops {
            writes.note(&tensor.memory, offset, shape)?;
        }
        Ok(())
    }
}

impl Frame<'_> {
    /// The values that an operation shows.
    pub(super) fn report(&self, op: &Op) -> Outcome<Report> {
        let shown = |n: usize| match self.operand(op, n)? {
            Value::Scalar(scalar) => Ok(Shown::Scalar(*scalar)),
            Value::Tile(array) => Ok(Shown::Tile(Array::clone(array))),
            Value::Tensor(tensor) => {
                let (dims, start) = (tensor.memory.dims(), Shape::splat(0, tensor.memory.dims().len()));
                tensor.check_read(start, dims)?;
                Ok(Shown::Tensor(tensor.memory.load(start, dims, dims)?))
            }
            Value::Event => Err(malformed("an event is shown")),
        };
        Ok(Report::of(op, (0..op.operands.len()).map(shown).collect::<Outcome<_>>()?))
    }
}

fn row(index: &Array, n: i64) -> i64 {
    index.get(&[n, 0]).ok().and_then(|scalar| scalar.index()).unwrap_or(-1)
}

/// Extents, strides and element type of the tensor that an operation gives.
fn layout(frame: &Frame<'_>, op: &Op) -> Outcome<(Shape, Shape, crate::ir::DType)> {
    match frame.result_type(op)? {
        Type::Tensor(t) => Ok((frame.shape(&t.dims)?, frame.shape(&t.strides)?, t.dtype)),
        _ => Err(malformed(format!("`{}` does not give a tensor", op.kind.name()))),
    }
}
