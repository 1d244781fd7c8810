//! A host executable as one run of bytes: what the cache keeps, so that a new process runs what an earlier one compiled.
//!
//! A header in JSON - the program as text, and what is known of each kernel - followed by the objects. The cache below
//! checks integrity; whatever cannot be read here counts as a miss.

use serde::{Deserialize, Serialize};

use super::record::KernelRecord;
use super::{HostExecutable, KernelCode};
use crate::ir::text::{PrintOptions, parse, print};

/// Changes whenever this file, the meaning of the header, or the calling convention of kernels does.
pub const FORMAT: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    program: String,
    kernels: Vec<KernelRecord>,
    /// Bytes of the object of each kernel.
    objects: Vec<usize>,
}

/// The bytes of an executable; `None` for one with interpreted kernels, which are not worth keeping.
pub fn to_bytes(executable: &HostExecutable) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    let (mut kernels, mut objects) = (Vec::new(), Vec::new());
    for kernel in &executable.kernels {
        let KernelCode::Object { bytes, .. } = &kernel.code else { return None };
        code.extend_from_slice(bytes);
        objects.push(bytes.len());
        kernels.push(KernelRecord::of(kernel, None));
    }
    let program = print(&executable.program, PrintOptions { locations: true });
    let header = serde_json::to_vec(&Header { format: FORMAT, program, kernels, objects }).ok()?;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&code);
    Some(bytes)
}

/// The executable of those bytes; `None` where they are not what [`to_bytes`] of this version writes.
pub fn from_bytes(bytes: &[u8]) -> Option<HostExecutable> {
    let (length, rest) = bytes.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (header, mut code) = rest.split_at_checked(length)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    if header.format != FORMAT || header.kernels.len() != header.objects.len() {
        return None;
    }
    let program = parse(&header.program, "cached program").ok()?;
    let mut kernels = Vec::with_capacity(header.kernels.len());
    for (record, size) in header.kernels.into_iter().zip(header.objects) {
        let (object, rest) = code.split_at_checked(size)?;
        code = rest;
        kernels.push(record.into_kernel(object.to_vec()));
    }
    code.is_empty().then_some(HostExecutable { program, kernels, accelerator: None })
}
