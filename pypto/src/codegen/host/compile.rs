//! From a LIR module to object bytes.

use super::cpu::Target;
use super::emit_llvm::emit_module;
use super::lir::{Module, VerifyError, verify};
use super::llvm::{LlvmError, Output, llvm};

/// Why a module did not become an object.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The LIR is broken: a bug of the code that built it.
    #[error("internal error in generated code: {0}")]
    Lir(String),
    /// LLVM is missing or failed.
    #[error(transparent)]
    Llvm(#[from] LlvmError),
}

impl From<VerifyError> for CompileError {
    fn from(error: VerifyError) -> CompileError {
        CompileError::Lir(error.to_string())
    }
}

/// The LLVM IR of a module as text, for the libLLVM in use.
pub fn llvm_text(module: &Module) -> Result<String, CompileError> {
    verify(module)?;
    Ok(emit_module(module, llvm()?.version().0))
}

/// Compiles a module to a relocatable object.
#[cfg(test)]
pub fn compile_object(module: &Module) -> Result<Vec<u8>, CompileError> {
    compile_text(module.target, &llvm_text(module)?)
}

/// Compiles LLVM IR text to a relocatable object.
pub fn compile_text(target: Target, text: &str) -> Result<Vec<u8>, CompileError> {
    Ok(llvm()?.compile(target, text, Output::Object)?)
}

/// Compiles a module to assembly text.
#[cfg(test)]
pub fn compile_assembly(module: &Module) -> Result<String, CompileError> {
    let bytes = llvm()?.compile(module.target, &llvm_text(module)?, Output::Assembly)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
