//! Compiles LLVM IR text with a libLLVM that is opened at run time.
//!
//! The library is opened at most once, on the first compile ([`llvm`]); nothing links to it. Only the code generator runs: the text is
//! already in its final shape, and the optimization pipelines have been measured to cost more than they give. Every module passes LLVM's
//! verifier first, because invalid IR makes LLVM end the process. Each call has its own context and target machine, so threads may compile
//! at the same time.

mod api;
mod handles;
mod search;

use super::cpu::Target;
use api::Api;
use handles::{Context, Machine};
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;

pub use search::{ENV, MINIMUM_VERSION, SearchReport};

/// Why machine code could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LlvmError {
    /// No usable libLLVM; the report says what was tried.
    #[error("no usable libLLVM was found ({} places tried; set {ENV} to its path)", .0.tried.len())]
    NotFound(SearchReport),
    /// The library was built without this CPU family.
    #[error("this libLLVM cannot generate code for {triple}: {message}")]
    NoTarget {
        /// The target triple.
        triple: String,
        /// LLVM's message.
        message: String,
    },
    /// LLVM rejected the text: a bug in the emitter.
    #[error("LLVM rejected the generated code: {0}")]
    Invalid(String),
    /// Code generation failed.
    #[error("LLVM could not generate code: {0}")]
    Codegen(String),
}

/// What to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A relocatable object.
    Object,
    /// Assembly text.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look at instructions"))]
    Assembly,
}

/// An open libLLVM.
pub struct Llvm {
    api: Api,
    library: Library,
    version: (u32, u32, u32),
}

/// The library and how it was found; opened on the first call.
pub fn llvm() -> Result<&'static Llvm, LlvmError> {
    let (library, report) = opened();
    library.as_ref().ok_or_else(|| LlvmError::NotFound(report.clone()))
}

/// What the search for libLLVM tried. Opens the library if that has not happened yet.
pub fn search_report() -> &'static SearchReport {
    &opened().1
}

fn opened() -> &'static (Option<Llvm>, SearchReport) {
    static OPENED: OnceLock<(Option<Llvm>, SearchReport)> = OnceLock::new();
    OPENED.get_or_init(|| {
        search::search(|path| {
            Llvm::open(path).map(|llvm| {
                let version = llvm.version;
                (llvm, version)
            })
        })
    })
}

impl Llvm {
    /// Opens a library, checks its version, and starts its x86 or AArch64 code generator, whichever this process runs on.
    pub fn open(path: &Path) -> Result<Llvm, String> {
        // SAFETY: opening runs the library's initializers; those of libLLVM only register options. RTLD_LOCAL keeps its symbols apart from
        // an LLVM that the process may contain already.
        let library = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
        let api = Api::bind(&library)?;
        let mut llvm = Llvm { api, library, version: (0, 0, 0) };
        llvm.version = llvm.find_version()?;
        if llvm.version.0 < MINIMUM_VERSION {
            return Err(format!("version {} is older than {MINIMUM_VERSION}", llvm.version.0));
        }
        llvm.start_target(if cfg!(target_arch = "aarch64") { "AArch64" } else { "X86" })?;
        llvm.set_options();
        Ok(llvm)
    }

    /// Major, minor, patch.
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// The version that the library states. LLVM 15 and older state none; 15 is recognized by reading a pointer without element type.
    fn find_version(&self) -> Result<(u32, u32, u32), String> {
        let mut version = (0, 0, 0);
        type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
        // SAFETY: the signature is that of llvm-c/Core.h since LLVM 16.
        let get = unsafe { self.library.get::<GetVersion>(b"LLVMGetVersion\0") };
        if let Ok(get) = get {
            // SAFETY: the pointers are to live integers.
            unsafe { get(&mut version.0, &mut version.1, &mut version.2) };
            return Ok(version);
        }
        let context = Context::new(&self.api);
        match context.parse("define void @f(ptr %p) {\n  ret void\n}\n") {
            Ok(_) => Ok((15, 0, 0)),
            Err(_) => Err("it does not know opaque pointers (older than 15)".into()),
        }
    }

    fn start_target(&self, arch: &str) -> Result<(), String> {
        for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter"] {
            let symbol = format!("LLVMInitialize{arch}{part}\0");
            // SAFETY: these functions take nothing and only register the target; calling them again changes nothing.
            unsafe {
                let start = self.library.get::<unsafe extern "C" fn()>(symbol.as_bytes()).map_err(|e| e.to_string())?;
                start();
            }
        }
        Ok(())
    }

    /// Turns off what costs time and gives nothing: our loops have the addresses that their instructions can take, and the pass that looks for
    /// better ones takes a third of the time of a compilation, half of it by the registers that it wants. A version without the option
    /// goes on as it is.
    fn set_options(&self) {
        let words = [c"pypto", c"-disable-lsr"].map(CStr::as_ptr);
        // SAFETY: the words are C strings. Errors go nowhere: LLVM gives them a stream that drops them.
        unsafe { (self.api.parse_options)(words.len() as c_int, words.as_ptr(), c"".as_ptr()) };
    }

    /// Compiles IR text for a target: for this machine when the target is the host's own, else for the plainest CPU of its family.
    pub fn compile(&self, target: Target, text: &str, output: Output) -> Result<Vec<u8>, LlvmError> {
        let machine = Machine::new(self, target)?;
        let context = Context::new(&self.api);
        let module = context.parse(text).map_err(LlvmError::Invalid)?;
        machine.prepare(&module);
        module.verify().map_err(LlvmError::Invalid)?;
        let bytes = machine.emit(&module, output).map_err(LlvmError::Codegen)?;
        match context.errors() {
            errors if errors.is_empty() => Ok(bytes),
            errors => Err(LlvmError::Codegen(errors.join("; "))),
        }
    }
}

/// Takes over a message that LLVM allocated.
fn take_message(api: &Api, text: *mut c_char) -> String {
    if text.is_null() {
        return "no message".into();
    }
    // SAFETY: LLVM gives nul-terminated text that the caller must dispose of once.
    unsafe {
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        (api.message_dispose)(text);
        message
    }
}
