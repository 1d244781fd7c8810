//! Reading of ELF objects, with every offset and size checked.

use super::LoadError;

pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_X86_64_UNWIND: u32 = 0x7000_0001;
pub(super) const SHF_WRITE: u64 = 1;
pub(super) const SHF_ALLOC: u64 = 2;
pub(super) const SHF_EXEC: u64 = 4;
const SHT_SYMTAB: u32 = 2;

/// A section header.
pub(super) struct Section {
    pub kind: u32,
    pub flags: u64,
    pub offset: usize,
    pub size: usize,
    pub link: u32,
    pub info: u32,
    pub align: usize,
}

/// A symbol, with its name and place.
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub section: u16,
    pub value: usize,
    pub size: usize,
    pub is_global: bool,
}

/// Section headers and symbols of an object.
pub(super) struct Elf<'a> {
    pub sections: Vec<Section>,
    pub symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    pub fn parse(object: &'a [u8]) -> Result<Elf<'a>, LoadError> {
        const HEADER: usize = 64;
        const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
        const RELOCATABLE: u16 = 1;
        const X86_64: u16 = 62;
        let header = slice(object, 0, HEADER)?;
        if !header.starts_with(ELF_64_LITTLE) || half(header, 16)? != RELOCATABLE || half(header, 18)? != X86_64 {
            return Err(LoadError::WrongMachine);
        }
        if !cfg!(target_arch = "x86_64") {
            return Err(LoadError::WrongMachine);
        }
        let (table, count) = (usize_word(header, 40)?, half(header, 60)? as usize);
        let headers = slice(object, table, count * HEADER)?;
        let sections = headers.chunks_exact(HEADER).map(Section::parse).collect::<Result<Vec<_>, _>>()?;
        let symbols = match sections.iter().find(|s| s.kind == SHT_SYMTAB) {
            None => Vec::new(),
            Some(table) => {
                let strings = sections.get(table.link as usize).ok_or(LoadError::Damaged("no symbol names"))?;
                let names = slice(object, strings.offset, strings.size)?;
                let entries = slice(object, table.offset, table.size)?.chunks_exact(24);
                entries.map(|entry| Symbol::parse(entry, names)).collect::<Result<Vec<_>, _>>()?
            }
        };
        Ok(Elf { sections, symbols })
    }
}

impl Section {
    fn parse(header: &[u8]) -> Result<Section, LoadError> {
        Ok(Section {
            kind: int(header, 4)?,
            flags: word(header, 8)?,
            offset: usize_word(header, 24)?,
            size: usize_word(header, 32)?,
            link: int(header, 40)?,
            info: int(header, 44)?,
            align: usize_word(header, 48)?.max(1),
        })
    }
}

impl<'a> Symbol<'a> {
    fn parse(entry: &[u8], names: &'a [u8]) -> Result<Symbol<'a>, LoadError> {
        const GLOBAL: u8 = 1;
        let tail = names.get(int(entry, 0)? as usize..).ok_or(LoadError::Damaged("a symbol name lies outside"))?;
        let length = tail.iter().position(|&c| c == 0).ok_or(LoadError::Damaged("a symbol name does not end"))?;
        let name = std::str::from_utf8(&tail[..length]).map_err(|_| LoadError::Damaged("a symbol name is no text"))?;
        Ok(Symbol {
            name,
            section: half(entry, 6)?,
            value: usize_word(entry, 8)?,
            size: usize_word(entry, 16)?,
            is_global: entry[4] >> 4 == GLOBAL,
        })
    }
}

pub(super) fn slice(bytes: &[u8], offset: usize, size: usize) -> Result<&[u8], LoadError> {
    let end = offset.checked_add(size).ok_or(LoadError::Damaged("an offset overflows"))?;
    bytes.get(offset..end).ok_or(LoadError::Damaged("it ends early"))
}

pub(super) fn half(bytes: &[u8], offset: usize) -> Result<u16, LoadError> {
    slice(bytes, offset, 2).map(|b| u16::from_le_bytes([b[0], b[1]]))
}

pub(super) fn int(bytes: &[u8], offset: usize) -> Result<u32, LoadError> {
    slice(bytes, offset, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(super) fn word(bytes: &[u8], offset: usize) -> Result<u64, LoadError> {
    Ok(int(bytes, offset)? as u64 | (int(bytes, offset + 4)? as u64) << 32)
}

pub(super) fn usize_word(bytes: &[u8], offset: usize) -> Result<usize, LoadError> {
    usize::try_from(word(bytes, offset)?).map_err(|_| LoadError::Damaged("a size overflows"))
}
