//! Reads `.pto` text: the part of the assembler's grammar that the printer writes, and nothing else.
//!
//! It accepts what the assembler accepts of it, and refuses what that refuses: names that are not defined, results whose
//! type is not that of the operands, addresses in a file without, and the reverse. [`super::check`] has the rules.

use std::collections::HashMap;

use super::check;
use super::lexer::{ReadError, Token, TokenKind, tokens};
use super::types::Ty;
use super::{Core, Function, Inst, Module, Place, Region, Value};
use crate::ir::FileId;

pub(super) type Read<T> = Result<T, ReadError>;

/// Whether tiles have addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The assembler places tiles: no `alloc_tile` has an address.
    Two,
    /// Every `alloc_tile` has one.
    Three,
}

/// Reads and checks a file.
///
/// # Errors
/// The first thing that the assembler would not accept, with its line.
pub fn read(text: &str, level: Level) -> Read<Module> {
    let mut reader =
        Reader { tokens: tokens(text)?, at: 0, scope: HashMap::new(), function: empty(), lines: Vec::new() };
    let module = reader.module(level)?;
    Ok(module)
}

fn empty() -> Function {
    Function { name: String::new(), core: Core::Vector, params: Vec::new(), values: Vec::new(), body: Vec::new() }
}

pub(super) struct Reader {
    tokens: Vec<Token>,
    at: usize,
    /// Names that are in scope.
    pub(super) scope: HashMap<String, Value>,
    pub(super) function: Function,
    /// Lines of instructions, in the order in which they were read.
    lines: Vec<usize>,
}

impl Reader {
    // ---- words ----

