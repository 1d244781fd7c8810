//! The functions of LLVM's C API that the compiler uses, bound at run time. All of them exist from LLVM 15 on.

use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// An opaque LLVM object.
pub(super) type Ref = *mut c_void;

/// Receives errors that LLVM would otherwise print before it ends the process: `fn(diagnostic info, context)`.
pub(super) type DiagnosticHandler = unsafe extern "C" fn(Ref, *mut c_void);

macro_rules! api {
    ($($field:ident = $symbol:ident: fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// Addresses of the functions; valid while the library stays loaded.
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Api {
            /// Looks every function up; the error names the first that is missing.
            pub(super) fn bind(library: &Library) -> Result<Api, String> {
                Ok(Api {
                    $($field: {
                        // SAFETY: the type is the one that llvm-c/*.h declares for this symbol in every supported version.
                        let symbol = unsafe { library.get::<unsafe extern "C" fn($($arg),*) $(-> $result)?>(
                            concat!(stringify!($symbol), "\0").as_bytes()) };
                        *symbol.map_err(|e| format!("{}: {e}", stringify!($symbol)))?
                    },)*
                })
            }
        }
    };
}

api! {
    parse_options = LLVMParseCommandLineOptions: fn(c_int, *const *const c_char, *const c_char);
    context_create = LLVMContextCreate: fn() -> Ref;
    context_dispose = LLVMContextDispose: fn(Ref);
    context_set_diagnostic_handler = LLVMContextSetDiagnosticHandler: fn(Ref, DiagnosticHandler, *mut c_void);
    diagnostic_severity = LLVMGetDiagInfoSeverity: fn(Ref) -> c_int;
    diagnostic_text = LLVMGetDiagInfoDescription: fn(Ref) -> *mut c_char;
    buffer_copy = LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ref;
    buffer_start = LLVMGetBufferStart: fn(Ref) -> *const c_char;
    buffer_size = LLVMGetBufferSize: fn(Ref) -> usize;
    buffer_dispose = LLVMDisposeMemoryBuffer: fn(Ref);
    parse = LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    module_dispose = LLVMDisposeModule: fn(Ref);
    message_dispose = LLVMDisposeMessage: fn(*mut c_char);
    module_verify = LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> c_int;
    module_set_layout = LLVMSetModuleDataLayout: fn(Ref, Ref);
    module_set_triple = LLVMSetTarget: fn(Ref, *const c_char);
    default_triple = LLVMGetDefaultTargetTriple: fn() -> *mut c_char;
    host_cpu = LLVMGetHostCPUName: fn() -> *mut c_char;
    host_features = LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    target_from_triple = LLVMGetTargetFromTriple: fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    machine_create = LLVMCreateTargetMachine:
        fn(Ref, *const c_char, *const c_char, *const c_char, c_uint, c_uint, c_uint) -> Ref;
    machine_dispose = LLVMDisposeTargetMachine: fn(Ref);
    machine_layout = LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    layout_dispose = LLVMDisposeTargetData: fn(Ref);
    machine_emit = LLVMTargetMachineEmitToMemoryBuffer: fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;
}
