//! Conversions between element types.

use super::Emitter;
use crate::codegen::host::lir::{Cvt, Elem, Inst, Type};

impl Emitter<'_> {
    pub(super) fn cvt(&mut self, cvt: Cvt, inst: &Inst) {
        let (from, to) = (self.function.ty(inst.args[0]), self.function.ty(inst.results[0]));
        let a = self.name(inst.args[0]);
        let plain = |name: &str| format!("{name} {} {a} to {}", self.ty(from), self.ty(to));
        let text = match cvt {
            Cvt::Narrow => plain("trunc"),
            Cvt::Sext => plain("sext"),
            Cvt::Zext => plain("zext"),
            Cvt::FromSigned => plain("sitofp"),
            Cvt::FromUnsigned => plain("uitofp"),
            Cvt::ToSigned => self.saturate(from, to, &a, true),
            Cvt::ToUnsigned => self.saturate(from, to, &a, false),
            Cvt::Widen if from.elem() == Some(Elem::BF16) => self.widen_bf16(from, &a),
            Cvt::Round if to.elem() == Some(Elem::BF16) => self.round_bf16(to, &a),
            Cvt::Widen if self.module.target.f16_conversion => plain("fpext"),
            Cvt::Round if self.module.target.f16_conversion => plain("fptrunc"),
            Cvt::Widen => self.widen_f16(from, &a),
            Cvt::Round => self.round_f16(to, &a),
        };
        self.define(inst.results[0], &text);
    }

    pub(super) fn bitcast(&mut self, inst: &Inst) {
        let (from, to) = (self.typed(inst.args[0]), self.type_of(inst.results[0]));
        self.define(inst.results[0], &format!("bitcast {from} to {to}"));
    }

    /// f32 to integer: towards zero, the nearest bound when outside, 0 for NaN. LLVM's own conversion is poison outside; selection drops it.
    fn saturate(&mut self, from: Type, to: Type, a: &str, signed: bool) -> String {
        let elem = to.elem().unwrap_or(Elem::I32);
        let bits = elem.bits();
        let (ty, mask) = (self.ty(from), self.ty(from.with_elem(Elem::I1)));
        // Narrow results fit a signed 32-bit conversion, the one that every vector unit has.
        let wide = if bits < 32 { Elem::I32 } else { elem };
        let wide_ty = self.ty(to.with_elem(wide));
        let limit = 2f32.powi(if signed { bits as i32 - 1 } else { bits as i32 });
        let (least, most) = match (signed, bits) {
            (true, _) => (-1i64 << (bits - 1), (1i64 << (bits - 1)).wrapping_sub(1)),
            (false, 64) => (0, -1),
            (false, _) => (0, (1i64 << bits) - 1),
        };
        let convert = if signed || bits < 32 { "fptosi" } else { "fptoui" };
        let lower = self.float(from, if signed { -limit } else { 0.0 });
        let inside = self.temp(&format!("{convert} {ty} {a} to {wide_ty}"));
        let enough = self.temp(&format!("fcmp oge {ty} {a}, {lower}"));
        let least = self.int(to, wide, least);
        let value = self.temp(&format!("select {mask} {enough}, {wide_ty} {inside}, {wide_ty} {least}"));
        let over = self.temp(&format!("fcmp oge {ty} {a}, {}", self.float(from, limit)));
        let most = self.int(to, wide, most);
        let value = self.temp(&format!("select {mask} {over}, {wide_ty} {most}, {wide_ty} {value}"));
        let nan = self.temp(&format!("fcmp uno {ty} {a}, {a}"));
        let zero = self.int(to, wide, 0);
        let text = format!("select {mask} {nan}, {wide_ty} {zero}, {wide_ty} {value}");
        if wide == elem {
            return text;
        }
        let value = self.temp(&text);
        format!("trunc {wide_ty} {value} to {}", self.ty(to))
    }

    fn widen_bf16(&mut self, from: Type, a: &str) -> String {
        let (short, int) = (self.ty(from), self.ty(from.with_elem(Elem::I32)));
        let bits = self.temp(&format!("zext {short} {a} to {int}"));
        let bits = self.temp(&format!("shl {int} {bits}, {}", self.int(from, Elem::I32, 16)));
        format!("bitcast {int} {bits} to {}", self.ty(from.with_elem(Elem::F32)))
    }

    /// Ties to even by adding half a unit less one, plus the bit that decides ties; NaN keeps its upper bits and becomes quiet.
    fn round_bf16(&mut self, to: Type, a: &str) -> String {
        let (ty, int) = (self.ty(to.with_elem(Elem::F32)), self.ty(to.with_elem(Elem::I32)));
        let mask = self.ty(to.with_elem(Elem::I1));
        let (sixteen, one) = (self.int(to, Elem::I32, 16), self.int(to, Elem::I32, 1));
        let bits = self.temp(&format!("bitcast {ty} {a} to {int}"));
        let upper = self.temp(&format!("lshr {int} {bits}, {sixteen}"));
        let odd = self.temp(&format!("and {int} {upper}, {one}"));
        let sum = self.temp(&format!("add {int} {bits}, {}", self.int(to, Elem::I32, 0x7fff)));
        let sum = self.temp(&format!("add {int} {sum}, {odd}"));
        let rounded = self.temp(&format!("lshr {int} {sum}, {sixteen}"));
        let quiet = self.temp(&format!("or {int} {upper}, {}", self.int(to, Elem::I32, 0x40)));
        let nan = self.temp(&format!("fcmp uno {ty} {a}, {a}"));
        let chosen = self.temp(&format!("select {mask} {nan}, {int} {quiet}, {int} {rounded}"));
        format!("trunc {int} {chosen} to {}", self.ty(to))
    }

    /// Half to single by rescaling: the shifted bits read as a float 2^112 too small, also for denormals.
    fn widen_f16(&mut self, from: Type, a: &str) -> String {
        let (short, int) = (self.ty(from), self.ty(from.with_elem(Elem::I32)));
        let (ty, mask) = (self.ty(from.with_elem(Elem::F32)), self.ty(from.with_elem(Elem::I1)));
        let bits = self.temp(&format!("zext {short} {a} to {int}"));
        let sign = self.temp(&format!("and {int} {bits}, {}", self.int(from, Elem::I32, 0x8000)));
        let sign = self.temp(&format!("shl {int} {sign}, {}", self.int(from, Elem::I32, 16)));
        let rest = self.temp(&format!("and {int} {bits}, {}", self.int(from, Elem::I32, 0x7fff)));
        let rest = self.temp(&format!("shl {int} {rest}, {}", self.int(from, Elem::I32, 13)));
        let small = self.temp(&format!("bitcast {int} {rest} to {ty}"));
        let scaled = self.temp(&format!("fmul {ty} {small}, {}", self.float(from, 2f32.powi(112))));
        let scaled = self.temp(&format!("bitcast {ty} {scaled} to {int}"));
        let special = self.temp(&format!("or {int} {rest}, {}", self.int(from, Elem::I32, 0x7f80_0000)));
        let is_special = self.temp(&format!("icmp uge {int} {rest}, {}", self.int(from, Elem::I32, 0x0f80_0000)));
        let value = self.temp(&format!("select {mask} {is_special}, {int} {special}, {int} {scaled}"));
        let value = self.temp(&format!("or {int} {value}, {sign}"));
        format!("bitcast {int} {value} to {ty}")
    }

    /// Single to half, ties to even: denormals are rounded by adding 0.5, whose last bit is the half's last, the others by integers.
    fn round_f16(&mut self, to: Type, a: &str) -> String {
        let (ty, int) = (self.ty(to.with_elem(Elem::F32)), self.ty(to.with_elem(Elem::I32)));
        let mask = self.ty(to.with_elem(Elem::I1));
        let bits = self.temp(&format!("bitcast {ty} {a} to {int}"));
        let size = self.temp(&format!("and {int} {bits}, {}", self.int(to, Elem::I32, 0x7fff_ffff)));
        let sign = self.temp(&format!("lshr {int} {bits}, {}", self.int(to, Elem::I32, 16)));
        let sign = self.temp(&format!("and {int} {sign}, {}", self.int(to, Elem::I32, 0x8000)));
        let value = self.temp(&format!("bitcast {int} {size} to {ty}"));
        let tiny = self.temp(&format!("fadd {ty} {value}, {}", self.float(to, 0.5)));
        let tiny = self.temp(&format!("bitcast {ty} {tiny} to {int}"));
        let tiny = self.temp(&format!("sub {int} {tiny}, {}", self.int(to, Elem::I32, 0.5f32.to_bits() as i64)));
        let odd = self.temp(&format!("lshr {int} {size}, {}", self.int(to, Elem::I32, 13)));
        let odd = self.temp(&format!("and {int} {odd}, {}", self.int(to, Elem::I32, 1)));
        let sum = self.temp(&format!("add {int} {size}, {}", self.int(to, Elem::I32, 0xC800_0FFF)));
        let sum = self.temp(&format!("add {int} {sum}, {odd}"));
        let normal = self.temp(&format!("lshr {int} {sum}, {}", self.int(to, Elem::I32, 13)));
        let is_tiny = self.temp(&format!("icmp ult {int} {size}, {}", self.int(to, Elem::I32, 0x3880_0000)));
        let value = self.temp(&format!("select {mask} {is_tiny}, {int} {tiny}, {int} {normal}"));
        let (infinity, nan) = (self.int(to, Elem::I32, 0x7c00), self.int(to, Elem::I32, 0x7e00));
        let is_nan = self.temp(&format!("fcmp uno {ty} {a}, {a}"));
        let special = self.temp(&format!("select {mask} {is_nan}, {int} {nan}, {int} {infinity}"));
        let is_special = self.temp(&format!("icmp uge {int} {size}, {}", self.int(to, Elem::I32, 0x4780_0000)));
        let value = self.temp(&format!("select {mask} {is_special}, {int} {special}, {int} {value}"));
        let value = self.temp(&format!("or {int} {value}, {sign}"));
        format!("trunc {int} {value} to {}", self.ty(to))
    }
}
