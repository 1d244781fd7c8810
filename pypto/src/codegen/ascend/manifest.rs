//! `kernel_config.json`: what a loader needs to know of an artifact, as data.

use serde::Serialize;

use super::artifact::AscendArtifact;
use super::wrapper::signature;

#[derive(Serialize)]
struct Manifest<'a> {
    format: u32,
    target: &'a str,
    /// What was made: up to `.pto` files, or to the C++ that the assembler made of them.
    complete_up_to: &'static str,
    assembler: Assembler,
    orchestration: Orchestration,
    kernels: Vec<Kernel<'a>>,
}

#[derive(Serialize)]
struct Assembler {
    arguments: Vec<String>,
}

#[derive(Serialize)]
struct Orchestration {
    source: String,
    function_name: &'static str,
    signature: Vec<String>,
}

#[derive(Serialize)]
struct Kernel<'a> {
    func_id: usize,
    name: &'a str,
    core_type: &'static str,
    pto: String,
    source: String,
    signature: Vec<String>,
    blocks_share_work: bool,
    /// Bytes of each memory space.
    memory: Vec<(&'static str, i64)>,
}

/// The text of the manifest.
pub fn manifest(artifact: &AscendArtifact) -> String {
    let entry = artifact.program.entry_function();
    let kernels = artifact.kernels.iter().enumerate().map(|(func_id, kernel)| Kernel {
        func_id,
        name: &kernel.name,
        core_type: kernel.core.unit(),
        pto: format!("ptoas/{}.pto", kernel.name),
        source: format!("kernels/{}/{}.cpp", kernel.core.unit(), kernel.name),
        signature: signature(kernel),
        blocks_share_work: kernel.is_spmd,
        memory: kernel.plan.used.iter().map(|(space, bytes)| (space.name(), *bytes)).collect(),
    });
    let manifest = Manifest {
        format: 1,
        target: artifact.target.name,
        complete_up_to: if artifact.kernels.iter().all(|k| k.assembled.is_some()) { "cpp" } else { "pto" },
        assembler: Assembler { arguments: artifact.assembler_arguments() },
        orchestration: Orchestration {
            source: format!("orchestration/{}.cpp", entry.name),
            function_name: "aicpu_orchestration_entry",
            signature: entry.params.iter().map(|p| format!("{} {}", p.direction.name(), p.name)).collect(),
        },
        kernels: kernels.collect(),
    };
    // Plain data of known shape: writing it to a string cannot fail.
    serde_json::to_string_pretty(&manifest).map(|text| text + "\n").unwrap_or_default()
}
