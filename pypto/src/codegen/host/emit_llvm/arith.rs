//! Arithmetic on scalars and vectors, where LIR's rules (NaN in min and max, shift amounts, missing instructions) become LLVM's.

use super::Emitter;
use crate::codegen::host::lir::{Bin, Cmp, Elem, Inst, Op, Type, Un};

impl Emitter<'_> {
    pub(super) fn arith(&mut self, inst: &Inst) {
        let shape = self.function.ty(inst.args[0]);
        let names = inst.args.iter().map(|&a| self.name(a)).collect::<Vec<_>>();
        let text = match &inst.op {
            Op::Bin(op) => {
                self.bin_text(*op, shape, &names[0], &names[1], self.function.constant(inst.args[1]).is_some())
            }
            Op::Un(op) => self.un_text(*op, shape, &names[0]),
            Op::Fma => self.fma_text(shape, &names),
            Op::Cmp(cmp) => self.cmp_text(*cmp, shape, &names[0], &names[1], true),
            Op::Ucmp(cmp) => self.cmp_text(*cmp, shape, &names[0], &names[1], false),
            _ => {
                let args = inst.args.iter().map(|&a| self.typed(a)).collect::<Vec<_>>();
                format!("select {}", args.join(", "))
            }
        };
        self.define(inst.results[0], &text);
    }

    /// The last instruction of `a op b`; what it needs before is written out.
    pub(super) fn bin_text(&mut self, op: Bin, shape: Type, a: &str, b: &str, amount_is_constant: bool) -> String {
        let (ty, float) = (self.ty(shape), shape.elem() == Some(Elem::F32));
        let plain = |name: &str| format!("{name} {ty} {a}, {b}");
        match op {
            Bin::Min | Bin::Max if float => self.extreme(op, shape, a, b),
            Bin::Min => self.integer_extreme("smin", shape, a, b),
            Bin::Max => self.integer_extreme("smax", shape, a, b),
            Bin::Umin => self.integer_extreme("umin", shape, a, b),
            Bin::Umax => self.integer_extreme("umax", shape, a, b),
            Bin::Scale => self.scale(shape, a, b),
            Bin::PairMin | Bin::PairMax => self.pair_extreme(op, shape, a, b),
            Bin::Shl | Bin::Ashr | Bin::Lshr => self.shift(op, shape, a, b, amount_is_constant),
            Bin::Add => plain(if float { "fadd" } else { "add" }),
            Bin::Sub => plain(if float { "fsub" } else { "sub" }),
            Bin::Mul => plain(if float { "fmul" } else { "mul" }),
            Bin::Div => plain("fdiv"),
            Bin::Sdiv => plain("sdiv"),
            Bin::Udiv => plain("udiv"),
            Bin::Srem => plain("srem"),
            Bin::Urem => plain("urem"),
            Bin::And => plain("and"),
            Bin::Or => plain("or"),
            Bin::Xor => plain("xor"),
        }
    }

    /// `a` on ties and when it is NaN, `b` when that is NaN. The first selection becomes one `maxps`, which gives `a` for NaN in either.
    fn extreme(&mut self, op: Bin, shape: Type, a: &str, b: &str) -> String {
        let (ty, mask) = (self.ty(shape), self.ty(shape.with_elem(Elem::I1)));
        let chosen = self.extreme_of_numbers(op, shape, a, b);
        let nan = self.temp(&format!("fcmp uno {ty} {b}, {b}"));
        format!("select {mask} {nan}, {ty} {b}, {ty} {chosen}")
    }

    /// The same for numbers: `a` for NaN in either.
    pub(super) fn extreme_of_numbers(&mut self, op: Bin, shape: Type, a: &str, b: &str) -> String {
        let (ty, mask) = (self.ty(shape), self.ty(shape.with_elem(Elem::I1)));
        let compare = if op == Bin::Max { "olt" } else { "ogt" };
        let other = self.temp(&format!("fcmp {compare} {ty} {a}, {b}"));
        self.temp(&format!("select {mask} {other}, {ty} {b}, {ty} {a}"))
    }

    /// One `maxps` for each value but the first, and one comparison for every two: masks of what is ordered are joined by the next comparison.
    pub(super) fn extreme_of_all(&mut self, op: Bin, inst: &Inst) {
        let shape = self.function.ty(inst.args[0]);
        let (ty, mask) = (self.ty(shape), self.ty(shape.with_elem(Elem::I1)));
        let mut values: Vec<String> = inst.args.iter().map(|&arg| self.name(arg)).collect();
        let mut ordered: Option<String> = None;
        for pair in values.chunks(2) {
            let (a, b) = (&pair[0], pair.last().unwrap_or(&pair[0]));
            let here = self.temp(&format!("fcmp ord {ty} {a}, {b}"));
            ordered = Some(ordered.map_or(here.clone(), |before| self.temp(&format!("and {mask} {before}, {here}"))));
        }
        while values.len() > 1 {
            let combine = |pair: &[String]| match pair {
                [a, b] => self.extreme_of_numbers(op, shape, a, b),
                rest => rest.concat(),
            };
            values = values.chunks(2).map(combine).collect();
        }
        let (ordered, nan) = (ordered.unwrap_or_default(), self.splat_text(Type::F32, "0x7FF8000000000000"));
        self.define(inst.results[0], &format!("select {mask} {ordered}, {ty} {}, {ty} {nan}", values.concat()));
    }

    fn integer_extreme(&mut self, name: &str, shape: Type, a: &str, b: &str) -> String {
        let (ty, name) = (self.ty(shape), format!("llvm.{name}.{}", self.suffix(shape)));
        self.intrinsic(&ty, &name, &[format!("{ty} {a}"), format!("{ty} {b}")])
    }

    fn scale(&mut self, shape: Type, a: &str, b: &str) -> String {
        let ty = self.ty(shape);
        let args = [format!("{ty} {a}"), format!("{ty} {b}"), format!("{ty} {a}"), "i16 -1".into(), "i32 4".into()];
        self.intrinsic(&ty, "llvm.x86.avx512.mask.scalef.ps.512", &args)
    }

    /// As floats of 64 bits, whose comparison and selection become one instruction.
    fn pair_extreme(&mut self, op: Bin, shape: Type, a: &str, b: &str) -> String {
        let (ty, mask) = (self.ty(shape), self.ty(shape.with_elem(Elem::I1)));
        let float = ty.replace("i64", "double");
        let a = self.temp(&format!("bitcast {ty} {a} to {float}"));
        let b = self.temp(&format!("bitcast {ty} {b} to {float}"));
        let compare = if op == Bin::PairMin { "olt" } else { "ogt" };
        let first = self.temp(&format!("fcmp {compare} {float} {a}, {b}"));
        let chosen = self.temp(&format!("select {mask} {first}, {float} {a}, {float} {b}"));
        format!("bitcast {float} {chosen} to {ty}")
    }

    fn shift(&mut self, op: Bin, shape: Type, a: &str, b: &str, amount_is_constant: bool) -> String {
        let (ty, elem) = (self.ty(shape), shape.elem().unwrap_or(Elem::I64));
        let name = match op {
            Bin::Shl => "shl",
            Bin::Ashr => "ashr",
            _ => "lshr",
        };
        // An amount of the width or more is poison for LLVM; a constant below it needs no masking, and folding keeps constants small.
        let masked = self.int(shape, elem, elem.bits() as i64 - 1);
        let amount = if amount_is_constant { b.to_string() } else { self.temp(&format!("and {ty} {b}, {masked}")) };
        format!("{name} {ty} {a}, {amount}")
    }

    fn un_text(&mut self, op: Un, shape: Type, a: &str) -> String {
        let (ty, float) = (self.ty(shape), shape.elem() == Some(Elem::F32));
        let (typed, suffix) = (format!("{ty} {a}"), self.suffix(shape));
        match op {
            Un::Neg if float => format!("fneg {typed}"),
            Un::Neg => format!("sub {ty} {}, {a}", if shape.is_vector() { "zeroinitializer" } else { "0" }),
            Un::Abs if float => self.intrinsic(&ty, &format!("llvm.fabs.{suffix}"), &[typed]),
            Un::Abs => self.intrinsic(&ty, &format!("llvm.abs.{suffix}"), &[typed, "i1 false".into()]),
            Un::Sqrt => self.intrinsic(&ty, &format!("llvm.sqrt.{suffix}"), &[typed]),
            Un::TrailingZeros => self.intrinsic(&ty, &format!("llvm.cttz.{suffix}"), &[typed, "i1 false".into()]),
            Un::Not => format!("xor {typed}, {}", self.constant(shape, u64::MAX)),
            _ if !self.module.target.round => self.round_by_hand(op, shape, a),
            Un::Rint => self.intrinsic(&ty, &format!("llvm.rint.{suffix}"), &[typed]),
            Un::Floor => self.intrinsic(&ty, &format!("llvm.floor.{suffix}"), &[typed]),
            Un::Ceil => self.intrinsic(&ty, &format!("llvm.ceil.{suffix}"), &[typed]),
            Un::Trunc => self.intrinsic(&ty, &format!("llvm.trunc.{suffix}"), &[typed]),
        }
    }

    pub(super) fn fma_text(&mut self, shape: Type, names: &[String]) -> String {
        let ty = self.ty(shape);
        if self.module.target.fma {
            let args = names.iter().map(|n| format!("{ty} {n}")).collect::<Vec<_>>();
            return self.intrinsic(&ty, &format!("llvm.fma.{}", self.suffix(shape)), &args);
        }
        // Without the instruction LLVM would call `fmaf` for every lane.
        let product = self.temp(&format!("fmul {ty} {}, {}", names[0], names[1]));
        format!("fadd {ty} {product}, {}", names[2])
    }

    fn cmp_text(&mut self, cmp: Cmp, shape: Type, a: &str, b: &str, signed: bool) -> String {
        let ty = self.ty(shape);
        let float = shape.elem() == Some(Elem::F32);
        let (ordered, sign) = (if cmp == Cmp::Ne { "u" } else { "o" }, if signed { "s" } else { "u" });
        match (float, cmp) {
            (true, _) => format!("fcmp {ordered}{} {ty} {a}, {b}", cmp.mnemonic()),
            (false, Cmp::Eq | Cmp::Ne) => format!("icmp {} {ty} {a}, {b}", cmp.mnemonic()),
            (false, _) => format!("icmp {sign}{} {ty} {a}, {b}", cmp.mnemonic()),
        }
    }

    /// Rounding to integral without the instruction: exact for |x| < 2^23, where the value fits an i32; larger values and NaN are integral
    /// or stay. The sign is put back so that -0.3 rounds to -0.0.
    fn round_by_hand(&mut self, op: Un, shape: Type, a: &str) -> String {
        let (ty, int) = (self.ty(shape), self.ty(shape.with_elem(Elem::I32)));
        let mask = self.ty(shape.with_elem(Elem::I1));
        let (big, one) = (self.float(shape, 8388608.0), self.float(shape, 1.0));
        let bits = self.temp(&format!("bitcast {ty} {a} to {int}"));
        let sign = self.temp(&format!("and {int} {bits}, {}", self.int(shape, Elem::I32, i32::MIN as i64)));
        let clear = self.temp(&format!("and {int} {bits}, {}", self.int(shape, Elem::I32, i32::MAX as i64)));
        let size = self.temp(&format!("bitcast {int} {clear} to {ty}"));
        let rounded = if op == Un::Rint {
            let up = self.temp(&format!("fadd {ty} {size}, {big}"));
            self.temp(&format!("fsub {ty} {up}, {big}"))
        } else {
            let whole = self.temp(&format!("fptosi {ty} {size} to {int}"));
            self.temp(&format!("sitofp {int} {whole} to {ty}"))
        };
        let bits = self.temp(&format!("bitcast {ty} {rounded} to {int}"));
        let bits = self.temp(&format!("or {int} {bits}, {sign}"));
        let mut value = self.temp(&format!("bitcast {int} {bits} to {ty}"));
        if let Some((compare, adjust)) = match op {
            Un::Floor => Some(("ogt", "fsub")),
            Un::Ceil => Some(("olt", "fadd")),
            _ => None,
        } {
            let beyond = self.temp(&format!("fcmp {compare} {ty} {value}, {a}"));
            let moved = self.temp(&format!("{adjust} {ty} {value}, {one}"));
            let chosen = self.temp(&format!("select {mask} {beyond}, {ty} {moved}, {ty} {value}"));
            let bits = self.temp(&format!("bitcast {ty} {chosen} to {int}"));
            let bits = self.temp(&format!("or {int} {bits}, {sign}"));
            value = self.temp(&format!("bitcast {int} {bits} to {ty}"));
        }
        let small = self.temp(&format!("fcmp olt {ty} {size}, {big}"));
        format!("select {mask} {small}, {ty} {value}, {ty} {a}")
    }
}
