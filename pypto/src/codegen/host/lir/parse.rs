//! Reads the text form of LIR. The result is not verified; call [`verify`](super::verify) on it.

use super::fold::truncate;
use super::module::{Block, Function, Inst, Module, Value};
use super::op::Op;
use super::types::{Elem, Type};
use crate::codegen::host::cpu::{Isa, Target};
use std::collections::HashMap;

/// Why a LIR text could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected or found.
    pub message: String,
}

/// Reads what [`print_module`](super::print_module) wrote.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut lines = Lines::new(text);
    let head = lines.next().ok_or_else(|| lines.error("empty module"))?;
    let isa = head.strip_prefix("lir target ").and_then(Isa::from_name);
    let isa = isa.ok_or_else(|| lines.error("expected `lir target <name>`"))?;
    let mut module = Module::new(Target::of(isa));
    while let Some(line) = lines.next() {
        module.functions.push(FunctionParser::new(&mut lines).function(line)?);
    }
    Ok(module)
}

/// Nonempty lines, trimmed, with their numbers.
struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        Lines { lines: text.lines().enumerate(), number: 0 }
    }

    fn next(&mut self) -> Option<&'a str> {
        let (number, line) = self.lines.by_ref().find(|(_, line)| !line.trim().is_empty())?;
        self.number = number + 1;
        Some(line.trim())
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.number, message: message.into() }
    }
}

struct FunctionParser<'l, 'a> {
    lines: &'l mut Lines<'a>,
    function: Function,
    names: HashMap<&'a str, Value>,
    constants: HashMap<(Type, u64), Value>,
}

impl<'l, 'a> FunctionParser<'l, 'a> {
    fn new(lines: &'l mut Lines<'a>) -> Self {
        let function = Function {
            name: String::new(),
            is_kernel: false,
            values: Vec::new(),
            results: Vec::new(),
            body: Block::default(),
        };
        FunctionParser { lines, function, names: HashMap::new(), constants: HashMap::new() }
    }

    fn function(mut self, head: &'a str) -> Result<Function, ParseError> {
        let (kind, rest) =
            head.split_once(" @").ok_or_else(|| self.lines.error("expected `kernel @` or `helper @`"))?;
        self.function.is_kernel = match kind {
            "kernel" => true,
            "helper" => false,
            _ => return Err(self.lines.error(format!("unknown function kind `{kind}`"))),
        };
        let parts = rest.split_once('(').and_then(|(name, rest)| Some((name, rest.split_once(") -> (")?)));
        let (name, (params, results)) = parts.ok_or_else(|| self.lines.error("expected a signature"))?;
        let results = results.strip_suffix(") {").ok_or_else(|| self.lines.error("expected `) {`"))?;
        self.function.name = name.into();
        self.function.results = list(results).map(|text| self.ty(text)).collect::<Result<_, _>>()?;
        self.function.body.params = self.definitions(params)?;
        let (mut body, end) = self.block()?;
        body.params = std::mem::take(&mut self.function.body.params);
        if end != "}" {
            return Err(self.lines.error("expected `}`"));
        }
        self.function.body = body;
        Ok(self.function)
    }

    /// Instructions up to and with `yield`, and the line that closes the block.
    fn block(&mut self) -> Result<(Block, &'a str), ParseError> {
        let mut block = Block::default();
        loop {
            let line = self.lines.next().ok_or_else(|| self.lines.error("unexpected end of text"))?;
            if let Some(yields) = line.strip_prefix("yield") {
                block.yields = self.uses(yields)?;
                let end = self.lines.next().ok_or_else(|| self.lines.error("unexpected end of text"))?;
                return Ok((block, end));
            }
            let inst = if line.ends_with('{') { self.control(line)? } else { self.simple(line)? };
            block.insts.push(inst);
        }
    }

