//! From a program, or from a captured function and a specialization, to an artifact.

use std::time::Instant;

use super::error::CompileError;
use super::host::{Built, build, run_passes};
use super::settings::Settings;
use crate::artifact::CompiledProgram;
use crate::config::CompileOptions;
use crate::diagnostics::Diagnostics;
use crate::frontend::generic;
use crate::frontend::instantiate::{describe, instantiate};
use crate::frontend::specialization::Specialization;
use crate::ir::{self, Program};
use crate::passes::pipeline::PassPipeline;

/// Compiles a program: passes, code for every kernel, and, where one is asked for, the artifact's directory. Also in
/// scope as [`pypto::compile`](fn@pypto::compile).
///
/// The program is one that was built ([`ir::Builder`]), parsed ([`ir::text::parse`]) or grouped (`#[pypto::program]`);
/// [`JitFn::compile`](pypto::jit::JitFn::compile) is the same for an annotated function.
///
/// ```
/// use pypto::config::CompileOptions;
/// use pypto::ir::text::parse;
/// use pypto::prelude::*;
///
/// let program = parse(
///     r#"program "double" entry @double
/// fn @double incore (%0 "x": tensor<f32>[4] in, %1 "y": tensor<f32>[4] out) {
///   %2: i64 = constant() {value = 0, dtype = i64}
///   %3: tile<f32>[4] = load(%0, %2)
///   %4: tile<f32>[4] = add(%3, %3)
///   store(%4, %1, %2)
/// }
/// "#,
///     "double",
/// )?;
/// let compiled = pypto::compile(&program, &CompileOptions::default())?;
/// let (x, mut y) = (Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [4]), Tensor::<f32, 1>::zeros([4]));
/// compiled.call((&x, &mut y))?;
/// assert_eq!(y.as_slice(), [2.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What is wrong in the program or with an option; a platform whose code generator is not there yet; an artifact that
/// cannot be written. Nothing is written then.
pub fn compile(program: &Program, options: &CompileOptions) -> Result<CompiledProgram, CompileError> {
    let settings = Settings::of(options)?;
    ir::verify(program)?;
    let built = build(program.clone(), &settings)?;
    Ok(CompiledProgram::of_build(built.executable, settings.platform, Some(program.clone()), &[]))
}

/// The program of a specialization after the passes: those that all platforms share, and on the host also the host's.
///
/// # Errors
/// What is wrong in the kernel.
pub fn lower(
    function: &'static generic::Function,
    specialization: &Specialization,
    settings: &Settings,
) -> Result<Program, CompileError> {
    let mut program = instantiate(function, specialization)?;
    let outcome = match settings.platform.is_host() {
        true => run_passes(&mut program, settings).map(drop),
        false => PassPipeline::shared().run(&mut program).map(drop),
    };
    outcome.map_err(|problems| noted(problems, function, specialization))?;
    Ok(program)
}

/// Compiles a specialization.
///
/// # Errors
/// What is wrong in the kernel.
pub fn compile_specialization(
    function: &'static generic::Function,
    specialization: &Specialization,
    settings: &Settings,
) -> Result<Built, CompileError> {
    let start = Instant::now();
    let program = instantiate(function, specialization)?;
    let instantiated = start.elapsed();
    let built = build(program, settings).map_err(|error| match error {
        CompileError::Kernel(problems) => noted(problems, function, specialization).into(),
        other => other,
    });
    built.map(|mut built| {
        built.times.frontend += instantiated;
        built
    })
}

fn noted(problems: Diagnostics, function: &'static generic::Function, specialization: &Specialization) -> Diagnostics {
    problems.with_note(&describe(function, specialization))
}
