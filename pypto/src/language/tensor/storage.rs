//! Memory of tensors, and the rule that makes mutable views sound although [`Tensor`](super::Tensor) has no lifetime.
//!
//! A [`Buffer`] is shared by the tensor that owns it and by views of it. Every tensor carries a generation, and only
//! tensors of the buffer's current generation may touch it. Lending a mutable view makes a fresh generation current;
//! dropping the view's guard makes the lender's current again, but only if the guard still holds the very tensor it was
//! created with. A view that was swapped out of its guard or leaked leaves its lender locked: a panic on use, no alias.
//! Shared views carry the lender's generation; the borrow checker keeps the lender from being written meanwhile.
//!
//! All `unsafe` of the language is in this file.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::language::weights::Weights;
use crate::memory::Block;
use crate::ops::reference::{Element, Error, Memory, Shape};

/// Where a buffer's memory came from, and so how it goes.
enum Owner {
    /// Frees itself.
    Block(#[expect(dead_code, reason = "kept for its drop")] Block),
    Vec {
        capacity: usize,
    },
    Borrowed,
}

/// A run of elements.
struct Buffer<T> {
    first: NonNull<T>,
    len: usize,
    owner: Owner,
    /// The generation that may touch the elements.
    current: AtomicU64,
    /// The last generation given out.
    last: AtomicU64,
    /// Copies for products, where the elements are weights.
    weights: OnceLock<Weights>,
}

// SAFETY: a buffer is plain memory of `T`; which thread touches it is ruled by the borrows of the tensors that share it.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Buffer<T> {}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: the parts of the vector taken over in `Storage::from_vec`.
            Owner::Vec { capacity } => drop(unsafe { Vec::from_raw_parts(self.first.as_ptr(), self.len, capacity) }),
            Owner::Block(_) | Owner::Borrowed => {}
        }
    }
}

/// A tensor's hold on a buffer.
pub(super) struct Storage<T> {
    buffer: Arc<Buffer<T>>,
    generation: u64,
}

impl<T: Element> Storage<T> {
    fn new(first: NonNull<T>, len: usize, owner: Owner) -> Storage<T> {
        let (current, last) = (AtomicU64::new(0), AtomicU64::new(0));
        let weights = OnceLock::new();
        Storage { buffer: Arc::new(Buffer { first, len, owner, current, last, weights }), generation: 0 }
    }

    /// `len` zeros, aligned; `None` where memory does not suffice.
    pub(super) fn zeroed(len: usize) -> Option<Storage<T>> {
        let size = len.checked_mul(size_of::<T>())?;
        if size == 0 {
            return Some(Storage::from_vec(Vec::new()));
        }
        // Zero bits are a value of every element type.
        let block = Block::zeroed(size)?;
        Some(Storage::new(block.start().cast(), len, Owner::Block(block)))
    }

    /// Takes over the vector's memory.
    pub(super) fn from_vec(elements: Vec<T>) -> Storage<T> {
        let mut elements = ManuallyDrop::new(elements);
        let (len, capacity) = (elements.len(), elements.capacity());
        // SAFETY: the pointer of a vector is never null.
        let first = unsafe { NonNull::new_unchecked(elements.as_mut_ptr()) };
        Storage::new(first, len, Owner::Vec { capacity })
    }

    /// Memory of someone else's.
    ///
    /// # Safety
    /// The elements live, and nobody else writes (for a storage that is written: touches) them, until the last storage
    /// that shares the buffer is gone.
    unsafe fn borrowed(first: NonNull<T>, len: usize) -> Storage<T> {
        Storage::new(first, len, Owner::Borrowed)
    }

    /// Reads a slice for as long as the caller keeps the storage, and every share of it, within the slice's lifetime.
    pub(super) fn of_slice(elements: &[T]) -> Storage<T> {
        // SAFETY: a `View` that holds this storage has the lifetime of the slice and gives no mutable access; a storage
        // is only reached by shared reference through it, so it cannot be moved out of the guard.
        unsafe { Storage::borrowed(NonNull::from(elements).cast(), elements.len()) }
    }

    /// Lends a mutable slice to `f`. Aborts the process where the storage, or a share of it, outlives the call.
    pub(super) fn with_mut_slice<V>(elements: &mut [T], f: impl FnOnce(Storage<T>) -> V) -> V {
        struct Recall<T>(Arc<Buffer<T>>);
        impl<T> Drop for Recall<T> {
            fn drop(&mut self) {
                if Arc::strong_count(&self.0) != 1 {
                    std::process::abort();
                }
            }
        }
        // SAFETY: the slice is borrowed for the whole call, at whose end `Recall` makes sure that no share is left.
        let storage = unsafe { Storage::borrowed(NonNull::from(&mut *elements).cast(), elements.len()) };
        let recall = Recall(Arc::clone(&storage.buffer));
        let result = f(storage);
        drop(recall);
        result
    }

