//! From a program to text. Prints whatever it is given, also what the verifier would reject.

use std::fmt::{self, Write};

use super::canonical::definition_order;
use crate::ir::types::contiguous_strides;
use crate::ir::{Attr, Attrs, Block, Extent, Function, Loc, LoopKind, Op, Param, ParamRole, Program, Type, ValueId};

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Places of operations and values; needed to get an equal program back.
    pub locations: bool,
}

impl PrintOptions {
    /// Everything: the text parses back to an equal program.
    pub const FULL: PrintOptions = PrintOptions { locations: true };
    /// Without places, for reading.
    pub const BRIEF: PrintOptions = PrintOptions { locations: false };
}

/// The text of a program.
pub fn print(program: &Program, options: PrintOptions) -> String {
    let entry = program.functions.get(program.entry).map_or("", |f| f.name.as_str());
    let mut out = format!("program {} entry {}\n", quoted(&program.name), symbol(entry));
    for function in &program.functions {
        out.push('\n');
        out.push_str(&print_function(function, options));
    }
    out
}

/// The text of a function.
pub fn print_function(function: &Function, options: PrintOptions) -> String {
    let mut numbers = vec![None; function.values.len()];
    for (number, value) in definition_order(function).into_iter().enumerate() {
        if let Some(slot) = numbers.get_mut(value.0 as usize) {
            *slot = Some(number);
        }
    }
    let mut printer = Printer { function, numbers, options, out: String::new() };
    printer.function();
    printer.out
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self, PrintOptions::BRIEF))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(self, PrintOptions::BRIEF))
    }
}

struct Printer<'a> {
    function: &'a Function,
    /// Per value its number in the text.
    numbers: Vec<Option<usize>>,
    options: PrintOptions,
    out: String,
}

