//! Runs LIR kernels in tests.

use super::compile::compile_object;
use super::cpu::{Isa, Target};
use super::lir::Module;
use super::loader::Image;
use crate::ir::report::MAX_SHOWN;

/// The targets whose code this machine can run.
pub(crate) fn runnable() -> Vec<Target> {
    let host = Target::host();
    let isas = match host.isa {
        Isa::Avx512 => vec![Isa::Avx512, Isa::Avx2, Isa::Sse2],
        Isa::Avx2 => vec![Isa::Avx2, Isa::Sse2],
        other => vec![other],
    };
    isas.into_iter().map(|isa| if isa == host.isa { host } else { Target::of(isa) }).collect()
}

/// Compiles and maps a module.
pub(crate) fn load(module: &Module) -> Image {
    let object = compile_object(module).unwrap_or_else(|e| panic!("{e}\n{}", super::lir::print_module(module)));
    Image::load(&object).unwrap()
}

/// Calls a kernel of the image over `range`; gives the status word.
pub(crate) fn call(image: &Image, name: &str, args: &[u64], range: (i64, i64), scratch: &mut [u64]) -> u32 {
    // With the room behind it that kernels may fill.
    let mut status = [0u32; 4 + 2 * MAX_SHOWN];
    let kernel = image.kernel(name).unwrap();
    // SAFETY: the tests pass pointers to live buffers of the sizes that their kernels use.
    unsafe { kernel(args.as_ptr(), range.0, range.1, scratch.as_mut_ptr().cast(), status.as_mut_ptr()) };
    status[0]
}
