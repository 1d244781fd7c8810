//! The disk form of a host executable: what a new process needs to run a specialization that an earlier one compiled.
//!
//! A manifest in JSON - the program as text, and what is known of each kernel - followed by the objects. The cache below
//! checks integrity; whatever cannot be read here counts as a miss.

use serde::{Deserialize, Serialize};

use super::{HostExecutable, HostKernel, KernelCode, Site};
use crate::ir::text::{PrintOptions, parse, print};
use crate::ir::{FileId, IndexExpr, Loc};

/// Changes whenever this file, the meaning of the manifest, or the calling convention of kernels does.
pub const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    program: String,
    kernels: Vec<KernelEntry>,
}

#[derive(Serialize, Deserialize)]
struct KernelEntry {
    name: String,
    symbol: String,
    object_bytes: usize,
    iterations: IndexExpr,
    scratch_bytes: IndexExpr,
    sites: Vec<SiteEntry>,
    cost: f64,
}

#[derive(Serialize, Deserialize)]
struct SiteEntry {
    file: String,
    range: [u32; 4],
    message: String,
}

/// The bytes of an executable; `None` for one with interpreted kernels, which are not worth keeping.
pub fn to_bytes(executable: &HostExecutable) -> Option<Vec<u8>> {
    let mut objects = Vec::new();
    let mut kernels = Vec::new();
    for kernel in &executable.kernels {
        let KernelCode::Object { symbol, bytes } = &kernel.code else { return None };
        objects.extend_from_slice(bytes);
        kernels.push(KernelEntry {
            name: kernel.name.clone(),
            symbol: symbol.clone(),
            object_bytes: bytes.len(),
            iterations: kernel.iterations.clone(),
            scratch_bytes: kernel.scratch_bytes.clone(),
            sites: kernel.sites.iter().map(site_entry).collect(),
            cost: kernel.cost,
        });
    }
    let program = print(&executable.program, PrintOptions { locations: true });
    let header = serde_json::to_vec(&Manifest { format: FORMAT, program, kernels }).ok()?;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&objects);
    Some(bytes)
}

/// The executable of those bytes; `None` where they are not what [`to_bytes`] of this version writes.
pub fn from_bytes(bytes: &[u8]) -> Option<HostExecutable> {
    let (length, rest) = bytes.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (header, mut objects) = rest.split_at_checked(length)?;
    let manifest: Manifest = serde_json::from_slice(header).ok()?;
    if manifest.format != FORMAT {
        return None;
    }
    let program = parse(&manifest.program, "cached program").ok()?;
    let mut kernels = Vec::with_capacity(manifest.kernels.len());
    for entry in manifest.kernels {
        let (object, rest) = objects.split_at_checked(entry.object_bytes)?;
        objects = rest;
        kernels.push(HostKernel {
            name: entry.name,
            code: KernelCode::Object { symbol: entry.symbol, bytes: object.to_vec() },
            iterations: entry.iterations,
            scratch_bytes: entry.scratch_bytes,
            sites: entry.sites.into_iter().map(site).collect(),
            cost: entry.cost,
        });
    }
    objects.is_empty().then_some(HostExecutable { program, kernels })
}

fn site_entry(site: &Site) -> SiteEntry {
    let Loc { file, line, column, end_line, end_column } = site.loc;
    let range = [line, column, end_line, end_column];
    SiteEntry { file: file.name().to_owned(), range, message: site.message.clone() }
}

fn site(entry: SiteEntry) -> Site {
    let [line, column, end_line, end_column] = entry.range;
    let loc = Loc::new(FileId::intern(&entry.file), line, column, end_line, end_column);
    Site { loc, message: entry.message }
}
