//! Sums of products of the parts of words, pairs of 16 bits or quads of 8: one instruction of x86, or arithmetic on the parts.

use super::Emitter;
use crate::codegen::host::lir::{Elem, Inst, Type};

impl Emitter<'_> {
    pub(super) fn pair_dot(&mut self, inst: &Inst) {
        let [a, b, c] = [0, 1, 2].map(|i| self.name(inst.args[i]));
        let is_float = self.function.ty(inst.results[0]) == Type::VF32;
        let target = self.module.target;
        let text = match is_float {
            true if target.bf16_pairs => self.dot_of_bf16(&a, &b, &c),
            true => self.halves_of_bf16(&a, &b, &c),
            false if target.integer_pairs => self.dot_of_integers(&a, &b, &c),
            false => self.halves_of_integers(&a, &b, &c),
        };
        self.define(inst.results[0], &text);
    }

    /// Written with words of 32 bits, as before LLVM 16; later ones bring that up to date.
    fn dot_of_bf16(&mut self, a: &str, b: &str, c: &str) -> String {
        let (float, words) = (self.ty(Type::VF32), self.ty(Type::Vector(Elem::I32)));
        let name = format!("llvm.x86.avx512bf16.dpbf16ps.{}", self.lanes() * 32);
        self.intrinsic(&float, &name, &[format!("{float} {c}"), format!("{words} {a}"), format!("{words} {b}")])
    }

    fn halves_of_bf16(&mut self, a: &str, b: &str, c: &str) -> String {
        let shape = Type::VF32;
        let (float, words) = (self.ty(shape), self.ty(Type::Vector(Elem::I32)));
        let (upper, sixteen) = (self.int(shape, Elem::I32, 0xffff_0000), self.int(shape, Elem::I32, 16));
        let mut half = |text: String| {
            let bits = self.temp(&text);
            self.temp(&format!("bitcast {words} {bits} to {float}"))
        };
        let [high_a, high_b] = [a, b].map(|x| half(format!("and {words} {x}, {upper}")));
        let [low_a, low_b] = [a, b].map(|x| half(format!("shl {words} {x}, {sixteen}")));
        let text = self.fma_text(shape, &[high_a, high_b, c.into()]);
        let sum = self.temp(&text);
        self.fma_text(shape, &[low_a, low_b, sum])
    }

    /// Processors with AVX512-VNNI have one instruction for both operations, which LLVM selects.
    fn dot_of_integers(&mut self, a: &str, b: &str, c: &str) -> String {
        let lanes = self.lanes();
        let (words, short) = (self.ty(Type::Vector(Elem::I32)), format!("<{} x i16>", 2 * lanes));
        let name = match lanes {
            16 => "llvm.x86.avx512.pmaddw.d.512",
            8 => "llvm.x86.avx2.pmadd.wd",
            _ => "llvm.x86.sse2.pmadd.wd",
        };
        let args = [a, b].map(|x| {
            let x = self.temp(&format!("bitcast {words} {x} to {short}"));
            format!("{short} {x}")
        });
        let call = self.intrinsic(&words, name, &args);
        let products = self.temp(&call);
        format!("add {words} {products}, {c}")
    }

    fn halves_of_integers(&mut self, a: &str, b: &str, c: &str) -> String {
        let shape = Type::Vector(Elem::I32);
        let (words, sixteen) = (self.ty(shape), self.int(shape, Elem::I32, 16));
        let [high_a, high_b] = [a, b].map(|x| self.temp(&format!("ashr {words} {x}, {sixteen}")));
        let [low_a, low_b] = [a, b].map(|x| {
            let raised = self.temp(&format!("shl {words} {x}, {sixteen}"));
            self.temp(&format!("ashr {words} {raised}, {sixteen}"))
        });
        let high = self.temp(&format!("mul {words} {high_a}, {high_b}"));
        let low = self.temp(&format!("mul {words} {low_a}, {low_b}"));
        let sum = self.temp(&format!("add {words} {high}, {low}"));
        format!("add {words} {sum}, {c}")
    }

    /// The intrinsic as it was before LLVM 22, which brings it up to date.
    pub(super) fn quad_dot(&mut self, inst: &Inst) {
        let [a, b, c] = [0, 1, 2].map(|i| self.name(inst.args[i]));
        let words = self.ty(Type::Vector(Elem::I32));
        let text = if self.module.target.byte_quads {
            let name = format!("llvm.x86.avx512.vpdpbusd.{}", self.lanes() * 32);
            self.intrinsic(&words, &name, &[&c, &a, &b].map(|x| format!("{words} {x}")))
        } else {
            self.bytes(&a, &b, c)
        };
        self.define(inst.results[0], &text);
    }

    fn bytes(&mut self, a: &str, b: &str, c: String) -> String {
        let shape = Type::Vector(Elem::I32);
        let (words, top) = (self.ty(shape), self.int(shape, Elem::I32, 24));
        let products = [0, 8, 16, 24].map(|above| {
            let above = self.int(shape, Elem::I32, above);
            let [x, y] = [(a, "lshr"), (b, "ashr")].map(|(word, shift)| {
                let raised = self.temp(&format!("shl {words} {word}, {above}"));
                self.temp(&format!("{shift} {words} {raised}, {top}"))
            });
            self.temp(&format!("mul {words} {x}, {y}"))
        });
        let pairs = [0, 2].map(|i| self.temp(&format!("add {words} {}, {}", products[i], products[i + 1])));
        let sum = self.temp(&format!("add {words} {}, {}", pairs[0], pairs[1]));
        format!("add {words} {sum}, {c}")
    }
}
