//! Maps relocatable ELF objects into the process.
//!
//! All sections that occupy memory go into one mapping, which is writable while it is filled and executable afterwards, never both. The
//! bytes come from LLVM or from a cache on disk, so nothing in them is trusted: every offset, size and index is checked, and anything that
//! is not understood is an error. What the code *does* is trusted, as that of any library: the caller checks where the bytes come from.

mod elf;

use elf::{Elf, SHF_ALLOC, SHF_EXEC, SHF_WRITE, SHT_NOBITS, SHT_RELA, SHT_X86_64_UNWIND, Symbol, slice, word};
use std::collections::HashMap;

/// Entry of a kernel: argument words, the range of iterations, scratch memory, status word.
pub type KernelFn = unsafe extern "C" fn(args: *const u64, begin: i64, end: i64, scratch: *mut u8, status: *mut u32);

/// Why an object could not be mapped.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// The bytes end early, or something points outside of them.
    #[error("the object is damaged: {0}")]
    Damaged(&'static str),
    /// Not a relocatable object for this machine.
    #[error("the object is not for this machine")]
    WrongMachine,
    /// A feature of ELF that compiled kernels never use.
    #[error("the object needs something that kernels never use: {0}")]
    Unsupported(String),
    /// A symbol that is neither in the object nor one of the few that kernels may call.
    #[error("the object calls `{0}`, which kernels may not")]
    Undefined(String),
    /// A relocation whose target is too far away.
    #[error("a relocation does not reach its target")]
    OutOfReach,
    /// The operating system refused memory.
    #[error("memory for code could not be had: {0}")]
    Memory(String),
}

/// Largest image accepted; kernels are a few KiB.
const MAX_IMAGE: usize = 256 << 20;
const PAGE: usize = 4096;
/// Bytes of a jump to an external function.
const THUNK: usize = 16;

/// A mapped object. The code lives as long as this value.
#[derive(Debug)]
pub struct Image {
    base: *mut u8,
    size: usize,
    /// Offsets of the global functions.
    functions: HashMap<String, usize>,
    /// All functions, helpers included.
    symbols: Vec<CodeSymbol>,
}

/// A function of a mapped object, as profilers want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSymbol {
    /// Its name in the object.
    pub name: String,
    /// Address of its first byte in this process.
    pub address: usize,
    /// Length in bytes.
    pub size: usize,
}

// SAFETY: after loading, the mapping is read-only and executable; sharing it between threads is sharing code.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` got from mmap.
        unsafe { libc::munmap(self.base.cast(), self.size) };
    }
}

impl Image {
    /// Maps the object and resolves its relocations.
    pub fn load(object: &[u8]) -> Result<Image, LoadError> {
        let elf = Elf::parse(object)?;
        let layout = Layout::new(&elf)?;
        let mut image = Image::map(layout.size)?;
        for (section, &offset) in elf.sections.iter().zip(&layout.offsets) {
            if let (Some(offset), true) = (offset, section.kind != SHT_NOBITS) {
                let bytes = slice(object, section.offset, section.size)?;
                image.bytes()[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        let addresses = image.place_symbols(&elf, &layout)?;
        for section in elf.sections.iter().filter(|s| s.kind == SHT_RELA) {
            if let Some(Some(target)) = layout.offsets.get(section.info as usize) {
                let limit = elf.sections[section.info as usize].size;
                image.relocate(slice(object, section.offset, section.size)?, *target, limit, &addresses)?;
            }
        }
        image.seal()?;
        Ok(image)
    }

    /// The kernel of that name. Calling it is as safe as the code is.
    pub fn kernel(&self, name: &str) -> Option<KernelFn> {
        let offset = *self.functions.get(name)?;
        // SAFETY: the offset lies in an executable section of the mapping, and kernels are compiled with this signature.
        Some(unsafe { std::mem::transmute::<*mut u8, KernelFn>(self.base.add(offset)) })
    }

    /// Names of the global functions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// All functions, helpers included.
    pub fn symbols(&self) -> &[CodeSymbol] {
        &self.symbols
    }

    fn map(size: usize) -> Result<Image, LoadError> {
        // SAFETY: a fresh anonymous mapping, owned by the image from here on.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(LoadError::Memory(std::io::Error::last_os_error().to_string()));
        }
        Ok(Image { base: base.cast(), size, functions: HashMap::new(), symbols: Vec::new() })
    }

    /// The mapping while it is being filled.
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `size` writable bytes until `seal`, after which this private method is not called.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.size) }
    }

    fn seal(&mut self) -> Result<(), LoadError> {
        // SAFETY: the whole mapping changes its protection; no reference into it is alive.
        let failed = unsafe { libc::mprotect(self.base.cast(), self.size, libc::PROT_READ | libc::PROT_EXEC) };
        if failed != 0 { Err(LoadError::Memory(std::io::Error::last_os_error().to_string())) } else { Ok(()) }
    }

    /// Addresses of all symbols; externals get a jump, so that 32-bit distances reach them.
    fn place_symbols(&mut self, elf: &Elf<'_>, layout: &Layout) -> Result<Vec<u64>, LoadError> {
        let mut addresses = Vec::with_capacity(elf.symbols.len());
        let mut thunk = layout.thunks;
        for symbol in &elf.symbols {
            let address = match symbol.section {
                0 if symbol.name.is_empty() => 0,
                0 => {
                    let target = external(symbol.name).ok_or_else(|| LoadError::Undefined(symbol.name.into()))?;
                    let code = thunk_code(target);
                    self.bytes()[thunk..thunk + THUNK].copy_from_slice(&code);
                    thunk += THUNK;
                    self.base as u64 + (thunk - THUNK) as u64
                }
                section => match layout.offsets.get(section as usize) {
                    Some(Some(offset)) => {
                        let section = &elf.sections[section as usize];
                        if symbol.value > section.size {
                            return Err(LoadError::Damaged("a symbol lies outside of its section"));
                        }
                        let address = self.base as usize + offset + symbol.value;
                        if section.flags & SHF_EXEC != 0 {
                            self.note_function(symbol, offset + symbol.value, address);
                        }
                        address as u64
                    }
                    // Symbols of files, of debug sections and absolute ones: nothing that is loaded refers to them.
                    _ => 0,
                },
            };
            addresses.push(address);
        }
        Ok(addresses)
    }

    fn note_function(&mut self, symbol: &Symbol<'_>, offset: usize, address: usize) {
        if symbol.is_global {
            self.functions.insert(symbol.name.into(), offset);
        }
        if symbol.size > 0 {
            self.symbols.push(CodeSymbol { name: symbol.name.into(), address, size: symbol.size });
        }
    }

    /// Applies the relocations of one section, which lies at `target` and has `limit` bytes.
    fn relocate(&mut self, table: &[u8], target: usize, limit: usize, addresses: &[u64]) -> Result<(), LoadError> {
        const ENTRY: usize = 24;
        for entry in table.chunks_exact(ENTRY) {
            let (at, info, addend) = (word(entry, 0)? as usize, word(entry, 8)?, word(entry, 16)?);
            let symbol =
                *addresses.get((info >> 32) as usize).ok_or(LoadError::Damaged("a relocation names no symbol"))?;
            if symbol == 0 {
                return Err(LoadError::Damaged("a relocation refers to nothing that is loaded"));
            }
            let place = self.base as u64 + (target + at.min(limit)) as u64;
            let patch = patch(info as u32, symbol.wrapping_add(addend), place)?;
            if at.checked_add(patch.len()).is_none_or(|end| end > limit) {
                return Err(LoadError::Damaged("a relocation lies outside of its section"));
            }
            self.bytes()[target + at..][..patch.len()].copy_from_slice(&patch);
        }
        Ok(())
    }
}

