//! Every kernel of every example program, run eager, by the interpreter and compiled: the results are equal bit for bit.
//!
//! Extents are 0 where the kernel allows them, 1, primes, and a tile's one less and one more; contents are tame, extreme
//! and not finite. At one small size the program after every pass is interpreted as well, and printed and parsed after
//! every pass. Outputs start with other contents each way, so an element that is not written shows.

mod agree;
mod attention;
mod elementwise;
mod minilm;
mod products;
mod rows;

use std::collections::BTreeSet;
use std::path::Path;

/// Programs whose kernels have cases here.
const COVERED: [&str; 15] = [
    "dynamic_rows",
    "elementwise",
    "ffn",
    "flash_attention",
    "fused_linear",
    "hello_world",
    "layer_norm",
    "matmul",
    "minilm_layer",
    "paged_attention",
    "rms_norm",
    "rope",
    "softmax",
    "split_k_matmul",
    "task_graph",
];

#[test]
fn every_example_is_covered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut programs = BTreeSet::new();
    for directory in ["beginner", "kernels", "models", "distributed", "runtime"] {
        let Ok(entries) = std::fs::read_dir(root.join(directory)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "rs") {
                programs.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let covered: BTreeSet<String> = COVERED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(programs, covered);
}