    /// Whether this generation may touch the elements.
    pub(super) fn is_current(&self) -> bool {
        self.buffer.current.load(Ordering::Acquire) == self.generation
    }

    #[track_caller]
    pub(super) fn check_current(&self) {
        assert!(
            self.is_current(),
            "this tensor is locked: a mutable view of it was leaked, or swapped out of the guard that lent it"
        );
    }

    /// All elements of the buffer.
    #[track_caller]
    pub(super) fn elements(&self) -> &[T] {
        self.check_current();
        // SAFETY: the buffer is alive and initialized; this generation is current, so the only tensors that reach it are
        // this one and its shared views, none of which can write while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.buffer.first.as_ptr(), self.buffer.len) }
    }

    /// All elements of the buffer, to write.
    #[track_caller]
    pub(super) fn elements_mut(&mut self) -> &mut [T] {
        self.check_current();
        self.before_write();
        // SAFETY: as in `elements`; shared views borrow the tensor, and `self` is borrowed mutably, so there are none.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.first.as_ptr(), self.buffer.len) }
    }

    /// From now on products keep copies of the elements in their own order.
    pub(super) fn keep_panels(&self) {
        self.buffer.weights.get_or_init(|| Weights::new(0));
    }

    /// The copies that products keep, if they do.
    pub(super) fn weights(&self) -> Option<&Weights> {
        self.buffer.weights.get()
    }

    /// Must come before every write, by whoever may touch the elements.
    pub(super) fn before_write(&self) {
        if let Some(weights) = self.weights() {
            weights.forget();
        }
    }

    /// Address of an element, for kernels; dangling at the end of the buffer.
    #[track_caller]
    pub(super) fn pointer(&self, position: usize) -> *mut T {
        self.check_current();
        self.buffer.first.as_ptr().wrapping_add(position.min(self.buffer.len))
    }

    /// The memory of a tensor of the given layout, to be used while the tensor stays borrowed.
    #[track_caller]
    pub(super) fn memory(&self, start: usize, dims: Shape, strides: Shape) -> Result<Memory, Error> {
        // SAFETY: a tensor's layout lies inside its buffer, and its generation is current. Callers use the memory while
        // they hold the tensor, and write it only while they hold it mutably.
        unsafe { Memory::new(T::DTYPE, dims, strides, self.pointer(start).cast()) }
    }

    /// Number of elements of the buffer.
    pub(super) fn len(&self) -> usize {
        self.buffer.len
    }

    /// The same rights once more; for shared views, whose lifetime the caller ties to the borrow.
    pub(super) fn share(&self) -> Storage<T> {
        Storage { buffer: Arc::clone(&self.buffer), generation: self.generation }
    }

    /// Passes the rights on to a fresh generation.
    #[track_caller]
    pub(super) fn lend(&mut self) -> Storage<T> {
        self.check_current();
        self.before_write();
        let generation = self.buffer.last.fetch_add(1, Ordering::AcqRel) + 1;
        self.buffer.current.store(generation, Ordering::Release);
        Storage { buffer: Arc::clone(&self.buffer), generation }
    }

    /// Takes the rights back from what [`Storage::lend`] gave, if `lent` is that and has not passed them on.
    pub(super) fn take_back(&mut self, lent: &Storage<T>, generation: u64) {
        if Arc::ptr_eq(&self.buffer, &lent.buffer) && lent.generation == generation && lent.is_current() {
            self.buffer.current.store(self.generation, Ordering::Release);
        }
    }

    /// The generation that a later [`Storage::take_back`] names.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// The vector that the buffer was made from, if nobody shares it; else the storage again.
    pub(super) fn into_vec(self) -> Result<Vec<T>, Storage<T>> {
        if !self.is_current() || !matches!(self.buffer.owner, Owner::Vec { .. }) {
            return Err(self);
        }
        let generation = self.generation;
        let mut buffer = Arc::try_unwrap(self.buffer).map_err(|buffer| Storage { buffer, generation })?;
        let Owner::Vec { capacity } = std::mem::replace(&mut buffer.owner, Owner::Borrowed) else {
            return Ok(Vec::new());
        };
        // SAFETY: the parts of the vector taken over in `from_vec`; the buffer no longer frees them.
        Ok(unsafe { Vec::from_raw_parts(buffer.first.as_ptr(), buffer.len, capacity) })
    }
}