/// The bytes that a relocation writes for the value S + A at place P.
fn patch(kind: u32, value: u64, place: u64) -> Result<Vec<u8>, LoadError> {
    const R_64: u32 = 1;
    const R_PC32: u32 = 2;
    const R_PLT32: u32 = 4;
    const R_32: u32 = 10;
    const R_32S: u32 = 11;
    const R_PC64: u32 = 24;
    let distance = value.wrapping_sub(place);
    let signed = |v: u64| i32::try_from(v as i64).map(|v| v.to_le_bytes().to_vec()).map_err(|_| LoadError::OutOfReach);
    match kind {
        R_64 => Ok(value.to_le_bytes().to_vec()),
        R_PC64 => Ok(distance.to_le_bytes().to_vec()),
        R_PC32 | R_PLT32 => signed(distance),
        R_32S => signed(value),
        R_32 => u32::try_from(value).map(|v| v.to_le_bytes().to_vec()).map_err(|_| LoadError::OutOfReach),
        other => Err(LoadError::Unsupported(format!("relocation type {other}"))),
    }
}

/// `jmp [rip]` and the address.
fn thunk_code(target: u64) -> [u8; THUNK] {
    let mut code = [0u8; THUNK];
    code[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    code[6..14].copy_from_slice(&target.to_le_bytes());
    code
}

/// The only functions that compiled kernels call: LLVM makes them of loops that fill or copy.
fn external(name: &str) -> Option<u64> {
    let address = match name {
        "memset" => libc::memset as *const () as usize,
        "memcpy" => libc::memcpy as *const () as usize,
        "memmove" => libc::memmove as *const () as usize,
        _ => return None,
    };
    Some(address as u64)
}

/// Where sections go in the mapping.
struct Layout {
    /// For each section, its offset if it occupies memory.
    offsets: Vec<Option<usize>>,
    thunks: usize,
    size: usize,
}

impl Layout {
    fn new(elf: &Elf<'_>) -> Result<Layout, LoadError> {
        let mut end = 0usize;
        let mut offsets = Vec::with_capacity(elf.sections.len());
        for section in &elf.sections {
            let loaded = section.flags & SHF_ALLOC != 0 && section.size > 0 && section.kind != SHT_X86_64_UNWIND;
            if !loaded {
                offsets.push(None);
                continue;
            }
            if section.flags & SHF_WRITE != 0 {
                return Err(LoadError::Unsupported("writable data".into()));
            }
            if section.align > PAGE || !section.align.is_power_of_two() || section.size > MAX_IMAGE {
                return Err(LoadError::Damaged("a section has an impossible size or alignment"));
            }
            end = end.next_multiple_of(section.align.max(64));
            offsets.push(Some(end));
            end += section.size;
            if end > MAX_IMAGE {
                return Err(LoadError::Damaged("the sections are too large"));
            }
        }
        let thunks = end.next_multiple_of(64);
        let externals = elf.symbols.iter().filter(|s| s.section == 0 && !s.name.is_empty()).count();
        let size = (thunks + externals * THUNK).max(1).next_multiple_of(PAGE);
        Ok(Layout { offsets, thunks, size })
    }
}
