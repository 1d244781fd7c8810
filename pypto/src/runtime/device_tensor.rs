//! [`DeviceTensor`]: a tensor in the memory of a worker.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::{Error, Result};
use super::scratch::Buffer;
use crate::ir::DType;
use crate::language::argument::{Argument, ArgumentList, KernelArguments, TensorArgument, byte_size};
use crate::language::weights::Weights;
use crate::ops::reference::{MAX_RANK, Shape};

/// Memory that a worker gave away.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) tensors: AtomicUsize,
    pub(super) bytes: AtomicUsize,
}

/// A contiguous row-major tensor that a worker allocated: it stays where the kernels run, so that dispatches do not copy
/// it. On the host that is memory aligned to cache lines. Only its own worker dispatches it. Dropping it frees it.
#[derive(Debug)]
pub struct DeviceTensor {
    dtype: DType,
    dims: Vec<i64>,
    strides: Vec<i64>,
    bytes: usize,
    buffer: Buffer,
    owner: NonZeroU64,
    usage: Arc<Usage>,
    weights: Weights,
}

/// Dispatches that read a tensor of a worker before products keep a copy of it: one that is written in turn with its reads gets none.
const PATIENCE: u32 = 2;

impl DeviceTensor {
    /// Zeros.
    pub(super) fn zeros(dtype: DType, dims: &[i64], owner: NonZeroU64, usage: Arc<Usage>) -> Result<DeviceTensor> {
        let Some(bytes) = byte_size(dims, dtype).filter(|_| dims.len() <= MAX_RANK) else {
            return Err(Error::host(format!("a tensor of {dtype} with extents {dims:?} is impossible")));
        };
        let mut buffer = Buffer::new();
        let data = buffer.reserve(bytes).map_err(|refused| Error::host(refused.to_string()))?;
        // SAFETY: `reserve` gave at least that many bytes.
        unsafe { data.write_bytes(0, bytes) };
        usage.tensors.fetch_add(1, Ordering::Relaxed);
        usage.bytes.fetch_add(bytes, Ordering::Relaxed);
        let strides = Shape::new(dims).row_major_strides().iter().copied().collect();
        Ok(DeviceTensor {
            dtype,
            dims: dims.to_vec(),
            strides,
            bytes,
            buffer,
            owner,
            usage,
            weights: Weights::new(PATIENCE),
        })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The worker whose memory it is.
    pub fn owner(&self) -> NonZeroU64 {
        self.owner
    }

    /// The bytes of the elements.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer has that many bytes, all of them initialized, and changes only through `&mut self`.
        unsafe { std::slice::from_raw_parts(self.buffer.start(), self.bytes) }
    }

    /// The bytes of the elements, to change.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.weights.forget();
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.start(), self.bytes) }
    }

    fn to_argument(&self, mutable: bool) -> Argument<'_> {
        // SAFETY: the buffer is this tensor's, which stays borrowed, mutably where `mutable`.
        let mut argument =
            unsafe { TensorArgument::new(self.dtype, &self.dims, &self.strides, self.buffer.start(), mutable) };
        argument.worker = Some(self.owner);
        if mutable {
            self.weights.forget();
        } else {
            argument.weights = Some(&self.weights);
        }
        Argument::Tensor(argument)
    }
}

impl Drop for DeviceTensor {
    fn drop(&mut self) {
        self.usage.tensors.fetch_sub(1, Ordering::Relaxed);
        self.usage.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl<'a> KernelArguments<'a> for &'a DeviceTensor {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(self.to_argument(false));
    }
}

impl<'a> KernelArguments<'a> for &'a mut DeviceTensor {
    fn append(self, list: &mut ArgumentList<'a>) {
        list.push(self.to_argument(true));
    }
}
