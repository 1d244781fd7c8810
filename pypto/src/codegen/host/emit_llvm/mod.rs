//! LIR to LLVM IR text.
//!
//! The text goes to the code generator without any pass pipeline, so its shape is the final one: loops are rotated (guard before, test at
//! the bottom), wide operations are already vectors, and addressing is left to LLVM's loop strength reduction. Only constructs that LLVM 15
//! to 22 all accept are used, no `bfloat`, and no fast-math flag anywhere: what is written is what is computed.
//!
//! The module must be verified first; on an unverified one the text may be nonsense, which LLVM's own verifier then rejects.

mod arith;
mod control;
mod convert;
mod dots;
mod lanes;
mod memory;

use super::cpu::Isa;
use super::lir::{Elem, Function, Inst, Module, Op, Type, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Changes whenever the text for the same LIR, or the way it is compiled, changes; part of the key of stored objects.
pub const EMITTER_VERSION: u32 = 12;

/// First LLVM that reads `splat (float 1.0)`.
const SPLAT_CONSTANTS: u32 = 19;

/// The LLVM IR of a module, for an LLVM of that major version.
pub fn emit_module(module: &Module, llvm_major: u32) -> String {
    let mut declarations = BTreeSet::new();
    let mut text = String::new();
    for function in &module.functions {
        let mut emitter = Emitter {
            module,
            function,
            short_splats: llvm_major >= SPLAT_CONSTANTS,
            out: String::new(),
            declarations: &mut declarations,
            temps: 0,
            blocks: 0,
            current: "entry".into(),
        };
        emitter.function();
        text.push_str(&emitter.out);
        text.push('\n');
    }
    for declaration in &declarations {
        text.push_str(declaration);
        text.push('\n');
    }
    text.push_str(attributes(module.target.isa));
    text
}

fn attributes(isa: Isa) -> &'static str {
    match isa {
        // LLVM prefers 256-bit registers on some AVX-512 cores unless told otherwise.
        Isa::Avx512 => {
            "attributes #0 = { nounwind \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" }\n"
        }
        _ => "attributes #0 = { nounwind }\n",
    }
}

struct Emitter<'a> {
    module: &'a Module,
    function: &'a Function,
    short_splats: bool,
    out: String,
    declarations: &'a mut BTreeSet<String>,
    temps: usize,
    blocks: usize,
    /// Label of the block being written: the predecessor in phi nodes.
    current: String,
}

