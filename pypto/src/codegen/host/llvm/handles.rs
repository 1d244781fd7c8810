//! Owned LLVM objects: context, module, target machine. Each is disposed of once, in the order that LLVM demands.

use super::api::{Api, Ref};
use super::{Llvm, LlvmError, Output, take_message};
use crate::codegen::host::cpu::{Isa, Target};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;

/// An LLVM context, with the errors that were reported to it.
pub(super) struct Context<'a> {
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
    pub(super) fn new(api: &'a Api) -> Context<'a> {
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

    pub(super) fn errors(&self) -> Vec<String> {
        self.sink.errors.lock().map(|e| e.clone()).unwrap_or_default()
    }

    pub(super) fn parse(&self, text: &str) -> Result<ModuleRef<'_>, String> {
        let (mut raw, mut message) = (null_mut(), null_mut());
        // SAFETY: the buffer is a copy of the text; parsing consumes it whatever the outcome.
        let failed = unsafe {
            let buffer = (self.api.buffer_copy)(text.as_ptr().cast(), text.len(), c"kernel".as_ptr());
            (self.api.parse)(self.raw, buffer, &mut raw, &mut message)
        };
        if failed != 0 {
            Err(take_message(self.api, message))
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

pub(super) struct ModuleRef<'a> {
    api: &'a Api,
    raw: Ref,
    _context: &'a Context<'a>,
}

impl ModuleRef<'_> {
    pub(super) fn verify(&self) -> Result<(), String> {
        const RETURN_STATUS: c_int = 2;
        let mut message = null_mut();
        // SAFETY: the module is live; the message is set in every case and taken over below.
        let broken = unsafe { (self.api.module_verify)(self.raw, RETURN_STATUS, &mut message) };
        let message = take_message(self.api, message);
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
pub(super) struct Machine<'a> {
    api: &'a Api,
    raw: Ref,
    triple: CString,
}

impl<'a> Machine<'a> {
    pub(super) fn new(llvm: &'a Llvm, target: Target) -> Result<Machine<'a>, LlvmError> {
        let api = &llvm.api;
        // CPU and features come from the same library, since LLVM ends the process when it is given a CPU that it does not know.
        let own = |f: unsafe extern "C" fn() -> *mut c_char| {
            // SAFETY: the three host queries take nothing and return a message to dispose of.
            let text = unsafe { f() };
            CString::new(take_message(api, text)).unwrap_or_default()
        };
        let is_host = target.isa == Isa::of_this_cpu();
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
        // What the default level adds takes a sixth of the time, and kernels run as fast without it: it schedules instructions
        // once more after registers are given out, which processors do themselves.
        const LESS: u32 = 1;
        const POSITION_INDEPENDENT: u32 = 2;
        const DEFAULT_MODEL: u32 = 0;
        let (mut raw_target, mut message) = (null_mut(), null_mut());
        // SAFETY: all strings are nul-terminated and live through the calls; the target belongs to the library.
        let raw = unsafe {
            if (api.target_from_triple)(triple.as_ptr(), &mut raw_target, &mut message) != 0 {
                return Err(cannot(take_message(api, message)));
            }
            (api.machine_create)(
                raw_target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                LESS,
                POSITION_INDEPENDENT,
                DEFAULT_MODEL,
            )
        };
        if raw.is_null() { Err(cannot("no target machine".into())) } else { Ok(Machine { api, raw, triple }) }
    }

    pub(super) fn prepare(&self, module: &ModuleRef<'_>) {
        // SAFETY: machine and module are live; the layout is copied into the module before it is disposed of.
        unsafe {
            (self.api.module_set_triple)(module.raw, self.triple.as_ptr());
            let layout = (self.api.machine_layout)(self.raw);
            (self.api.module_set_layout)(module.raw, layout);
            (self.api.layout_dispose)(layout);
        }
    }

    pub(super) fn emit(&self, module: &ModuleRef<'_>, output: Output) -> Result<Vec<u8>, String> {
        let kind = if output == Output::Object { 1 } else { 0 };
        let (mut buffer, mut message) = (null_mut(), null_mut());
        // SAFETY: machine and module are live; on success the buffer holds `size` bytes from `start` until it is disposed of.
        unsafe {
            if (self.api.machine_emit)(self.raw, module.raw, kind, &mut message, &mut buffer) != 0 {
                return Err(take_message(self.api, message));
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
