//! Compiles LLVM IR text with a libLLVM that is opened at run time.
//!
//! The library is opened at most once, on the first compile ([`llvm`]); nothing links to it. Only the code generator runs: the text is
//! already in its final shape, and the optimization pipelines have been measured to cost more than they give. Every module passes LLVM's
//! verifier first, because invalid IR makes LLVM end the process. Each call has its own context and target machine, so threads may compile
//! at the same time.

mod api;
mod search;

use super::cpu::{Isa, Target};
use api::{Api, Ref};
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

pub use search::{Candidate, ENV, MINIMUM_VERSION, SearchReport};

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
    OPENED.get_or_init(|| search::search(|path| Llvm::open(path).map(|llvm| (llvm.version, llvm)).map(|(v, l)| (l, v))))
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
        Ok(llvm)
    }

    /// Major, minor, patch.
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// The version that the library states. LLVM 15 and older state none; 15 is recognized by reading a pointer without element type.
    fn find_version(&self) -> Result<(u32, u32, u32), String> {
        let mut version = (0, 0, 0);
        // SAFETY: the signature is that of llvm-c/Core.h since LLVM 16.
        if let Ok(get) =
            unsafe { self.library.get::<unsafe extern "C" fn(*mut u32, *mut u32, *mut u32)>(b"LLVMGetVersion\0") }
        {
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

    /// Takes over a message that LLVM allocated.
    fn message(api: &Api, text: *mut c_char) -> String {
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
}

/// An LLVM context, with the errors that were reported to it.
struct Context<'a> {
    api: &'a Api,
    raw: Ref,
    /// On the heap, because LLVM keeps its address.
    sink: Box<Sink>,
}

struct Sink {
    severity: unsafe extern "C" fn(Ref) -> c_int,
    text: unsafe extern "C" fn(Ref) -> *mut c_char,
    dispose: unsafe extern "C" fn(*mut c_char),
    errors: std::sync::Mutex<Vec<String>>,
}

/// Keeps errors instead of letting LLVM print them and exit.
unsafe extern "C" fn keep_error(info: Ref, sink: *mut c_void) {
    const ERROR: c_int = 0;
    // SAFETY: `sink` is the address given with the handler, alive as long as its context; `info` is valid during the call, and its text is
    // disposed of once.
    unsafe {
        let sink = &*(sink as *const Sink);
        if (sink.severity)(info) == ERROR {
            let text = (sink.text)(info);
            let message = CStr::from_ptr(text).to_string_lossy().into_owned();
            (sink.dispose)(text);
            if let Ok(mut errors) = sink.errors.lock() {
                errors.push(message);
            }
        }
    }
}

impl<'a> Context<'a> {
    fn new(api: &'a Api) -> Context<'a> {
        let sink = Box::new(Sink {
            severity: api.diagnostic_severity,
            text: api.diagnostic_text,
            dispose: api.message_dispose,
            errors: Default::default(),
        });
        // SAFETY: the sink outlives the context, which `drop` disposes of before the box goes.
        let raw = unsafe {
            let raw = (api.context_create)();
            (api.context_set_diagnostic_handler)(raw, keep_error, &*sink as *const Sink as *mut c_void);
            raw
        };
        Context { api, raw, sink }
    }

    fn errors(&self) -> Vec<String> {
        self.sink.errors.lock().map(|e| e.clone()).unwrap_or_default()
    }

    fn parse(&self, text: &str) -> Result<ModuleRef<'_>, String> {
        let (mut raw, mut message) = (null_mut(), null_mut());
        // SAFETY: the buffer is a copy of the text; parsing consumes it whatever the outcome.
        let failed = unsafe {
            let buffer = (self.api.buffer_copy)(text.as_ptr().cast(), text.len(), c"kernel".as_ptr());
            (self.api.parse)(self.raw, buffer, &mut raw, &mut message)
        };
        if failed != 0 {
            Err(Llvm::message(self.api, message))
        } else {
            Ok(ModuleRef { api: self.api, raw, _context: self })
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: disposed of once, after its modules, which borrow the context.
        unsafe { (self.api.context_dispose)(self.raw) }
    }
}

struct ModuleRef<'a> {
    api: &'a Api,
    raw: Ref,
    _context: &'a Context<'a>,
}

impl ModuleRef<'_> {
    fn verify(&self) -> Result<(), String> {
        const RETURN_STATUS: c_int = 2;
        let mut message = null_mut();
        // SAFETY: the module is live; the message is set in every case and taken over below.
        let broken = unsafe { (self.api.module_verify)(self.raw, RETURN_STATUS, &mut message) };
        let message = Llvm::message(self.api, message);
        if broken != 0 { Err(message) } else { Ok(()) }
    }
}

