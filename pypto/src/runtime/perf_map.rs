//! Names of compiled kernels for `perf`: the map that it reads for code that lies in no file.
//!
//! The format is that of `perf`: a line for each function, start and size in hexadecimal, then the name. The file belongs to
//! the process and grows with every kernel that is loaded; code that is unloaded keeps its line, as `perf` reads the file
//! when the process is over.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::codegen::host::loader::CodeSymbol;
use crate::config::environment::Environment;

/// Lists the functions of a kernel where `PYPTO_PERF_MAP=on` asks for it. A map that cannot be written costs names in a
/// profile and nothing else, so that is no error.
pub(super) fn register(kernel: &str, symbols: &[CodeSymbol]) {
    if Environment::process_or_default().perf_map {
        let _ = append(&path(), kernel, symbols);
    }
}

fn path() -> PathBuf {
    // `perf` looks there and nowhere else.
    Path::new("/tmp").join(format!("perf-{}.map", std::process::id()))
}

fn append(path: &Path, kernel: &str, symbols: &[CodeSymbol]) -> std::io::Result<()> {
    // One write for all lines: those of kernels that other threads load at the same time do not mix with them.
    std::fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(lines(kernel, symbols).as_bytes())
}

fn lines(kernel: &str, symbols: &[CodeSymbol]) -> String {
    let line = |CodeSymbol { name, address, size }: &CodeSymbol| {
        let owner = if name == kernel { String::new() } else { format!(" [{kernel}]") };
        format!("{address:x} {size:x} {name}{owner}\n")
    };
    symbols.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_name_the_kernel_that_they_belong_to() {
        let symbol = |name: &str, address| CodeSymbol { name: name.into(), address, size: 0x20 };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("perf.map");
        append(&file, "softmax", &[symbol("softmax", 0x1000), symbol("gemm_f32", 0x1020)]).unwrap();
        append(&file, "other", &[symbol("other", 0x2000)]).unwrap();
        let expected = "1000 20 softmax\n1020 20 gemm_f32 [softmax]\n2000 20 other\n";
        assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    }
}
