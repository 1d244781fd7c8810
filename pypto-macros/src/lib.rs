//! The macros of PyPTO: the attributes `jit`, `function` and `program`, and the derive macro `Args`.
//!
//! An annotated function stays as it was written, for rustc, rust-analyzer and as the eager mode. Beside it the macro
//! emits the function's generic IR, a static that `pypto::frontend` instantiates at the first call.
//!
//! The logic works on `proc_macro2` types, so that unit tests can call it; it never panics, reports every error that it
//! finds, and emits the user's items even then.

mod args;
mod attributes;
mod capture;
mod code;
mod emit;
mod errors;
mod expand;
mod fallback;
mod function;
mod generics;
mod kernel_calls;
mod lowering_test;
mod params;
mod program;
mod scope;
mod shape;
mod source;
mod suggest;
mod types;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a function a kernel that is compiled for the shapes of its arguments at the first call.
///
/// Options: a kind (`incore`, `orchestration`, `inline`, `opaque` or `host`; default `opaque`), `meta(NAME = 1, ..)`, and
/// `check(x = [512, 256], n = 4, T = f32)`, any number of times, which makes a test that lowers the kernel for such arguments.
/// Parameters are `&Tensor<T, R>`, `&mut Tensor<T, R>` and scalars, with `#[shape(M, 128, dyn B, _)]`, `#[out]` and
/// `#[spec]`. The call returns `pypto::jit::Result<Launched<..>>`; `pypto::jit::JitFn` has the other handles.
#[proc_macro_attribute]
pub fn jit(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(expand::Form::Jit, attribute.into(), item.into()).into()
}

/// Makes a function callable from kernels. It stays an ordinary Rust function otherwise.
///
/// Options and parameters as for [`macro@jit`]; a parameter may also be a `Tile<T, R>`.
#[proc_macro_attribute]
pub fn function(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(expand::Form::Function, attribute.into(), item.into()).into()
}

/// Makes a struct of tensors and scalars one parameter of kernels; see the trait of the same name.
#[proc_macro_derive(Args, attributes(shape, out, spec))]
pub fn derive_args(item: TokenStream) -> TokenStream {
    args::expand(item.into()).into()
}

/// Groups the annotated functions of a module into one program: adds `program()` to the module.
///
/// The entry is the last annotated function, or the one named by `#[pypto::program(entry = name)]`.
#[proc_macro_attribute]
pub fn program(attribute: TokenStream, item: TokenStream) -> TokenStream {
    program::expand(attribute.into(), item.into()).into()
}