impl Drop for ModuleRef<'_> {
    fn drop(&mut self) {
        // SAFETY: disposed of once, while its context is alive.
        unsafe { (self.api.module_dispose)(self.raw) }
    }
}

/// A target machine: CPU, features, code model.
struct Machine<'a> {
    api: &'a Api,
    raw: Ref,
    triple: CString,
}

impl<'a> Machine<'a> {
    fn new(llvm: &'a Llvm, target: Target) -> Result<Machine<'a>, LlvmError> {
        let api = &llvm.api;
        // CPU and features come from the same library, since LLVM ends the process when it is given a CPU that it does not know.
        let own = |f: unsafe extern "C" fn() -> *mut c_char| {
            // SAFETY: the three host queries take nothing and return a message to dispose of.
            let text = unsafe { f() };
            CString::new(Llvm::message(api, text)).unwrap_or_default()
        };
        let is_host = target == Target::host();
        let (triple, cpu, features) = match (is_host, target.isa) {
            (true, _) => (own(api.default_triple), own(api.host_cpu), own(api.host_features)),
            (_, Isa::Avx512) => fixed("x86_64-unknown-linux-gnu", "x86-64-v4"),
            (_, Isa::Avx2) => fixed("x86_64-unknown-linux-gnu", "x86-64-v3"),
            (_, Isa::Sse2) => fixed("x86_64-unknown-linux-gnu", "x86-64"),
            (_, Isa::Neon) => fixed("aarch64-unknown-linux-gnu", "neoverse-n1"),
            (_, Isa::Generic) => (own(api.default_triple), CString::default(), CString::default()),
        };
        let cannot = |message| LlvmError::NoTarget { triple: triple.to_string_lossy().into_owned(), message };
        if target.isa == Isa::Neon && !is_host {
            llvm.start_target("AArch64").map_err(cannot)?;
        }
        const DEFAULT_LEVEL: u32 = 2;
        const POSITION_INDEPENDENT: u32 = 2;
        const DEFAULT_MODEL: u32 = 0;
        let (mut raw_target, mut message) = (null_mut(), null_mut());
        // SAFETY: all strings are nul-terminated and live through the calls; the target belongs to the library.
        let raw = unsafe {
            if (api.target_from_triple)(triple.as_ptr(), &mut raw_target, &mut message) != 0 {
                return Err(cannot(Llvm::message(api, message)));
            }
            (api.machine_create)(
                raw_target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                DEFAULT_LEVEL,
                POSITION_INDEPENDENT,
                DEFAULT_MODEL,
            )
        };
        if raw.is_null() { Err(cannot("no target machine".into())) } else { Ok(Machine { api, raw, triple }) }
    }

    fn prepare(&self, module: &ModuleRef<'_>) {
        // SAFETY: machine and module are live; the layout is copied into the module before it is disposed of.
        unsafe {
            (self.api.module_set_triple)(module.raw, self.triple.as_ptr());
            let layout = (self.api.machine_layout)(self.raw);
            (self.api.module_set_layout)(module.raw, layout);
            (self.api.layout_dispose)(layout);
        }
    }

    fn emit(&self, module: &ModuleRef<'_>, output: Output) -> Result<Vec<u8>, String> {
        let kind = if output == Output::Object { 1 } else { 0 };
        let (mut buffer, mut message) = (null_mut(), null_mut());
        // SAFETY: machine and module are live; on success the buffer holds `size` bytes from `start` until it is disposed of.
        unsafe {
            if (self.api.machine_emit)(self.raw, module.raw, kind, &mut message, &mut buffer) != 0 {
                return Err(Llvm::message(self.api, message));
            }
            let (start, size) = ((self.api.buffer_start)(buffer), (self.api.buffer_size)(buffer));
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), size).to_vec();
            (self.api.buffer_dispose)(buffer);
            Ok(bytes)
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // SAFETY: disposed of once; modules do not refer to it after emission.
        unsafe { (self.api.machine_dispose)(self.raw) }
    }
}

fn fixed(triple: &str, cpu: &str) -> (CString, CString, CString) {
    (CString::new(triple).unwrap_or_default(), CString::new(cpu).unwrap_or_default(), CString::default())
}
