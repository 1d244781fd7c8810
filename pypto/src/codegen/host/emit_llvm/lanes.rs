//! Operations across lanes: splats, masks, reductions by halves, transposition.

use super::Emitter;
use crate::codegen::host::lir::{Bin, Elem, Inst, Reduce, Type};

impl Emitter<'_> {
    /// A scalar operand in every lane.
    pub(super) fn splat_text(&mut self, scalar: Type, name: &str) -> String {
        let elem = scalar.elem().unwrap_or(Elem::I64);
        let (ty, text) = (self.ty(Type::Vector(elem)), self.elem(elem));
        let first = self.temp(&format!("insertelement {ty} poison, {text} {name}, i64 0"));
        let lanes = self.lanes();
        self.temp(&format!("shufflevector {ty} {first}, {ty} poison, <{lanes} x i32> zeroinitializer"))
    }

    pub(super) fn splat(&mut self, inst: &Inst) {
        let (ty, scalar) = (self.type_of(inst.results[0]), self.typed(inst.args[0]));
        let first = self.temp(&format!("insertelement {ty} poison, {scalar}, i64 0"));
        let lanes = self.lanes();
        let text = format!("shufflevector {ty} {first}, {ty} poison, <{lanes} x i32> zeroinitializer");
        self.define(inst.results[0], &text);
    }

    pub(super) fn iota(&mut self, inst: &Inst) {
        let ty = self.type_of(inst.results[0]);
        let elem = self.elem(self.function.ty(inst.results[0]).elem().unwrap_or(Elem::I32));
        let numbers = (0..self.lanes()).map(|i| format!("{elem} {i}")).collect::<Vec<_>>().join(", ");
        self.define(inst.results[0], &format!("add {ty} zeroinitializer, <{numbers}>"));
    }

    pub(super) fn extract(&mut self, lane: u32, inst: &Inst) {
        let vector = self.typed(inst.args[0]);
        self.define(inst.results[0], &format!("extractelement {vector}, i64 {lane}"));
    }

    pub(super) fn any(&mut self, inst: &Inst) {
        let (mask, lanes) = (self.typed(inst.args[0]), self.lanes());
        let bits = self.temp(&format!("bitcast {mask} to i{lanes}"));
        self.define(inst.results[0], &format!("icmp ne i{lanes} {bits}, 0"));
    }

    pub(super) fn mask_bits(&mut self, inst: &Inst) {
        let (mask, lanes) = (self.typed(inst.args[0]), self.lanes());
        let bits = self.temp(&format!("bitcast {mask} to i{lanes}"));
        self.define(inst.results[0], &format!("zext i{lanes} {bits} to i64"));
    }

    pub(super) fn swap(&mut self, distance: u32, inst: &Inst) {
        let (ty, name) = (self.type_of(inst.results[0]), self.typed(inst.args[0]));
        let picks = (0..self.lanes()).map(|i| format!("i32 {}", i ^ distance as usize)).collect::<Vec<_>>();
        let text = format!("shufflevector {name}, {ty} poison, <{} x i32> <{}>", picks.len(), picks.join(", "));
        self.define(inst.results[0], &text);
    }

    /// Lanes below `remaining`, which is first brought into 0..=W so that 32 bits hold it.
    pub(super) fn tail_mask(&mut self, inst: &Inst) {
        let (remaining, lanes) = (self.typed(inst.args[0]), self.lanes());
        let call = self.intrinsic("i64", "llvm.smin.i64", &[remaining, format!("i64 {lanes}")]);
        let clipped = self.temp(&call);
        let call = self.intrinsic("i64", "llvm.smax.i64", &[format!("i64 {clipped}"), "i64 0".into()]);
        let clipped = self.temp(&call);
        let count = self.temp(&format!("trunc i64 {clipped} to i32"));
        let counts = self.splat_text(Type::Scalar(Elem::I32), &count);
        let numbers = (0..lanes).map(|i| format!("i32 {i}")).collect::<Vec<_>>().join(", ");
        self.define(inst.results[0], &format!("icmp slt <{lanes} x i32> <{numbers}>, {counts}"));
    }

    pub(super) fn reduce(&mut self, reduce: Reduce, inst: &Inst) {
        let (shape, all) = (self.function.ty(inst.args[0]), self.name(inst.args[0]));
        let is_extreme = matches!(reduce, Reduce::Max | Reduce::Min) && shape.elem() == Some(Elem::F32);
        let text = if is_extreme {
            self.extreme_of_lanes(reduce.bin(), shape, &all)
        } else {
            self.halves(shape, &all, |emitter, lower, upper| {
                let text = emitter.bin_text(reduce.bin(), shape, lower, upper, false);
                emitter.temp(&text)
            })
        };
        self.define(inst.results[0], &text);
    }

    /// The order of maxima and minima matters for NaN alone, which is looked for at once: the steps wait for each other.
    fn extreme_of_lanes(&mut self, op: Bin, shape: Type, all: &str) -> String {
        let (ty, lanes) = (self.ty(shape), self.lanes());
        let first =
            self.halves(shape, all, |emitter, lower, upper| emitter.extreme_of_numbers(op, shape, lower, upper));
        let first = self.temp(&first);
        let nan = self.temp(&format!("fcmp uno {ty} {all}, {all}"));
        let bits = self.temp(&format!("bitcast <{lanes} x i1> {nan} to i{lanes}"));
        let any = self.temp(&format!("icmp ne i{lanes} {bits}, 0"));
        format!("select i1 {any}, float 0x7FF8000000000000, float {first}")
    }

    /// Combines the lower half of the lanes with the upper one until one is left, which the text gives. Lanes that do not count any more are
    /// poison: of lanes that stay what they are, LLVM 22 makes wrong code for AVX-512 where two reductions of integers follow each other.
    fn halves(&mut self, shape: Type, all: &str, mut combine: impl FnMut(&mut Self, &str, &str) -> String) -> String {
        let (ty, lanes, mut vector) = (self.ty(shape), self.lanes(), all.to_owned());
        let mut half = lanes / 2;
        while half >= 1 {
            let pick = |i| if i < half { format!("i32 {}", i + half) } else { "i32 poison".to_owned() };
            let picks = (0..lanes).map(pick).collect::<Vec<_>>().join(", ");
            let upper = self.temp(&format!("shufflevector {ty} {vector}, {ty} poison, <{lanes} x i32> <{picks}>"));
            vector = combine(self, &vector, &upper);
            half /= 2;
        }
        format!("extractelement {ty} {vector}, i64 0")
    }

    /// Picks lanes of two vectors: numbers from W on select from the second.
    fn shuffle(&mut self, ty: &str, a: &str, b: &str, picks: &[usize]) -> String {
        let picks_text = picks.iter().map(|i| format!("i32 {i}")).collect::<Vec<_>>().join(", ");
        self.temp(&format!("shufflevector {ty} {a}, {ty} {b}, <{} x i32> <{picks_text}>", picks.len()))
    }

    /// First 4x4 blocks inside 128-bit parts, by the unpack instructions that every ISA has; then whole parts are exchanged.
    pub(super) fn transpose(&mut self, inst: &Inst) {
        let (ty, lanes) = (self.type_of(inst.results[0]), self.lanes());
        let parts = lanes / 4;
        // columns[j][g]: part l of it is column 4 l + j of rows 4 g .. 4 g + 4.
        let mut columns = vec![Vec::new(); 4];
        for rows in inst.args.chunks(4) {
            let names = rows.iter().map(|&r| self.name(r)).collect::<Vec<_>>();
            for (j, column) in self.transpose_parts(&ty, &names).into_iter().enumerate() {
                columns[j].push(column);
            }
        }
        for (j, groups) in columns.into_iter().enumerate() {
            for (l, row) in self.transpose_blocks(&ty, groups).into_iter().enumerate() {
                debug_assert!(l < parts);
                self.define(inst.results[4 * l + j], &format!("bitcast {ty} {row} to {ty}"));
            }
        }
    }

    fn transpose_parts(&mut self, ty: &str, rows: &[String]) -> [String; 4] {
        let w = self.lanes();
        let pick = |offsets: [usize; 4]| {
            (0..w).map(|i| i / 4 * 4 + offsets[i % 4] % 4 + if offsets[i % 4] >= 4 { w } else { 0 }).collect::<Vec<_>>()
        };
        let (low, high) = (pick([0, 4, 1, 5]), pick([2, 6, 3, 7]));
        let (low_pair, high_pair) = (pick([0, 1, 4, 5]), pick([2, 3, 6, 7]));
        let ab = [self.shuffle(ty, &rows[0], &rows[1], &low), self.shuffle(ty, &rows[0], &rows[1], &high)];
        let cd = [self.shuffle(ty, &rows[2], &rows[3], &low), self.shuffle(ty, &rows[2], &rows[3], &high)];
        [
            self.shuffle(ty, &ab[0], &cd[0], &low_pair),
            self.shuffle(ty, &ab[0], &cd[0], &high_pair),
            self.shuffle(ty, &ab[1], &cd[1], &low_pair),
            self.shuffle(ty, &ab[1], &cd[1], &high_pair),
        ]
    }

    /// Transposes a square of 128-bit parts: part l of result g is part g of operand l.
    fn transpose_blocks(&mut self, ty: &str, mut rows: Vec<String>) -> Vec<String> {
        let (w, parts) = (self.lanes(), rows.len());
        let mut step = 1;
        while step < parts {
            for i in (0..parts).filter(|i| i & step == 0) {
                let (a, b) = (rows[i].clone(), rows[i | step].clone());
                let pick = |second: bool| {
                    let lane = |k: usize| {
                        let (part, within) = (k / 4, k % 4);
                        match (part & step != 0, second) {
                            (false, false) => k,
                            (true, false) => w + (part ^ step) * 4 + within,
                            (false, true) => (part | step) * 4 + within,
                            (true, true) => w + k,
                        }
                    };
                    (0..w).map(lane).collect::<Vec<_>>()
                };
                rows[i] = self.shuffle(ty, &a, &b, &pick(false));
                rows[i | step] = self.shuffle(ty, &a, &b, &pick(true));
            }
            step *= 2;
        }
        rows
    }
}
