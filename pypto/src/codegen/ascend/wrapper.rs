//! The C++ around a kernel: takes the run time's argument words apart and calls what the assembler makes of the `.pto` file.

use std::fmt::Write;

use super::artifact::AscendKernel;
use super::dialect::Ty;
use super::dialect::types::element_name;
use super::orchestration::number_type;
use crate::ir::DType;

/// The text of a kernel's wrapper. It includes the assembler's output, `ptoas/NAME.cpp` of the artifact.
pub fn wrapper(kernel: &AscendKernel) -> String {
    let mut out = String::from("#include <stdint.h>\n\n#include <pto/pto-inst.hpp>\n\n#include \"tensor.h\"\n\n");
    let _ =
        writeln!(out, "// What the assembler makes of ptoas/{0}.pto.\n#include \"../../ptoas/{0}.cpp\"\n", kernel.name);
    out += "extern \"C\" __aicore__ void kernel_entry(__gm__ int64_t* args) {\n";
    let [function] = &kernel.module.functions[..] else { return out };
    let mut call = Vec::new();
    for (position, param) in function.params.iter().enumerate() {
        let name = function.name_of(*param).replace('.', "_");
        match function.ty(*param) {
            Ty::Pointer(dtype) => {
                let c = number_type(*dtype);
                let _ = writeln!(
                    out,
                    "  __gm__ ChipTensor* {name}_tensor = reinterpret_cast<__gm__ ChipTensor*>(args[{position}]);\n  \
                     __gm__ {c}* {name} = reinterpret_cast<__gm__ {c}*>({name}_tensor->buffer.addr) + {name}_tensor->start_offset;"
                );
            }
            _ if name.ends_with("spmd_block_idx") => {
                let _ = writeln!(out, "  const int32_t {name} = static_cast<int32_t>(get_block_idx());");
            }
            _ if name.ends_with("spmd_block_num") => {
                let _ = writeln!(out, "  const int32_t {name} = static_cast<int32_t>(get_block_num());");
            }
            ty => {
                let c = number_type(number(ty));
                let _ = writeln!(
                    out,
                    "  union {{ int64_t bits; {c} value; }} {name}_bits = {{args[{position}]}};\n  const {c} {name} = {name}_bits.value;"
                );
            }
        }
        call.push(name);
    }
    let _ = writeln!(out, "  {}({});\n}}", function.name, call.join(", "));
    out
}

fn number(ty: &Ty) -> DType {
    match ty {
        Ty::Scalar(dtype) => *dtype,
        _ => DType::I64,
    }
}

/// The signature of a kernel in the manifest: one text a parameter.
pub fn signature(kernel: &AscendKernel) -> Vec<String> {
    let [function] = &kernel.module.functions[..] else { return Vec::new() };
    let given = function.params.iter().zip(&kernel.directions);
    given
        .map(|(param, direction)| match (function.ty(*param), direction) {
            (Ty::Pointer(dtype), Some(direction)) => {
                format!("{} tensor of {}", direction.name(), element_name(*dtype))
            }
            (Ty::Index, _) => "i64".to_owned(),
            (ty, _) => element_name(number(ty)).to_owned(),
        })
        .collect()
}
