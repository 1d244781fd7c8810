//! The text form of LIR: one value a line, types on definitions, constants written in place.

use super::module::{Block, Function, Inst, Module, Value};
use super::types::{Elem, Type};
use std::fmt::Write;

/// The text of a module; [`parse_module`](super::parse_module) reads it back.
pub fn print_module(module: &Module) -> String {
    let mut out = format!("lir target {}\n", module.target.isa.name());
    for function in &module.functions {
        out.push('\n');
        out.push_str(&print_function(function));
    }
    out
}

/// The text of one function.
pub fn print_function(function: &Function) -> String {
    let mut printer = Printer { function, names: vec![None; function.values.len()], next: 0, out: String::new() };
    printer.function();
    printer.out
}

struct Printer<'a> {
    function: &'a Function,
    /// Numbers in order of definition, so that text does not depend on how the function was built.
    names: Vec<Option<u32>>,
    next: u32,
    out: String,
}

impl Printer<'_> {
    fn function(&mut self) {
        let kind = if self.function.is_kernel { "kernel" } else { "helper" };
        let params = self.definitions(&self.function.body.params);
        let results = self.function.results.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
        let _ = writeln!(self.out, "{kind} @{}({params}) -> ({results}) {{", self.function.name);
        self.block(&self.function.body, 1);
        self.out.push_str("}\n");
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for inst in &block.insts {
            self.inst(inst, depth);
        }
        let yields = self.uses(&block.yields);
        let _ = writeln!(
            self.out,
            "{:width$}yield{}{yields}",
            "",
            if yields.is_empty() { "" } else { " " },
            width = 2 * depth
        );
    }

    fn inst(&mut self, inst: &Inst, depth: usize) {
        // Operands are named before results, as the text is read.
        let args = self.uses(&inst.args);
        let mnemonic = inst.op.mnemonic();
        let head = if inst.blocks.is_empty() { self.definitions(&inst.results) } else { String::new() };
        let (equals, space) = (if head.is_empty() { "" } else { " = " }, if args.is_empty() { "" } else { " " });
        let _ = write!(self.out, "{:width$}{head}{equals}{mnemonic}{space}{args}", "", width = 2 * depth);
        for block in &inst.blocks {
            let params = self.definitions(&block.params);
            let _ = writeln!(self.out, " ({params}) {{");
            self.block(block, depth + 1);
            let _ = write!(self.out, "{:width$}}}", "", width = 2 * depth);
        }
        // Results of control flow are named after what is inside.
        if !inst.blocks.is_empty() && !inst.results.is_empty() {
            let results = self.definitions(&inst.results);
            let _ = write!(self.out, " -> {results}");
        }
        self.out.push('\n');
    }

    fn definitions(&mut self, values: &[Value]) -> String {
        let named = values.iter().map(|&value| {
            self.names[value.0 as usize] = Some(self.next);
            self.next += 1;
            format!("%{}: {}", self.next - 1, self.function.ty(value))
        });
        named.collect::<Vec<_>>().join(", ")
    }

    fn uses(&self, values: &[Value]) -> String {
        values.iter().map(|&value| self.name(value)).collect::<Vec<_>>().join(", ")
    }

    fn name(&self, value: Value) -> String {
        let data = self.function.values[value.0 as usize];
        match (data.constant, self.names[value.0 as usize]) {
            (Some(bits), _) => format!("{}:{}", constant_text(data.ty, bits), data.ty),
            (None, Some(number)) => format!("%{number}"),
            (None, None) => format!("%undefined{}", value.0),
        }
    }
}

/// A constant as a decimal number; NaN and 16-bit floats as their bits.
fn constant_text(ty: Type, bits: u64) -> String {
    match ty.elem() {
        Some(Elem::F32) => {
            let value = f32::from_bits(bits as u32);
            if value.is_nan() { format!("{bits:#x}") } else { format!("{value:?}") }
        }
        Some(e) if e.is_float() => format!("{bits:#x}"),
        Some(Elem::I1) => bits.to_string(),
        Some(e) => super::fold::signed(e, bits).to_string(),
        None => format!("{bits:#x}"),
    }
}
