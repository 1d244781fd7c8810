//! The language as kernels use it: verbatim bodies, run eagerly.

mod kernels;
mod storage;
