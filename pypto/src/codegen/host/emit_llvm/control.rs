//! Loops and branches.

use super::Emitter;
use crate::codegen::host::lir::{Block, Inst, Value};
use std::fmt::Write;

impl Emitter<'_> {
    fn number(&mut self) -> usize {
        self.blocks += 1;
        self.blocks
    }

    fn label(&mut self, label: &str) {
        let _ = writeln!(self.out, "{label}:");
        self.current = label.into();
    }

    fn phi(&mut self, value: Value, edges: &[(Value, &str)]) {
        let edges =
            edges.iter().map(|(v, block)| format!("[ {}, %{block} ]", self.name(*v))).collect::<Vec<_>>().join(", ");
        let ty = self.type_of(value);
        self.define(value, &format!("phi {ty} {edges}"));
    }

    fn body(&mut self, block: &Block) {
        for inst in &block.insts {
            self.inst(inst);
        }
    }

    pub(super) fn for_loop(&mut self, inst: &Inst) {
        let id = self.number();
        let (head, latch, done) = (format!("loop{id}"), format!("latch{id}"), format!("done{id}"));
        let (lo, hi, step) = (inst.args[0], inst.args[1], inst.args[2]);
        let (init, block) = (&inst.args[3..], &inst.blocks[0]);
        let before = self.current.clone();
        let runs = matches!((self.function.constant(lo), self.function.constant(hi)), (Some(l), Some(h)) if (l as i64) < h as i64);
        if runs {
            self.line(&format!("br label %{head}"));
        } else {
            let guard = self.temp(&format!("icmp slt i64 {}, {}", self.name(lo), self.name(hi)));
            self.line(&format!("br i1 {guard}, label %{head}, label %{done}"));
        }
        self.label(&head);
        let (index, next) = (self.name(block.params[0]), format!("%next{id}"));
        self.line(&format!("{index} = phi i64 [ {}, %{before} ], [ {next}, %{latch} ]", self.name(lo)));
        for (i, &param) in block.params[1..].iter().enumerate() {
            self.phi(param, &[(init[i], &before), (block.yields[i], &latch)]);
        }
        self.body(block);
        self.line(&format!("br label %{latch}"));
        self.label(&latch);
        self.line(&format!("{next} = add nsw i64 {index}, {}", self.name(step)));
        let again = self.temp(&format!("icmp slt i64 {next}, {}", self.name(hi)));
        self.line(&format!("br i1 {again}, label %{head}, label %{done}"));
        self.label(&done);
        for (i, &result) in inst.results.iter().enumerate() {
            match runs {
                true => self.phi(result, &[(block.yields[i], &latch)]),
                false => self.phi(result, &[(init[i], &before), (block.yields[i], &latch)]),
            }
        }
    }

    pub(super) fn if_else(&mut self, inst: &Inst) {
        let id = self.number();
        let (then, otherwise, join) = (format!("then{id}"), format!("else{id}"), format!("join{id}"));
        let condition = self.typed(inst.args[0]);
        self.line(&format!("br {condition}, label %{then}, label %{otherwise}"));
        let mut ends = Vec::new();
        for (label, block) in [then, otherwise].iter().zip(&inst.blocks) {
            self.label(label);
            self.body(block);
            self.line(&format!("br label %{join}"));
            ends.push(self.current.clone());
        }
        self.label(&join);
        for (i, &result) in inst.results.iter().enumerate() {
            self.phi(result, &[(inst.blocks[0].yields[i], &ends[0]), (inst.blocks[1].yields[i], &ends[1])]);
        }
    }

    pub(super) fn while_loop(&mut self, inst: &Inst) {
        let id = self.number();
        let (head, body, latch, done) =
            (format!("test{id}"), format!("body{id}"), format!("again{id}"), format!("end{id}"));
        let (test, block) = (&inst.blocks[0], &inst.blocks[1]);
        let before = self.current.clone();
        self.line(&format!("br label %{head}"));
        self.label(&head);
        for (i, &param) in test.params.iter().enumerate() {
            self.phi(param, &[(inst.args[i], &before), (block.yields[i], &latch)]);
        }
        self.body(test);
        let condition = self.typed(test.yields[0]);
        let exit = self.current.clone();
        self.line(&format!("br {condition}, label %{body}, label %{done}"));
        self.label(&body);
        self.body(block);
        self.line(&format!("br label %{latch}"));
        self.label(&latch);
        self.line(&format!("br label %{head}"));
        self.label(&done);
        for (i, &result) in inst.results.iter().enumerate() {
            self.phi(result, &[(test.params[i], &exit)]);
        }
    }

    /// A failure leaves the kernel: what follows may rely on the condition, as an access relies on its offset being inside.
    pub(super) fn fail(&mut self, site: u32, inst: &Inst) {
        let id = self.number();
        let (condition, status) = (self.typed(inst.args[0]), self.typed(inst.args[1]));
        self.line(&format!("br {condition}, label %fail{id}, label %go{id}"));
        self.label(&format!("fail{id}"));
        self.line(&format!("store i32 {site}, {status}, align 4"));
        for (position, &value) in inst.args[2..].iter().enumerate() {
            let slot = self.temp(&format!("getelementptr inbounds i8, {status}, i64 {}", 16 + 8 * position));
            let value = self.typed(value);
            self.line(&format!("store {value}, ptr {slot}, align 8"));
        }
        self.line("ret void");
        self.label(&format!("go{id}"));
    }

    pub(super) fn report(&mut self, site: u32, inst: &Inst) {
        let (words, status) = (self.typed(inst.args[0]), self.name(inst.args[1]));
        let slot = self.temp(&format!("getelementptr inbounds i8, ptr {status}, i64 8"));
        let take = self.temp(&format!("load ptr, ptr {slot}, align 8"));
        self.line(&format!("call void {take}(ptr {status}, i32 {site}, {words})"));
    }
}