    pub(super) fn error(&self, message: &str) -> ReadError {
        let line = self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].line;
        ReadError { line, message: message.to_owned() }
    }

    pub(super) fn peek(&self) -> &TokenKind {
        &self.tokens[self.at.min(self.tokens.len() - 1)].kind
    }

    pub(super) fn next(&mut self) -> TokenKind {
        let kind = self.peek().clone();
        self.at += 1;
        kind
    }

    pub(super) fn is_symbol(&self, c: char) -> bool {
        *self.peek() == TokenKind::Symbol(c)
    }

    pub(super) fn skip_symbol(&mut self, c: char) -> bool {
        let found = self.is_symbol(c);
        self.at += usize::from(found);
        found
    }

    pub(super) fn symbol(&mut self, c: char) -> Read<()> {
        match self.next() {
            TokenKind::Symbol(found) if found == c => Ok(()),
            other => Err(self.error(&format!("`{other}` where `{c}` stands"))),
        }
    }

    pub(super) fn word(&mut self, what: &str) -> Read<String> {
        match self.next() {
            TokenKind::Word(word) => Ok(word),
            other => Err(self.error(&format!("`{other}` where {what} stands"))),
        }
    }

    pub(super) fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(word) if word == wanted)
    }

    pub(super) fn expect(&mut self, words: &[&str]) -> Read<()> {
        for wanted in words {
            let found = self.word(&format!("`{wanted}`"))?;
            if found != *wanted {
                return Err(self.error(&format!("`{found}` where `{wanted}` stands")));
            }
        }
        Ok(())
    }

    pub(super) fn integer_of(&self, text: &str) -> Read<i64> {
        text.parse().map_err(|_| self.error(&format!("`{text}` is no integer")))
    }

    pub(super) fn integer(&mut self) -> Read<i64> {
        match self.next() {
            TokenKind::Number(n) => self.integer_of(&n),
            other => Err(self.error(&format!("`{other}` where an integer stands"))),
        }
    }

    // ---- values ----

    pub(super) fn use_value(&mut self) -> Read<Value> {
        match self.next() {
            TokenKind::Value(name) => {
                self.scope.get(&name).copied().ok_or_else(|| self.error(&format!("`%{name}` is not defined here")))
            }
            other => Err(self.error(&format!("`{other}` where a value stands"))),
        }
    }

    pub(super) fn name(&mut self) -> Read<String> {
        match self.next() {
            TokenKind::Value(name) if !name.is_empty() => Ok(name),
            other => Err(self.error(&format!("`{other}` where a name for a value stands"))),
        }
    }

    pub(super) fn define(&mut self, name: String, ty: Ty) -> Read<Value> {
        if self.function.values.iter().any(|v| v.name == name) {
            return Err(self.error(&format!("`%{name}` is defined twice")));
        }
        let value = self.function.add(name.clone(), ty);
        self.scope.insert(name, value);
        Ok(value)
    }

    /// Values between the given brackets.
    pub(super) fn values(&mut self, open: char, close: char) -> Read<Vec<Value>> {
        self.symbol(open)?;
        let mut values = Vec::new();
        while !self.is_symbol(close) {
            if !values.is_empty() {
                self.symbol(',')?;
            }
            values.push(self.use_value()?);
        }
        self.symbol(close)?;
        Ok(values)
    }

    /// `: T, T`, which must be the types of the values.
    pub(super) fn typed(&mut self, values: &[Value]) -> Read<()> {
        for (n, value) in values.iter().enumerate() {
            self.symbol(if n == 0 { ':' } else { ',' })?;
            let ty = self.ty()?;
            if ty != *self.function.ty(*value) {
                let name = self.function.name_of(*value).to_owned();
                return Err(self.error(&format!("`%{name}` has another type than is stated")));
            }
        }
        Ok(())
    }

    // ---- structure ----

    pub(super) fn module(&mut self, level: Level) -> Read<Module> {
        self.expect(&["module", "attributes"])?;
        self.symbol('{')?;
        self.expect(&["pto.target_arch"])?;
        self.symbol('=')?;
        let TokenKind::Text(arch) = self.next() else { return Err(self.error("the architecture is a text")) };
        if crate::target::Target::named(&arch).is_none() {
            return Err(self.error(&format!("`{arch}` is no architecture")));
        }
        self.symbol('}')?;
        self.symbol('{')?;
        let mut module = Module { arch, functions: Vec::new() };
        while !self.is_symbol('}') {
            self.scope.clear();
            self.lines.clear();
            self.function = empty();
            self.read_function()?;
            let function = std::mem::replace(&mut self.function, empty());
            check::function(&function, &module.arch, level).map_err(|(position, message)| ReadError {
                line: position.and_then(|p| self.lines.get(p)).copied().unwrap_or(1),
                message,
            })?;
            module.functions.push(function);
        }
        self.symbol('}')?;
        match self.next() {
            TokenKind::End => Ok(module),
            other => Err(self.error(&format!("`{other}` behind the module"))),
        }
    }

    pub(super) fn read_function(&mut self) -> Read<()> {
        self.expect(&["func.func"])?;
        let name = self.word("the function's name")?;
        let name = name.strip_prefix('@').ok_or_else(|| self.error("a function's name starts with `@`"))?;
        self.function.name = name.to_owned();
        self.symbol('(')?;
        while !self.is_symbol(')') {
            if !self.function.params.is_empty() {
                self.symbol(',')?;
            }
            let name = self.name()?;
            self.symbol(':')?;
            let ty = self.ty()?;
            let param = self.define(name, ty)?;
            self.function.params.push(param);
        }
        self.symbol(')')?;
        self.expect(&["attributes"])?;
        self.symbol('{')?;
        self.expect(&["pto.kernel_kind"])?;
        self.symbol('=')?;
        self.expect(&["#pto.kernel_kind"])?;
        self.symbol('<')?;
        let core = self.word("`cube` or `vector`")?;
        let cores = [Core::Cube, Core::Vector];
        let found = cores.into_iter().find(|c| c.name() == core);
        self.function.core = found.ok_or_else(|| self.error(&format!("`{core}` is no kind of kernel")))?;
        self.symbol('>')?;
        self.symbol('}')?;
        self.symbol('{')?;
        self.function.body = self.body()?;
        self.expect(&["return"])?;
        self.symbol('}')
    }

    pub(super) fn body(&mut self) -> Read<Vec<Inst>> {
        let mut body = Vec::new();
        while !self.is_symbol('}') && !self.is_word("return") && !self.is_word("scf.yield") {
            let position = self.lines.len();
            self.lines.push(self.tokens[self.at.min(self.tokens.len() - 1)].line);
            let kind = self.inst()?;
            let place = self.place()?;
            debug_assert!(self.lines.len() > position);
            body.push(Inst { kind, place });
        }
        Ok(body)
    }

    /// A body in braces with what it yields; its names are not visible behind it.
    pub(super) fn region(&mut self) -> Read<Region> {
        let outer = self.scope.clone();
        self.symbol('{')?;
        let body = self.body()?;
        let mut yields = Vec::new();
        if self.is_word("scf.yield") {
            self.next();
            yields.push(self.use_value()?);
            while self.skip_symbol(',') {
                yields.push(self.use_value()?);
            }
            self.typed(&yields)?;
        }
        self.symbol('}')?;
        self.scope = outer;
        Ok(Region { body, yields })
    }

    pub(super) fn place(&mut self) -> Read<Option<Place>> {
        if !self.is_word("loc") {
            return Ok(None);
        }
        self.next();
        self.symbol('(')?;
        let TokenKind::Text(file) = self.next() else { return Err(self.error("a place starts with a file name")) };
        self.symbol(':')?;
        let line = self.integer()?;
        self.symbol(':')?;
        let column = self.integer()?;
        self.symbol(')')?;
        let number = |n: i64| u32::try_from(n).unwrap_or(0);
        Ok(Some(Place { file: FileId::intern(&file), line: number(line), column: number(column) }))
    }
}
