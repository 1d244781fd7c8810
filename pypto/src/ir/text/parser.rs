//! From text to a program: the cursor over tokens, programs, functions and parameters.
//!
//! Values of a function are collected before its operations are read, so that a type may name a value that is defined
//! later in the text; whether that is allowed is for the verifier to say.

use std::collections::HashMap;

use super::ParseError;
use super::lexer::{Located, Token, tokens};
use crate::ir::{
    Block, Direction, FileId, Function, FunctionKind, Loc, Param, ParamRole, Program, Type, ValueId, ValueInfo,
};

/// Deepest nesting of regions; deeper text is refused instead of exhausting the stack.
const DEEPEST: usize = 200;

/// Parses a program. `file` names the text: it is the place of whatever has no location of its own.
///
/// # Errors
/// Where the text is not one: with line and column. Text that parses may still be an invalid program; see the verifier.
pub fn parse(text: &str, file: &str) -> Result<Program, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, file: FileId::intern(file), scope: Scope::default() };
    parser.program()
}

/// The values of the function being parsed.
#[derive(Default)]
pub(super) struct Scope {
    names: HashMap<String, ValueId>,
    pub values: Vec<Option<ValueInfo>>,
    pub depth: usize,
}

pub(super) struct Parser {
    tokens: Vec<Located>,
    at: usize,
    file: FileId,
    pub scope: Scope,
}

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        // The last token is `End`, and stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        let Located { line, column, .. } = self.tokens[self.at];
        Err(ParseError { message: message.into(), line, column })
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T, ParseError> {
        let found = match self.peek() {
            Token::Value(name) => format!("`%{name}`"),
            Token::Ident(name) => format!("`{name}`"),
            Token::Text(_) => "a text".to_owned(),
            Token::Int(n) => format!("`{n}`"),
            Token::Float(x) => format!("`{x}`"),
            Token::Punct(c) => format!("`{c}`"),
            Token::End => "the end of the text".to_owned(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = *self.peek() == Token::Punct(c);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn punct(&mut self, c: char) -> Result<(), ParseError> {
        if self.eat(c) { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Ident(w) if w == word);
        if found {
            self.next();
        }
        found
    }

    fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn int(&mut self) -> Result<i64, ParseError> {
        match *self.peek() {
            Token::Int(n) => {
                self.next();
                Ok(n)
            }
            _ => self.expected("an integer"),
        }
    }

    /// An integer of a smaller type.
    pub(super) fn small<T: TryFrom<i64>>(&mut self) -> Result<T, ParseError> {
        match *self.peek() {
            Token::Int(n) => match T::try_from(n) {
                Ok(small) => {
                    self.next();
                    Ok(small)
                }
                Err(_) => self.error(format!("`{n}` is out of range")),
            },
            _ => self.expected("an integer"),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, ParseError> {
        match self.peek() {
            Token::Text(_) => match self.next() {
                Token::Text(text) => Ok(text),
                _ => self.expected("a text"),
            },
            _ => self.expected("a text"),
        }
    }

    /// `elements` separated by commas, up to `close`, which is eaten.
    pub(super) fn list<T>(
        &mut self,
        close: char,
        mut element: impl FnMut(&mut Parser) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut list = Vec::new();
        while !self.eat(close) {
            if !list.is_empty() {
                self.punct(',')?;
            }
            list.push(element(self)?);
        }
        Ok(list)
    }

    /// The place of the next token in the text itself.
    pub(super) fn here(&self) -> Loc {
        let Located { line, column, .. } = self.tokens[self.at];
        Loc::new(self.file, line, column, line, column.saturating_add(1))
    }

    /// `loc("file" 1:2 3:4)` or the same with another keyword.
    pub(super) fn loc(&mut self, keyword: &str) -> Result<Option<Loc>, ParseError> {
        if !self.eat_word(keyword) {
            return Ok(None);
        }
        self.punct('(')?;
        let file = FileId::intern(&self.text()?);
        let (line, _, column) = (self.small()?, self.punct(':')?, self.small()?);
        let (end_line, _, end_column) = (self.small()?, self.punct(':')?, self.small()?);
        self.punct(')')?;
        Ok(Some(Loc::new(file, line, column, end_line, end_column)))
    }

    fn program(&mut self) -> Result<Program, ParseError> {
        self.keyword("program")?;
        let name = self.text()?;
        self.keyword("entry")?;
        let entry_at = self.at;
        let entry = self.symbol()?;
        let mut functions: Vec<Function> = Vec::new();
        while *self.peek() != Token::End {
            functions.push(self.function()?);
        }
        match functions.iter().position(|f| f.name == entry) {
            Some(entry) => Ok(Program { name, functions, entry }),
            None => {
                self.at = entry_at;
                self.error(format!("the program has no function `{entry}`"))
            }
        }
    }

    fn symbol(&mut self) -> Result<String, ParseError> {
        self.punct('@')?;
        match self.next() {
            Token::Ident(name) | Token::Text(name) => Ok(name),
            // The word is a number to the lexer.
            Token::Float(x) if x == f64::INFINITY => Ok("inf".to_owned()),
            _ => self.error("expected a function's name before this"),
        }
    }

    fn function(&mut self) -> Result<Function, ParseError> {
        let here = self.here();
        self.keyword("fn")?;
        let name = self.symbol()?;
        let kind = FunctionKind::ALL.into_iter().find(|k| self.eat_word(k.name()));
        let Some(kind) = kind else { return self.expected("a function kind") };
        self.collect_definitions()?;
        self.punct('(')?;
        let params = self.list(')', Parser::param)?;
        let loc = self.loc("loc")?.unwrap_or(here);
        self.punct('{')?;
        let body = self.block_body()?;
        let mut values = Vec::new();
        for value in std::mem::take(&mut self.scope.values) {
            match value {
                Some(info) => values.push(info),
                None => return self.error("a definition stands where none is allowed in the function before"),
            }
        }
        Ok(Function { name, kind, params, values, body, loc })
    }

    /// Numbers every `%name:` and `%name "text":` up to the end of the function.
    fn collect_definitions(&mut self) -> Result<(), ParseError> {
        self.scope = Scope::default();
        for at in self.at..self.tokens.len() {
            let is = |offset: usize, c: char| self.tokens.get(at + offset).is_some_and(|t| t.token == Token::Punct(c));
            match &self.tokens[at].token {
                Token::Ident(word) if word == "fn" => break,
                Token::Value(name) => {
                    let named = matches!(self.tokens.get(at + 1).map(|t| &t.token), Some(Token::Text(_)));
                    if !(is(1, ':') || (named && is(2, ':'))) {
                        continue;
                    }
                    let id = ValueId(self.scope.values.len() as u32);
                    if self.scope.names.insert(name.clone(), id).is_some() {
                        let message = format!("`%{name}` is defined twice");
                        self.at = at;
                        return self.error(message);
                    }
                    self.scope.values.push(None);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn value(&mut self) -> Result<ValueId, ParseError> {
        let Token::Value(name) = self.peek() else { return self.expected("a value") };
        match self.scope.names.get(name) {
            Some(id) => {
                let id = *id;
                self.next();
                Ok(id)
            }
            None => self.error(format!("`%{name}` is not defined in this function")),
        }
    }

    /// `%4 "name": type at(..)`; the place defaults to `loc`, which may be filled in later with [`Parser::relocate`].
    pub(super) fn definition(&mut self, loc: Loc) -> Result<ValueId, ParseError> {
        let id = self.value()?;
        let name = if let Token::Text(_) = self.peek() { Some(self.text()?) } else { None };
        self.punct(':')?;
        let ty = self.ty()?;
        let loc = self.loc("at")?.unwrap_or(loc);
        self.scope.values[id.0 as usize] = Some(ValueInfo { ty, name, loc });
        Ok(id)
    }

    /// Moves values that were given the place `from` for want of a better one.
    pub(super) fn relocate(&mut self, values: &[ValueId], from: Loc, to: Loc) {
        for value in values {
            if let Some(info) = &mut self.scope.values[value.0 as usize]
                && info.loc == from
            {
                info.loc = to;
            }
        }
    }

    fn param(&mut self) -> Result<Param, ParseError> {
        let here = self.here();
        let value = self.definition(here)?;
        let Some(direction) = Direction::ALL.into_iter().find(|d| self.eat_word(d.name())) else {
            return self.expected("`in`, `out` or `inout`");
        };
        let returned = self.eat_word("returned");
        let info = self.scope.values[value.0 as usize].as_ref();
        let is_tensor = info.is_some_and(|i| matches!(i.ty, Type::Tensor(_)));
        let default_name = info.and_then(|i| i.name.clone()).unwrap_or_default();
        let role = self.role()?.unwrap_or(if is_tensor { ParamRole::Tensor } else { ParamRole::Scalar });
        let name = if self.eat_word("as") { self.text()? } else { default_name };
        let loc = self.loc("loc")?.unwrap_or(here);
        self.relocate(&[value], here, loc);
        Ok(Param { value, name, direction, role, returned, loc })
    }

    fn role(&mut self) -> Result<Option<ParamRole>, ParseError> {
        if self.eat_word("tensor") {
            return Ok(Some(ParamRole::Tensor));
        }
        if self.eat_word("scalar") {
            return Ok(Some(ParamRole::Scalar));
        }
        let extent = self.eat_word("extent");
        if !extent && !self.eat_word("stride") {
            return Ok(None);
        }
        self.punct('(')?;
        let (param, _, axis) = (self.small()?, self.punct(',')?, self.small()?);
        self.punct(')')?;
        Ok(Some(if extent { ParamRole::Extent { param, axis } } else { ParamRole::Stride { param, axis } }))
    }

    /// Operations and `yield`, up to the closing brace, which is eaten.
    pub(super) fn block_body(&mut self) -> Result<Block, ParseError> {
        if self.scope.depth >= DEEPEST {
            return self.error(format!("regions are nested deeper than {DEEPEST}"));
        }
        self.scope.depth += 1;
        let mut block = Block::default();
        while !self.eat('}') {
            if self.eat_word("yield") {
                block.yields.push(self.value()?);
                while self.eat(',') {
                    block.yields.push(self.value()?);
                }
                self.punct('}')?;
                break;
            }
            block.ops.push(self.op()?);
        }
        self.scope.depth -= 1;
        Ok(block)
    }
}
