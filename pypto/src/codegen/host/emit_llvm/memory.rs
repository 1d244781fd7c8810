//! Loads and stores.
//!
//! Addresses are `base[index]` in elements; alignment is the element's, which costs nothing on current CPUs. Masked accesses use LLVM's
//! intrinsics, which become masked instructions where the CPU has them and guarded scalar ones elsewhere.

use super::Emitter;
use crate::codegen::host::lir::{Access, CacheLevel, Elem, Inst, Type, Value};

impl Emitter<'_> {
    /// The address of element `index`.
    fn element(&mut self, elem: Elem, base: Value, index: Value) -> String {
        match self.function.constant(index) {
            Some(0) => self.name(base),
            _ => {
                let (base, index) = (self.name(base), self.name(index));
                self.temp(&format!("getelementptr inbounds {}, ptr {base}, i64 {index}", memory_elem(self.elem(elem))))
            }
        }
    }

    pub(super) fn addr(&mut self, elem: Elem, inst: &Inst) {
        let (base, index) = (self.name(inst.args[0]), self.name(inst.args[1]));
        let text = format!("getelementptr inbounds {}, ptr {base}, i64 {index}", memory_elem(self.elem(elem)));
        self.define(inst.results[0], &text);
    }

    pub(super) fn load(&mut self, access: Access, inst: &Inst) {
        let ty = self.function.ty(inst.results[0]);
        let result = inst.results[0];
        if ty == Type::Ptr {
            let (base, index) = (self.name(inst.args[0]), self.name(inst.args[1]));
            let address = self.temp(&format!("getelementptr inbounds ptr, ptr {base}, i64 {index}"));
            return self.define(result, &format!("load ptr, ptr {address}, align 8"));
        }
        let elem = ty.elem().unwrap_or(Elem::I64);
        let (text, align) = (self.ty(ty), if access.loose { 1 } else { elem.bytes() });
        match (access.strided, access.masked) {
            (false, false) => {
                let address = self.element(elem, inst.args[0], inst.args[1]);
                self.define(result, &format!("load {text}, ptr {address}, align {align}"));
            }
            (false, true) => {
                let address = self.element(elem, inst.args[0], inst.args[1]);
                let args = [
                    format!("ptr {address}"),
                    format!("i32 {align}"),
                    self.typed(inst.args[2]),
                    format!("{text} zeroinitializer"),
                ];
                let call = self.intrinsic(&text, &format!("llvm.masked.load.{}.p0", self.suffix(ty)), &args);
                self.define(result, &call);
            }
            (true, false) => self.gather(elem, inst),
            (true, true) => {
                let addresses = self.lane_addresses(elem, inst.args[0], inst.args[1], inst.args[2]);
                let args =
                    [addresses, format!("i32 {align}"), self.typed(inst.args[3]), format!("{text} zeroinitializer")];
                let name = format!("llvm.masked.gather.{}.v{}p0", self.suffix(ty), self.lanes());
                let call = self.intrinsic(&text, &name, &args);
                self.define(result, &call);
            }
        }
    }

    pub(super) fn store(&mut self, access: Access, inst: &Inst) {
        let ty = self.function.ty(inst.args[0]);
        let elem = ty.elem().unwrap_or(Elem::I64);
        let (value, align) = (self.typed(inst.args[0]), if ty == Type::Ptr { 8 } else { elem.bytes() });
        match (access.strided, access.masked) {
            (false, false) => {
                let address = self.element(elem, inst.args[1], inst.args[2]);
                self.line(&format!("store {value}, ptr {address}, align {align}"));
            }
            (false, true) => {
                let address = self.element(elem, inst.args[1], inst.args[2]);
                let args = [value, format!("ptr {address}"), format!("i32 {align}"), self.typed(inst.args[3])];
                let call = self.intrinsic("void", &format!("llvm.masked.store.{}.p0", self.suffix(ty)), &args);
                self.line(&call);
            }
            (true, false) => self.scatter(elem, inst),
            (true, true) => {
                let addresses = self.lane_addresses(elem, inst.args[1], inst.args[2], inst.args[3]);
                let args = [value, addresses, format!("i32 {align}"), self.typed(inst.args[4])];
                let name = format!("llvm.masked.scatter.{}.v{}p0", self.suffix(ty), self.lanes());
                let call = self.intrinsic("void", &name, &args);
                self.line(&call);
            }
        }
    }

    pub(super) fn prefetch(&mut self, cache: CacheLevel, inst: &Inst) {
        let locality = match cache {
            CacheLevel::First => "i32 3",
            CacheLevel::Second => "i32 2",
        };
        let (base, index) = (self.name(inst.args[0]), self.name(inst.args[1]));
        let address = self.temp(&format!("getelementptr i8, ptr {base}, i64 {index}"));
        let args = [format!("ptr {address}"), "i32 0".into(), locality.into(), "i32 1".into()];
        let call = self.intrinsic("void", "llvm.prefetch.p0", &args);
        self.line(&call);
    }

    /// A strided load lane by lane: faster than the gather instruction on AVX2 machines, and available everywhere.
    fn gather(&mut self, elem: Elem, inst: &Inst) {
        let (ty, scalar) = (self.type_of(inst.results[0]), self.elem(elem));
        let mut address = self.element(elem, inst.args[0], inst.args[1]);
        let (stride, lanes) = (self.name(inst.args[2]), self.lanes());
        let mut vector = "poison".to_string();
        for lane in 0..lanes {
            let value = self.temp(&format!("load {scalar}, ptr {address}, align {}", elem.bytes()));
            let text = format!("insertelement {ty} {vector}, {scalar} {value}, i64 {lane}");
            if lane + 1 == lanes {
                return self.define(inst.results[0], &text);
            }
            vector = self.temp(&text);
            address = self.temp(&format!("getelementptr inbounds {scalar}, ptr {address}, i64 {stride}"));
        }
    }

    fn scatter(&mut self, elem: Elem, inst: &Inst) {
        let (vector, scalar) = (self.typed(inst.args[0]), self.elem(elem));
        let mut address = self.element(elem, inst.args[1], inst.args[2]);
        let (stride, lanes) = (self.name(inst.args[3]), self.lanes());
        for lane in 0..lanes {
            let value = self.temp(&format!("extractelement {vector}, i64 {lane}"));
            self.line(&format!("store {scalar} {value}, ptr {address}, align {}", elem.bytes()));
            if lane + 1 < lanes {
                address = self.temp(&format!("getelementptr inbounds {scalar}, ptr {address}, i64 {stride}"));
            }
        }
    }

    /// `<W x ptr>` of the lanes' addresses.
    fn lane_addresses(&mut self, elem: Elem, base: Value, index: Value, stride: Value) -> String {
        let (address, lanes) = (self.element(elem, base, index), self.lanes());
        let strides = self.splat_text(Type::INDEX, &self.name(stride));
        let numbers = (0..lanes).map(|i| format!("i64 {i}")).collect::<Vec<_>>().join(", ");
        let offsets = self.temp(&format!("mul <{lanes} x i64> {strides}, <{numbers}>"));
        let scalar = self.elem(elem);
        let addresses = self.temp(&format!("getelementptr {scalar}, ptr {address}, <{lanes} x i64> {offsets}"));
        format!("<{lanes} x ptr> {addresses}")
    }
}

/// Truth values take a byte in memory; LIR never loads them as `i1`, but an address may count them.
fn memory_elem(elem: &str) -> &str {
    if elem == "i1" { "i8" } else { elem }
}
