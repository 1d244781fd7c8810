//! Parsing of operations, attributes and regions.

use super::ParseError;
use super::lexer::Token;
use super::parser::Parser;
use crate::ir::{Attr, AttrKey, Attrs, Block, DType, Loc, LoopKind, Op, Round};
use crate::ops::OpKind;

impl Parser {
    /// One operation with its regions.
    pub(super) fn op(&mut self) -> Result<Op, ParseError> {
        let here = self.here();
        let mut results = Vec::new();
        if let Token::Value(_) = self.peek() {
            results.push(self.definition(here)?);
            while self.eat(',') {
                results.push(self.definition(here)?);
            }
            self.punct('=')?;
        }
        let kind = self.op_kind()?;
        self.punct('(')?;
        let operands = self.list(')', Parser::value)?;
        let attrs = self.attrs()?;
        let loc = self.loc("loc")?.unwrap_or(here);
        self.relocate(&results, here, loc);
        let mut regions = Vec::new();
        while self.eat_word("do") {
            regions.push(self.region(loc)?);
        }
        Ok(Op { kind, operands, attrs, regions, results, loc })
    }

    fn op_kind(&mut self) -> Result<OpKind, ParseError> {
        let Token::Ident(word) = self.peek() else { return self.expected("an operation") };
        match OpKind::from_name(word) {
            Some(kind) => {
                self.next();
                Ok(kind)
            }
            None => self.error(format!("there is no operation `{word}`")),
        }
    }

    fn region(&mut self, loc: Loc) -> Result<Block, ParseError> {
        self.punct('(')?;
        let args = self.list(')', |p| p.definition(loc))?;
        self.punct('{')?;
        Ok(Block { args, ..self.block_body()? })
    }

    fn attrs(&mut self) -> Result<Attrs, ParseError> {
        let mut attrs = Attrs::new();
        if !self.eat('{') {
            return Ok(attrs);
        }
        let pairs = self.list('}', |p| {
            let Some(key) = AttrKey::ALL.into_iter().find(|k| p.eat_word(k.name())) else {
                return p.expected("an attribute");
            };
            p.punct('=')?;
            Ok((key, p.attr()?))
        })?;
        for (key, value) in pairs {
            if attrs.get(key).is_some() {
                return self.error(format!("attribute `{}` is given twice before this", key.name()));
            }
            attrs.set(key, value);
        }
        Ok(attrs)
    }

    /// The spelling tells the kind of value.
    fn attr(&mut self) -> Result<Attr, ParseError> {
        let word = match self.peek() {
            Token::Int(_) => return self.int().map(Attr::Int),
            Token::Text(_) => return self.text().map(Attr::Text),
            Token::Float(x) => {
                let x = *x;
                self.next();
                return Ok(Attr::Float(x));
            }
            Token::Ident(word) => word.clone(),
            _ => return self.expected("an attribute's value"),
        };
        let attr = match word.as_str() {
            "true" => Attr::Bool(true),
            "false" => Attr::Bool(false),
            "nan" | "pipeline" => return self.attr_with_argument(&word),
            _ => match named_attr(&word) {
                Some(attr) => attr,
                None => return self.expected("an attribute's value"),
            },
        };
        self.next();
        Ok(attr)
    }

    /// `nan(bits)` and `pipeline(stages)`.
    fn attr_with_argument(&mut self, word: &str) -> Result<Attr, ParseError> {
        self.next();
        self.punct('(')?;
        let attr = if word == "nan" {
            let x = f64::from_bits(self.int()? as u64);
            if !x.is_nan() {
                return self.error("the bits before this are not those of a NaN");
            }
            Attr::Float(x)
        } else {
            Attr::Loop(LoopKind::Pipeline(self.small()?))
        };
        self.punct(')')?;
        Ok(attr)
    }
}

/// Element types, roundings and loop kinds have distinct names.
fn named_attr(word: &str) -> Option<Attr> {
    let loop_kind = match word {
        "sequential" => Some(LoopKind::Sequential),
        "auto" => Some(LoopKind::Auto),
        "parallel" => Some(LoopKind::Parallel),
        "unroll" => Some(LoopKind::Unroll),
        "spmd" => Some(LoopKind::Spmd),
        _ => None,
    };
    loop_kind
        .map(Attr::Loop)
        .or_else(|| word.parse::<DType>().ok().map(Attr::DType))
        .or_else(|| word.parse::<Round>().ok().map(Attr::Round))
}
