//! Workers: what dispatches artifacts, one after another, with tensors that stay with it.
//!
//! A worker is a handle; clones share it, and threads may use it at the same time. There is no ambient worker: a dispatch
//! runs on the one that it is called on. Closing it, explicitly or by dropping the last handle, ends its registrations.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::device_tensor::{DeviceTensor, Usage};
use super::dispatch::{LoadedProgram, dispatch};
use super::error::{Error, Result};
use crate::artifact::CompiledProgram;
use crate::config::environment::Environment;
use crate::config::{CheckedRunOptions, ExecutionMode, Platform, RunOptions};
use crate::ir::DType;
use crate::language::DynamicTensor;
use crate::language::argument::CallArguments;
use crate::ops::reference::{Element, with_element};

/// What dispatches artifacts.
pub trait Worker {
    /// What its artifacts are compiled for.
    fn platform(&self) -> Platform;

    /// Dispatches an artifact and waits: the styles of arguments are those of [`CompiledProgram::call_with`].
    ///
    /// # Errors
    /// As [`CompiledProgram::call_with`]; an artifact of another platform; a closed worker; a tensor of another worker.
    fn run<A: CallArguments>(&self, program: &CompiledProgram, arguments: A) -> Result<Vec<DynamicTensor>>;
}

/// The worker of one device: of this machine's CPU, or of a simulated accelerator.
///
/// ```
/// use pypto::config::RunOptions;
/// use pypto::language::DynamicTensor;
/// use pypto::prelude::*;
/// use pypto::runtime::worker::{ChipWorker, Worker};
///
/// #[pypto::jit]
/// fn double(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     y.set(x * 2.0);
/// }
///
/// let x = Tensor::from_vec(vec![1.0f32, 2.0], [2]);
/// let compiled = double.compile(&(&x, &x), &RunConfig::new())?;
/// let worker = ChipWorker::new(RunOptions::default())?;
/// let x = worker.upload(&DynamicTensor::from(&x))?;
/// let mut y = worker.alloc_tensor(pypto::ir::DType::F32, &[2])?;
/// let handle = worker.register(compiled.artifact())?;
/// handle.call((&x, &mut y))?;
/// handle.call((&x, &mut y))?;
/// assert_eq!(worker.download(&y)?.elements::<f32>(), Some(&[2.0, 4.0][..]));
/// worker.close();
/// assert!(handle.call((&x, &mut y)).is_err());
/// # Ok::<(), pypto::Error>(())
/// ```
#[derive(Clone)]
pub struct ChipWorker {
    shared: Arc<Shared>,
}

struct Shared {
    id: NonZeroU64,
    options: CheckedRunOptions,
    closed: AtomicBool,
    registered: AtomicUsize,
    usage: Arc<Usage>,
}

