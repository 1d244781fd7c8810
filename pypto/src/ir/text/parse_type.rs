//! Parsing of types and extents.

use super::ParseError;
use super::lexer::Token;
use super::parser::Parser;
use crate::ir::types::contiguous_strides;
use crate::ir::{DType, Extent, TensorType, TileType, Type};

impl Parser {
    /// A type; see [`super`] for the forms.
    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        if self.eat_word("event") {
            Ok(Type::Event)
        } else if self.eat_word("tile") {
            self.tile_type().map(Type::Tile)
        } else if self.eat_word("tensor") {
            self.tensor_type().map(Type::Tensor)
        } else {
            self.dtype().map(Type::Scalar)
        }
    }

    fn dtype(&mut self) -> Result<DType, ParseError> {
        let found = match self.peek() {
            Token::Ident(word) => word.parse::<DType>().ok(),
            _ => None,
        };
        match found {
            Some(dtype) => {
                self.next();
                Ok(dtype)
            }
            None => self.expected("a type"),
        }
    }

    fn element(&mut self) -> Result<DType, ParseError> {
        self.punct('<')?;
        let dtype = self.dtype()?;
        self.punct('>')?;
        Ok(dtype)
    }

    fn tile_type(&mut self) -> Result<TileType, ParseError> {
        let dtype = self.element()?;
        self.punct('[')?;
        let mut dims = Vec::new();
        while !matches!(self.peek(), Token::Punct(';' | ']')) {
            if !dims.is_empty() {
                self.punct(',')?;
            }
            dims.push(self.extent()?);
        }
        let valid = if self.eat(';') {
            let valid = self.list(']', Parser::extent)?;
            if valid.len() != dims.len() {
                return self.error(format!("{} valid extents for {} extents before this", valid.len(), dims.len()));
            }
            valid
        } else {
            self.punct(']')?;
            dims.clone()
        };
        Ok(TileType { dtype, dims, valid })
    }

    fn tensor_type(&mut self) -> Result<TensorType, ParseError> {
        let dtype = self.element()?;
        self.punct('[')?;
        let dims = self.list(']', Parser::extent)?;
        let strides = if self.eat_word("strides") {
            self.punct('[')?;
            self.list(']', Parser::extent)?
        } else {
            match contiguous_strides(&dims) {
                Some(strides) => strides,
                None => return self.error("these extents need explicit strides"),
            }
        };
        if strides.len() != dims.len() {
            return self.error(format!("{} strides for {} extents before this", strides.len(), dims.len()));
        }
        Ok(TensorType { dtype, dims, strides })
    }

    fn extent(&mut self) -> Result<Extent, ParseError> {
        match self.peek() {
            Token::Int(_) => self.int().map(Extent::Const),
            Token::Value(_) => self.value().map(Extent::Value),
            _ => self.expected("an extent"),
        }
    }
}