impl Printer<'_> {
    fn function(&mut self) {
        let function = self.function;
        self.out += &format!("fn {} {} (", symbol(&function.name), function.kind.name());
        for (i, param) in function.params.iter().enumerate() {
            self.out += if i > 0 { ", " } else { "" };
            self.param(param);
        }
        self.out += ")";
        self.loc("loc", function.loc);
        self.out += " {\n";
        self.block_body(&function.body, 1);
        self.out += "}\n";
    }

    fn param(&mut self, param: &Param) {
        self.definition(param.value, param.loc);
        self.out += " ";
        self.out += param.direction.name();
        if param.returned {
            self.out += " returned";
        }
        match param.role {
            ParamRole::Tensor if self.is_tensor(param.value) => {}
            ParamRole::Scalar if !self.is_tensor(param.value) => {}
            ParamRole::Tensor => self.out += " tensor",
            ParamRole::Scalar => self.out += " scalar",
            ParamRole::Extent { param, axis } => self.out += &format!(" extent({param}, {axis})"),
            ParamRole::Stride { param, axis } => self.out += &format!(" stride({param}, {axis})"),
        }
        let name = self.function.values.get(param.value.0 as usize).and_then(|v| v.name.as_ref());
        if name != Some(&param.name) {
            self.out += &format!(" as {}", quoted(&param.name));
        }
        self.loc("loc", param.loc);
    }

    fn is_tensor(&self, value: ValueId) -> bool {
        self.function.values.get(value.0 as usize).is_some_and(|v| v.ty.as_tensor().is_some())
    }

    /// `%4 "name": type`, with the place where it is not `expected`.
    fn definition(&mut self, value: ValueId, expected: Loc) {
        self.value(value);
        let Some(info) = self.function.values.get(value.0 as usize) else { return };
        if let Some(name) = &info.name {
            self.out += &format!(" {}", quoted(name));
        }
        self.out += ": ";
        self.ty(&info.ty);
        if info.loc != expected {
            self.loc("at", info.loc);
        }
    }

    fn definitions(&mut self, values: &[ValueId], expected: Loc) {
        for (i, value) in values.iter().enumerate() {
            self.out += if i > 0 { ", " } else { "" };
            self.definition(*value, expected);
        }
    }

    fn value(&mut self, value: ValueId) {
        match self.numbers.get(value.0 as usize).copied().flatten() {
            Some(number) => self.out += &format!("%{number}"),
            None => self.out += &format!("%undefined{}", value.0),
        }
    }

    fn values(&mut self, values: &[ValueId]) {
        for (i, value) in values.iter().enumerate() {
            self.out += if i > 0 { ", " } else { "" };
            self.value(*value);
        }
    }

    fn extents(&mut self, extents: &[Extent]) {
        for (i, extent) in extents.iter().enumerate() {
            self.out += if i > 0 { ", " } else { "" };
            match extent {
                Extent::Const(n) => self.out += &n.to_string(),
                Extent::Value(v) => self.value(*v),
            }
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Scalar(dtype) => self.out += dtype.name(),
            Type::Event => self.out += "event",
            Type::Tile(t) => {
                self.out += &format!("tile<{}>[", t.dtype);
                self.extents(&t.dims);
                if !t.is_full() {
                    self.out += "; ";
                    self.extents(&t.valid);
                }
                self.out += "]";
            }
            Type::Tensor(t) => {
                self.out += &format!("tensor<{}>[", t.dtype);
                self.extents(&t.dims);
                self.out += "]";
                if contiguous_strides(&t.dims).as_ref() != Some(&t.strides) {
                    self.out += " strides [";
                    self.extents(&t.strides);
                    self.out += "]";
                }
            }
        }
    }

    fn loc(&mut self, keyword: &str, loc: Loc) {
        if self.options.locations {
            let Loc { file, line, column, end_line, end_column } = loc;
            let file = quoted(file.name());
            self.out += &format!(" {keyword}({file} {line}:{column} {end_line}:{end_column})");
        }
    }

    fn block_body(&mut self, block: &Block, indent: usize) {
        for op in &block.ops {
            self.indent(indent);
            self.op(op, indent);
        }
        if !block.yields.is_empty() {
            self.indent(indent);
            self.out += "yield ";
            self.values(&block.yields);
            self.out += "\n";
        }
    }

    fn indent(&mut self, indent: usize) {
        (0..indent).for_each(|_| self.out += "  ");
    }

    fn op(&mut self, op: &Op, indent: usize) {
        if !op.results.is_empty() {
            self.definitions(&op.results, op.loc);
            self.out += " = ";
        }
        self.out += op.kind.name();
        self.out += "(";
        self.values(&op.operands);
        self.out += ")";
        self.attrs(&op.attrs);
        self.loc("loc", op.loc);
        for region in &op.regions {
            self.out += " do (";
            self.definitions(&region.args, op.loc);
            self.out += ") {\n";
            self.block_body(region, indent + 1);
            self.indent(indent);
            self.out += "}";
        }
        self.out += "\n";
    }

    fn attrs(&mut self, attrs: &Attrs) {
        for (i, (key, value)) in attrs.iter().enumerate() {
            self.out += if i > 0 { ", " } else { " {" };
            self.out += key.name();
            self.out += " = ";
            match value {
                Attr::Int(n) => self.out += &n.to_string(),
                Attr::Float(x) => self.out += &float_text(*x),
                Attr::Bool(b) => self.out += &b.to_string(),
                Attr::Text(text) => self.out += &quoted(text),
                Attr::DType(dtype) => self.out += dtype.name(),
                Attr::Round(round) => self.out += round.name(),
                Attr::Loop(kind) => self.out += &loop_text(*kind),
            }
        }
        if attrs.iter().next().is_some() {
            self.out += "}";
        }
    }
}

/// A float so that its bits come back: decimal, `inf`, `-inf` or `nan(bits)`.
fn float_text(x: f64) -> String {
    if x.is_nan() { format!("nan({:#x})", x.to_bits()) } else { format!("{x:?}") }
}

fn loop_text(kind: LoopKind) -> String {
    match kind {
        LoopKind::Sequential => "sequential".to_owned(),
        LoopKind::Auto => "auto".to_owned(),
        LoopKind::Parallel => "parallel".to_owned(),
        LoopKind::Pipeline(stages) => format!("pipeline({stages})"),
        LoopKind::Unroll => "unroll".to_owned(),
        LoopKind::Spmd => "spmd".to_owned(),
    }
}

/// A function's name: bare where it is a plain identifier.
fn symbol(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { format!("@{name}") } else { format!("@{}", quoted(name)) }
}

/// Text in quotes; quotes, backslashes and control characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
