//! Values of a running program.

use std::cell::RefCell;
use std::rc::Rc;

use super::error::{ErrorKind, Outcome};
use crate::ir::DType;
use crate::ops::reference::{Array, Error, Memory, Scalar, Shape};

/// The value of an SSA name.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Scalar),
    Tile(Rc<Array>),
    Tensor(Tensor),
    /// A task's completion: interpreted tasks complete before the next operation.
    Event,
}

/// A tensor of a running program.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub(super) memory: Memory,
    /// The input that may not be written, where it is one.
    pub(super) read_only: Option<Rc<str>>,
    /// What keeps the memory alive, where the program allocated it.
    pub(super) allocation: Option<Rc<Allocation>>,
}

/// Memory that the program allocated.
#[derive(Debug)]
pub struct Allocation {
    /// Words, for alignment.
    words: Vec<u64>,
    /// For each byte whether it was written; empty unless checked.
    written: RefCell<Vec<bool>>,
}

impl Allocation {
    /// A tensor in fresh memory, which is zeros.
    pub(super) fn tensor(dtype: DType, dims: Shape, strides: Shape, checked: bool) -> Outcome<Tensor> {
        // SAFETY: nothing is touched through this memory, it only measures the layout.
        let probe = unsafe { Memory::new(dtype, dims, strides, std::ptr::null_mut()) }?;
        let bytes = (probe.span() as usize).checked_mul(dtype.size()).ok_or(Error::TooLarge(dims))?;
        let mut words: Vec<u64> = Vec::new();
        words.try_reserve_exact(bytes.div_ceil(8)).map_err(|_| Error::TooLarge(dims))?;
        words.resize(bytes.div_ceil(8), 0);
        let written = RefCell::new(if checked { vec![false; bytes] } else { Vec::new() });
        let first = words.as_mut_ptr().cast::<u8>();
        // SAFETY: the words hold as many bytes as the layout spans, are reached only through memories of this tensor
        // and its views, and live as long as any of them: each keeps the allocation.
        let memory = unsafe { Memory::new(dtype, dims, strides, first) }?;
        Ok(Tensor { memory, read_only: None, allocation: Some(Rc::new(Allocation { words, written })) })
    }

    fn base(&self) -> usize {
        self.words.as_ptr() as usize
    }
}

impl Tensor {
    /// Its memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Address and bytes of the memory that the program allocated for it, or for what it is a part of; `None` for what the
    /// caller gave.
    pub fn temporary(&self) -> Option<(usize, usize)> {
        self.allocation.as_ref().map(|allocation| (allocation.base(), allocation.words.len() * 8))
    }

    /// Notes that a region is written.
    ///
    /// # Errors
    /// The tensor is an input.
    pub fn note_write(&self, offset: Shape, shape: Shape) -> Outcome<()> {
        if let Some(name) = &self.read_only {
            return Err(ErrorKind::ReadOnly(name.to_string()));
        }
        if let Some(allocation) = &self.allocation {
            let mut written = allocation.written.borrow_mut();
            if !written.is_empty() {
                let base = allocation.base();
                self.memory.byte_ranges(offset, shape, |(begin, end)| written[begin - base..end - base].fill(true));
            }
        }
        Ok(())
    }

    /// Looks whether a region holds values, where the program allocated the tensor and runs checked.
    ///
    /// # Errors
    /// Nothing was written to some of it.
    pub fn check_read(&self, offset: Shape, shape: Shape) -> Outcome<()> {
        let Some(allocation) = &self.allocation else { return Ok(()) };
        let written = allocation.written.borrow();
        if written.is_empty() {
            return Ok(());
        }
        let (base, mut missing) = (allocation.base(), false);
        self.memory.byte_ranges(offset, shape, |(begin, end)| {
            missing |= written[begin - base..end - base].contains(&false);
        });
        if missing { Err(ErrorKind::Uninitialized(shape)) } else { Ok(()) }
    }
}