impl Emitter<'_> {
    fn function(&mut self) {
        let function = self.function;
        let params = function.body.params.iter().map(|&p| format!("{} {}", self.ty(function.ty(p)), self.name(p)));
        let params = params.collect::<Vec<_>>().join(", ");
        let (linkage, result) =
            (if function.is_kernel { "" } else { "internal " }, self.result_type(&function.results));
        let _ = writeln!(self.out, "define {linkage}{result} @{}({params}) #0 {{\nentry:", function.name);
        for inst in &function.body.insts {
            self.inst(inst);
        }
        self.ret(&function.body.yields);
        self.out.push_str("}\n");
    }

    fn ret(&mut self, values: &[Value]) {
        match values {
            [] => self.line("ret void"),
            [one] => {
                let value = self.typed(*one);
                self.line(&format!("ret {value}"));
            }
            many => {
                let ty = self.result_type(&self.function.results);
                let mut aggregate = "poison".to_string();
                for (i, &value) in many.iter().enumerate() {
                    let value = self.typed(value);
                    aggregate = self.temp(&format!("insertvalue {ty} {aggregate}, {value}, {i}"));
                }
                self.line(&format!("ret {ty} {aggregate}"));
            }
        }
    }

    fn result_type(&self, results: &[Type]) -> String {
        match results {
            [] => "void".into(),
            [one] => self.ty(*one),
            many => format!("{{ {} }}", many.iter().map(|&t| self.ty(t)).collect::<Vec<_>>().join(", ")),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match &inst.op {
            Op::For => self.for_loop(inst),
            Op::If => self.if_else(inst),
            Op::While => self.while_loop(inst),
            Op::Fail(site) => self.fail(*site, inst),
            Op::Report(site) => self.report(*site, inst),
            Op::Call(name) => self.call(name, inst),
            Op::Load(access) => self.load(*access, inst),
            Op::Store(access) => self.store(*access, inst),
            Op::Prefetch(cache) => self.prefetch(*cache, inst),
            Op::Addr(elem) => self.addr(*elem, inst),
            Op::TailMask => self.tail_mask(inst),
            Op::Splat => self.splat(inst),
            Op::Iota => self.iota(inst),
            Op::Extract(lane) => self.extract(*lane, inst),
            Op::Reduce(reduce) => self.reduce(*reduce, inst),
            Op::Any => self.any(inst),
            Op::MaskBits => self.mask_bits(inst),
            Op::Swap(distance) => self.swap(*distance, inst),
            Op::Transpose => self.transpose(inst),
            Op::Cvt(cvt) => self.cvt(*cvt, inst),
            Op::Bitcast => self.bitcast(inst),
            Op::Extreme(bin) => self.extreme_of_all(*bin, inst),
            Op::PairDot => self.pair_dot(inst),
            Op::QuadDot => self.quad_dot(inst),
            Op::Bin(_) | Op::Un(_) | Op::Fma | Op::Cmp(_) | Op::Ucmp(_) | Op::Select => self.arith(inst),
        }
    }

    fn call(&mut self, name: &str, inst: &Inst) {
        let types = inst.results.iter().map(|&r| self.function.ty(r)).collect::<Vec<_>>();
        let result = self.result_type(&types);
        let args = inst.args.iter().map(|&a| self.typed(a)).collect::<Vec<_>>().join(", ");
        let call = format!("call {result} @{name}({args})");
        match inst.results.as_slice() {
            [] => self.line(&call),
            [one] => self.define(*one, &call),
            many => {
                let aggregate = self.temp(&call);
                for (i, &value) in many.iter().enumerate() {
                    self.define(value, &format!("extractvalue {result} {aggregate}, {i}"));
                }
            }
        }
    }

    /// The LLVM type of an element. Types that LLVM would convert through library calls are plain integers here.
    fn elem(&self, elem: Elem) -> &'static str {
        match elem {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 | Elem::BF16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F16 if self.module.target.f16_conversion => "half",
            Elem::F16 => "i16",
            Elem::F32 => "float",
        }
    }

    fn ty(&self, ty: Type) -> String {
        match ty {
            Type::Ptr => "ptr".into(),
            Type::Scalar(e) => self.elem(e).into(),
            Type::Vector(e) => format!("<{} x {}>", self.lanes(), self.elem(e)),
        }
    }

    fn lanes(&self) -> usize {
        self.module.target.lanes
    }

    fn type_of(&self, value: Value) -> String {
        self.ty(self.function.ty(value))
    }

    /// An operand without its type.
    fn name(&self, value: Value) -> String {
        match self.function.constant(value) {
            Some(bits) => self.constant(self.function.ty(value), bits),
            None => format!("%v{}", value.0),
        }
    }

    /// An operand with its type.
    fn typed(&self, value: Value) -> String {
        format!("{} {}", self.type_of(value), self.name(value))
    }

    fn constant(&self, ty: Type, bits: u64) -> String {
        match ty {
            Type::Ptr => "null".into(),
            Type::Scalar(e) => scalar_constant(e, bits, self.elem(e) == "half"),
            Type::Vector(_) if bits == 0 => "zeroinitializer".into(),
            Type::Vector(e) => {
                let one = format!("{} {}", self.elem(e), scalar_constant(e, bits, self.elem(e) == "half"));
                if self.short_splats {
                    format!("splat ({one})")
                } else {
                    format!("<{}>", vec![one; self.lanes()].join(", "))
                }
            }
        }
    }

    /// `f32` constant of the shape of `ty`.
    fn float(&self, ty: Type, value: f32) -> String {
        self.constant(ty.with_elem(Elem::F32), value.to_bits() as u64)
    }

    /// Integer constant of the shape of `ty`.
    fn int(&self, ty: Type, elem: Elem, value: i64) -> String {
        self.constant(ty.with_elem(elem), value as u64)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "  {text}");
    }

    fn define(&mut self, value: Value, text: &str) {
        let _ = writeln!(self.out, "  %v{} = {text}", value.0);
    }

    fn temp(&mut self, text: &str) -> String {
        self.temps += 1;
        let name = format!("%t{}", self.temps);
        let _ = writeln!(self.out, "  {name} = {text}");
        name
    }

    /// A call of an intrinsic, declared on first use; `args` are `type value`.
    fn intrinsic(&mut self, result: &str, name: &str, args: &[String]) -> String {
        let types = args.iter().map(|a| arg_type(a)).collect::<Vec<_>>().join(", ");
        self.declarations.insert(format!("declare {result} @{name}({types})"));
        format!("call {result} @{name}({})", args.join(", "))
    }

    /// The suffix that overloaded intrinsics carry for a type, as `v8f32`.
    fn suffix(&self, ty: Type) -> String {
        let elem = match ty.elem() {
            None => "p0",
            Some(e) => match self.elem(e) {
                "float" => "f32",
                "half" => "f16",
                int => int,
            },
        };
        if ty.is_vector() { format!("v{}{elem}", self.lanes()) } else { elem.into() }
    }
}

/// The type in `type value`; a vector type contains spaces, so it ends at its bracket.
fn arg_type(arg: &str) -> &str {
    match arg.starts_with('<') {
        true => &arg[..=arg.find('>').unwrap_or(0)],
        false => arg.split(' ').next().unwrap_or(arg),
    }
}

/// One element as LLVM writes it. `float` constants are the bits of the same value as a double.
fn scalar_constant(elem: Elem, bits: u64, is_half: bool) -> String {
    match elem {
        Elem::F32 => format!("0x{:016X}", (f32::from_bits(bits as u32) as f64).to_bits()),
        Elem::F16 if is_half => format!("0xH{bits:04X}"),
        Elem::I1 => if bits != 0 { "true" } else { "false" }.into(),
        _ => {
            let shift = 64 - elem.bits();
            (((bits << shift) as i64) >> shift).to_string()
        }
    }
}