impl ChipWorker {
    /// A worker for `options.platform` (default: what artifacts are compiled for by default) whose dispatches run with these options.
    ///
    /// # Errors
    /// Options that its platform cannot honour; a platform that this machine is not.
    pub fn new(options: impl Into<RunOptions>) -> Result<ChipWorker> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let options = options.into();
        let platform = options.platform.or(Environment::process()?.platform).unwrap_or(Platform::Host);
        let options = options.checked_for(platform)?;
        if platform.execution_mode() == Some(ExecutionMode::Onboard) {
            let problem = "is not a device of this machine; a worker is made for the host or for a simulator";
            return Err(Error::host(format!("platform `{platform}` {problem}")));
        }
        let id = NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroU64::MAX);
        let (closed, registered) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(ChipWorker { shared: Arc::new(Shared { id, options, closed, registered, usage: Arc::default() }) })
    }

    /// Its number in this process.
    pub fn id(&self) -> NonZeroU64 {
        self.shared.id
    }

    /// As [`Worker::run`], with other options for this dispatch.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_with<A: CallArguments>(
        &self,
        program: &CompiledProgram,
        arguments: A,
        options: impl Into<RunOptions>,
    ) -> Result<Vec<DynamicTensor>> {
        self.accept(program)?;
        let (loaded, options) = (program.load()?, options.into().checked_for(program.platform())?);
        arguments.with(|arguments| dispatch(program, &loaded, arguments, &options, Some(self.shared.id)))
    }

    /// Loads the artifact now, so that calls through the handle only run it.
    ///
    /// # Errors
    /// An artifact of another platform; code that this machine cannot run; a closed worker.
    pub fn register(&self, program: &CompiledProgram) -> Result<RegistrationHandle> {
        self.accept(program)?;
        let loaded = program.load()?;
        self.shared.registered.fetch_add(1, Ordering::Relaxed);
        Ok(RegistrationHandle { worker: self.clone(), program: program.clone(), loaded })
    }

    /// A tensor of zeros in the worker's memory.
    ///
    /// # Errors
    /// Extents that are impossible, or too large for the memory; a closed worker.
    pub fn alloc_tensor(&self, dtype: DType, dims: &[i64]) -> Result<DeviceTensor> {
        self.check_open()?;
        DeviceTensor::zeros(dtype, dims, self.shared.id, self.shared.usage.clone())
    }

    /// A copy of a tensor in the worker's memory.
    ///
    /// # Errors
    /// As [`ChipWorker::alloc_tensor`].
    pub fn upload(&self, tensor: &DynamicTensor) -> Result<DeviceTensor> {
        let mut copy = self.alloc_tensor(tensor.dtype(), tensor.dims())?;
        self.copy_to_device(tensor, &mut copy)?;
        Ok(copy)
    }

    /// A copy of the worker's tensor in memory of the host program.
    ///
    /// # Errors
    /// A tensor of another worker; a closed worker.
    pub fn download(&self, tensor: &DeviceTensor) -> Result<DynamicTensor> {
        let mut copy = DynamicTensor::zeros(tensor.dtype(), tensor.dims())
            .map_err(|error| Error::host(format!("the copy cannot be allocated: {error}")))?;
        self.copy_from_device(tensor, &mut copy)?;
        Ok(copy)
    }

    /// Overwrites the worker's tensor.
    ///
    /// # Errors
    /// Another element type or other extents; a tensor of another worker; a closed worker.
    pub fn copy_to_device(&self, from: &DynamicTensor, to: &mut DeviceTensor) -> Result<()> {
        self.check_copy(to, from)?;
        let size = from.dtype().size();
        with_element!(from.dtype(), T => {
            let elements = from.elements::<T>().unwrap_or(&[]);
            for (bytes, element) in to.bytes_mut().chunks_exact_mut(size).zip(elements) {
                bytes.copy_from_slice(&element.to_bits64().to_le_bytes()[..size]);
            }
        });
        Ok(())
    }

    /// Overwrites a tensor with the worker's.
    ///
    /// # Errors
    /// As [`ChipWorker::copy_to_device`].
    pub fn copy_from_device(&self, from: &DeviceTensor, to: &mut DynamicTensor) -> Result<()> {
        self.check_copy(from, to)?;
        let size = from.dtype().size();
        with_element!(from.dtype(), T => {
            let elements = to.elements_mut::<T>().unwrap_or(&mut []);
            for (element, bytes) in elements.iter_mut().zip(from.bytes().chunks_exact(size)) {
                let mut word = [0; 8];
                word[..size].copy_from_slice(bytes);
                *element = T::from_bits64(u64::from_le_bytes(word));
            }
        });
        Ok(())
    }

    /// Frees a tensor, as dropping it does.
    ///
    /// # Errors
    /// A tensor of another worker, which is freed all the same.
    pub fn free(&self, tensor: DeviceTensor) -> Result<()> {
        self.check_owner(&tensor)
    }

    /// Tensors that were allocated and not freed, and their bytes.
    pub fn allocated(&self) -> (usize, usize) {
        let Usage { tensors, bytes } = &*self.shared.usage;
        (tensors.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }

    /// Artifacts that are registered.
    pub fn registered(&self) -> usize {
        self.shared.registered.load(Ordering::Relaxed)
    }

    /// Ends the worker for all its handles: dispatches that run end, later ones fail. Idempotent. Its tensors stay readable
    /// by nobody, and are freed when they are dropped.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            true => Err(Error::host(format!("worker {} is closed", self.shared.id))),
            false => Ok(()),
        }
    }

    fn accept(&self, program: &CompiledProgram) -> Result<()> {
        self.check_open()?;
        let (artifact, own) = (program.platform(), self.platform());
        if artifact != own {
            let name = program.name();
            return Err(Error::host(format!(
                "`{name}` was compiled for `{artifact}`, and worker {} is one for `{own}`",
                self.id()
            )));
        }
        Ok(())
    }

    fn check_owner(&self, tensor: &DeviceTensor) -> Result<()> {
        if tensor.owner() != self.id() {
            return Err(Error::host(format!(
                "the tensor belongs to worker {}, not to worker {}",
                tensor.owner(),
                self.id()
            )));
        }
        Ok(())
    }

    fn check_copy(&self, device: &DeviceTensor, host: &DynamicTensor) -> Result<()> {
        self.check_open()?;
        self.check_owner(device)?;
        let shape = |dtype: DType, dims: &[i64]| format!("{dtype}{dims:?}");
        if (device.dtype(), device.dims()) != (host.dtype(), host.dims()) {
            let (device, host) = (shape(device.dtype(), device.dims()), shape(host.dtype(), host.dims()));
            return Err(Error::host(format!("the worker's tensor is {device}, and the other one {host}")));
        }
        Ok(())
    }
}

impl Worker for ChipWorker {
    fn platform(&self) -> Platform {
        self.shared.options.platform()
    }

    fn run<A: CallArguments>(&self, program: &CompiledProgram, arguments: A) -> Result<Vec<DynamicTensor>> {
        self.accept(program)?;
        let loaded = program.load()?;
        let Shared { id, options, .. } = &*self.shared;
        arguments.with(|arguments| dispatch(program, &loaded, arguments, options, Some(*id)))
    }
}

/// An artifact that a worker has loaded. Dropping it ends the registration.
pub struct RegistrationHandle {
    worker: ChipWorker,
    program: CompiledProgram,
    loaded: Arc<LoadedProgram>,
}

impl RegistrationHandle {
    /// Dispatches it as [`Worker::run`] does.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn call<A: CallArguments>(&self, arguments: A) -> Result<Vec<DynamicTensor>> {
        self.worker.check_open()?;
        let Shared { id, options, .. } = &*self.worker.shared;
        arguments.with(|arguments| dispatch(&self.program, &self.loaded, arguments, options, Some(*id)))
    }

    /// The artifact.
    pub fn program(&self) -> &CompiledProgram {
        &self.program
    }

    /// Ends the registration, as dropping it does.
    pub fn unregister(self) {}
}

impl Drop for RegistrationHandle {
    fn drop(&mut self) {
        self.worker.shared.registered.fetch_sub(1, Ordering::Relaxed);
    }
}
