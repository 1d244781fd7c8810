//! Texts that may be programs of the IR, from tests and from `cargo fuzz`.

use pypto::ir::text::{PrintOptions, parse, print};
use pypto::ir::verify;
use pypto::passes::list::{ALL, PassContext};
use pypto::passes::pipeline::PassPipeline;
use pypto::passes::tensor_tiling::Limits;

/// Everything that is done with a text: read, print, verify, and run the passes for the host. Says how far it went.
///
/// # Panics
/// If a pass leaves a program that does not verify.
pub fn run(text: &str) -> &'static str {
    let Ok(mut program) = parse(text, "damaged") else { return "refused by the reader" };
    print(&program, PrintOptions::FULL);
    if verify(&program).is_err() {
        return "refused by the verifier";
    }
    let limits = Limits::for_threads(2);
    for name in PassPipeline::host(limits).names() {
        let pass = ALL.iter().find(|pass| pass.name == name).unwrap();
        if (pass.run)(&mut program, &PassContext { limits }).is_err() {
            return "refused by a pass";
        }
        if let Err(error) = verify(&program) {
            panic!("after `{name}`: {error}");
        }
    }
    "through all passes"
}