    fn simple(&mut self, line: &'a str) -> Result<Inst, ParseError> {
        let (results, rest) = line.split_once(" = ").unwrap_or(("", line));
        let (mnemonic, args) = rest.split_once(' ').unwrap_or((rest, ""));
        let (op, args) = (self.op(mnemonic)?, self.uses(args)?);
        Ok(Inst { results: self.definitions(results)?, op, args, blocks: Vec::new() })
    }

    fn control(&mut self, line: &'a str) -> Result<Inst, ParseError> {
        let parts = line.strip_suffix(" {").and_then(|l| l.strip_suffix(')')).and_then(|l| l.split_once('('));
        let (head, mut params) = parts.ok_or_else(|| self.lines.error("expected `(parameters) {`"))?;
        let (mnemonic, args) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
        let (op, args) = (self.op(mnemonic)?, self.uses(args)?);
        let mut blocks = Vec::new();
        loop {
            let params_values = self.definitions(params)?;
            let (mut block, end) = self.block()?;
            block.params = params_values;
            blocks.push(block);
            let rest = end.strip_prefix('}').ok_or_else(|| self.lines.error("expected `}`"))?.trim();
            if let Some(next) = rest.strip_prefix('(') {
                params = next.strip_suffix(") {").ok_or_else(|| self.lines.error("expected `) {`"))?;
                continue;
            }
            let results = rest.strip_prefix("-> ").unwrap_or(rest);
            return Ok(Inst { results: self.definitions(results)?, op, args, blocks });
        }
    }

    fn op(&self, mnemonic: &str) -> Result<Op, ParseError> {
        Op::from_mnemonic(mnemonic).ok_or_else(|| self.lines.error(format!("unknown operation `{mnemonic}`")))
    }

    fn definitions(&mut self, text: &'a str) -> Result<Vec<Value>, ParseError> {
        list(text)
            .map(|item| {
                let (name, ty) = item.split_once(": ").ok_or_else(|| self.lines.error("expected `%name: type`"))?;
                let ty = self.ty(ty)?;
                let value = self.function.new_value(ty);
                match self.names.insert(name, value) {
                    None => Ok(value),
                    Some(_) => Err(self.lines.error(format!("`{name}` is defined twice"))),
                }
            })
            .collect()
    }

    fn uses(&mut self, text: &'a str) -> Result<Vec<Value>, ParseError> {
        list(text).map(|item| self.value(item)).collect()
    }

    fn value(&mut self, text: &'a str) -> Result<Value, ParseError> {
        if text.starts_with('%') {
            let known = self.names.get(text).copied();
            return known.ok_or_else(|| self.lines.error(format!("`{text}` is not defined")));
        }
        let (number, ty) = text.split_once(':').ok_or_else(|| self.lines.error(format!("unknown operand `{text}`")))?;
        let ty = self.ty(ty)?;
        let bits =
            bits(ty, number).ok_or_else(|| self.lines.error(format!("`{number}` is no constant of type {ty}")))?;
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return Ok(value);
        }
        let value = self.function.new_value(ty);
        self.function.values[value.0 as usize].constant = Some(bits);
        self.constants.insert((ty, bits), value);
        Ok(value)
    }

    fn ty(&self, text: &str) -> Result<Type, ParseError> {
        if text == "ptr" {
            return Ok(Type::Ptr);
        }
        let vector = text.strip_prefix("v<").and_then(|t| t.strip_suffix('>'));
        let elem = Elem::from_name(vector.unwrap_or(text))
            .ok_or_else(|| self.lines.error(format!("unknown type `{text}`")))?;
        Ok(if vector.is_some() { Type::Vector(elem) } else { Type::Scalar(elem) })
    }
}

/// The items of a comma-separated list.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn bits(ty: Type, text: &str) -> Option<u64> {
    let elem = ty.elem().unwrap_or(Elem::I64);
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    match elem {
        Elem::F32 => text.parse::<f32>().ok().map(|v| v.to_bits() as u64),
        Elem::F16 | Elem::BF16 => None,
        _ => text.parse::<i64>().ok().map(|v| truncate(elem, v as u64)),
    }
}
