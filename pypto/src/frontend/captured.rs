//! The form in which the macros embed a function's generic IR, and its decoding.
//!
//! An expansion holds one string of words in prefix order, written by `pypto-macros` (`code.rs` there); the two files
//! must agree. Decoding happens once, at the first use of the function, and takes microseconds. A static of nested
//! structures would need no decoding, but cost rustc 45 ms for a kernel of 17 statements, where the string costs 9.
//!
//! The decoded function lives as long as the process, as the string that it points into does.

use std::str::{FromStr, SplitAsciiWhitespace};
use std::sync::OnceLock;

use super::generic::{
    BinaryOp, Block, Callee, ConstantValue, Dim, ElementType, Expr, ExprKind, Function, Ident, Meta, Param, Pattern,
    Span, Statement, StatementKind, UnaryOp, ValueType,
};
use super::structs::{self, StructParam, StructType};
use crate::ir::{DType, Direction, FunctionKind};

/// A function as its expansion holds it.
pub struct Captured {
    module: &'static str,
    file: &'static str,
    source: &'static str,
    source_line: usize,
    hash: u64,
    words: &'static str,
    callees: &'static [fn() -> Callee],
    constants: &'static [fn() -> ConstantValue],
    computed: &'static [fn(&[i64]) -> ConstantValue],
    structs: &'static [fn() -> &'static StructType],
    function: OnceLock<Function>,
}

impl Captured {
    /// Called by expansions.
    pub const fn new(
        module: &'static str,
        file: &'static str,
        source: &'static str,
        source_line: usize,
        hash: u64,
        words: &'static str,
        callees: &'static [fn() -> Callee],
        constants: &'static [fn() -> ConstantValue],
        computed: &'static [fn(&[i64]) -> ConstantValue],
        structs: &'static [fn() -> &'static StructType],
    ) -> Captured {
        let function = OnceLock::new();
        Captured { module, file, source, source_line, hash, words, callees, constants, computed, structs, function }
    }

    /// The generic IR; decoded at the first call.
    ///
    /// # Panics
    /// Where the words were written by another version of `pypto-macros`, which the equal versions in `Cargo.toml` rule
    /// out.
    pub fn function(&'static self) -> &'static Function {
        self.function.get_or_init(|| {
            let mut reader = Reader { words: self.words.split_ascii_whitespace(), captured: self };
            match reader.function() {
                Ok(function) => function,
                Err(Malformed(what)) => {
                    unreachable!("the expansion in {} does not fit this version of PyPTO: expected {what}", self.file)
                }
            }
        })
    }
}

/// What was expected where the words tell something else.
struct Malformed(&'static str);

type Decoded<T> = Result<T, Malformed>;

struct Reader {
    words: SplitAsciiWhitespace<'static>,
    captured: &'static Captured,
}

impl Reader {
    fn word(&mut self) -> Decoded<&'static str> {
        self.words.next().ok_or(Malformed("another word"))
    }

    fn parse<T: FromStr>(&mut self, what: &'static str) -> Decoded<T> {
        self.word()?.parse().map_err(|_| Malformed(what))
    }

    fn list<T>(&mut self, item: impl Fn(&mut Reader) -> Decoded<T>) -> Decoded<&'static [T]> {
        let count: usize = self.parse("a count")?;
        let items: Vec<T> = (0..count).map(|_| item(self)).collect::<Decoded<_>>()?;
        Ok(Vec::leak(items))
    }

    fn option<T>(&mut self, item: impl Fn(&mut Reader) -> Decoded<T>) -> Decoded<Option<T>> {
        match self.word()? {
            "0" => Ok(None),
            "1" => item(self).map(Some),
            _ => Err(Malformed("0 or 1")),
        }
    }

    fn boolean(&mut self) -> Decoded<bool> {
        self.parse("true or false")
    }

    fn span(&mut self) -> Decoded<Span> {
        let mut number = || self.parse("a line or column");
        Ok(Span { line: number()?, column: number()?, end_line: number()?, end_column: number()? })
    }

    fn ident(&mut self) -> Decoded<Ident> {
        Ok(Ident { name: self.word()?, span: self.span()? })
    }

    /// The inverse of `code::string` in the macros.
    fn string(&mut self) -> Decoded<&'static str> {
        let word = self.word()?.strip_prefix('"').ok_or(Malformed("a string"))?;
        let mut text = String::new();
        let mut rest = word;
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            let code = rest.get(at + 1..at + 7).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            text.push(code.and_then(char::from_u32).ok_or(Malformed("a code point"))?);
            rest = &rest[at + 7..];
        }
        text.push_str(rest);
        Ok(text.leak())
    }

    fn function(&mut self) -> Decoded<Function> {
        let captured = self.captured;
        let (name, kind, type_params) = (self.ident()?, self.kind()?, self.list(Reader::ident)?);
        let (params, structs) = self.params()?;
        Ok(Function {
            name,
            module: captured.module,
            file: captured.file,
            source: captured.source,
            source_line: captured.source_line as u32,
            hash: captured.hash,
            kind,
            type_params,
            params,
            structs,
            metas: self.list(|r| Ok(Meta { name: r.ident()?, default: r.parse("an integer")? }))?,
            output: self.option(Reader::value_type)?,
            body: self.block()?,
            span: self.span()?,
        })
    }

    fn kind(&mut self) -> Decoded<FunctionKind> {
        let name = self.word()?;
        FunctionKind::ALL.into_iter().find(|k| k.name() == name).ok_or(Malformed("a kind of function"))
    }

    /// The parameters, structs flattened, and the structs.
    fn params(&mut self) -> Decoded<(&'static [Param], &'static [StructParam])> {
        let count: usize = self.parse("a count")?;
        let (mut params, mut groups) = (Vec::with_capacity(count), Vec::new());
        for position in 0..count {
            match self.word()? {
                "value" => params.push(self.param()?),
                "struct" => {
                    let ty = self.entry(self.captured.structs)?();
                    let (shared, name, span) = (self.boolean()?, self.ident()?, self.span()?);
                    groups.push(StructParam { name, position, first: params.len(), ty });
                    structs::flatten(name.name, ty, shared, span, &mut params);
                }
                _ => return Err(Malformed("a kind of parameter")),
            }
        }
        if !groups.is_empty() {
            structs::unify_dynamic(&mut params);
        }
        Ok((params.leak(), groups.leak()))
    }

    fn param(&mut self) -> Decoded<Param> {
        Ok(Param {
            name: self.ident()?,
            ty: self.value_type()?,
            ty_span: self.span()?,
            direction: match self.word()? {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => return Err(Malformed("a direction")),
            },
            spec: self.boolean()?,
            shape: self.list(Reader::dim)?,
            field: false,
        })
    }

    fn dim(&mut self) -> Decoded<Dim> {
        match self.word()? {
            "name" => Ok(Dim::Name { name: self.ident()?, dynamic: self.boolean()? }),
            "literal" => Ok(Dim::Literal { extent: self.parse("an extent")?, span: self.span()? }),
            "any" => Ok(Dim::Any { span: self.span()? }),
            _ => Err(Malformed("a dimension")),
        }
    }

    fn element(&mut self) -> Decoded<ElementType> {
        let word = self.word()?;
        match word.strip_prefix('#') {
            Some(index) => index.parse().map(ElementType::Param).map_err(|_| Malformed("a type parameter")),
            None => word.parse().map(ElementType::Known).map_err(|_| Malformed("an element type")),
        }
    }

    fn value_type(&mut self) -> Decoded<ValueType> {
        match self.word()? {
            "tensor" => Ok(ValueType::Tensor { element: self.element()?, rank: self.parse("a rank")? }),
            "tile" => Ok(ValueType::Tile { element: self.element()?, rank: self.parse("a rank")? }),
            "scalar" => Ok(ValueType::Scalar(self.element()?)),
            "tuple" => Ok(ValueType::Tuple(self.list(Reader::value_type)?)),
            _ => Err(Malformed("a type")),
        }
    }

    fn block(&mut self) -> Decoded<Block> {
        Ok(Block {
            statements: self.list(Reader::statement)?,
            result: self.option(Reader::boxed_expr)?,
            span: self.span()?,
        })
    }

    fn statement(&mut self) -> Decoded<Statement> {
        let span = self.span()?;
        let kind = match self.word()? {
            "let" => StatementKind::Let {
                pattern: self.pattern()?,
                ty: self.option(Reader::value_type)?,
                init: self.option(Reader::expr)?,
            },
            "assign" => StatementKind::Assign {
                target: self.ident()?,
                op: self.option(Reader::binary_op)?,
                value: self.expr()?,
            },
            "assignelement" => StatementKind::AssignElement {
                target: self.ident()?,
                index: self.expr()?,
                op: self.option(Reader::binary_op)?,
                value: self.expr()?,
            },
            "expr" => StatementKind::Expr(self.expr()?),
            "for" => StatementKind::For { pattern: self.pattern()?, iterator: self.expr()?, body: self.block()? },
            "while" => StatementKind::While { condition: self.expr()?, body: self.block()? },
            "return" => StatementKind::Return(self.option(Reader::expr)?),
            "assert" => StatementKind::Assert {
                condition: self.expr()?,
                text: self.string()?,
                args: self.list(Reader::expr)?,
                known: self.boolean()?,
            },
            "staticprint" => {
                StatementKind::StaticPrint { pieces: self.list(Reader::string)?, args: self.list(Reader::expr)? }
            }
            "print" => StatementKind::Print { text: self.string()?, args: self.list(Reader::expr)? },
            "checkpoint" => StatementKind::Checkpoint { value: self.expr()?, name: self.string()? },
            "task" => StatementKind::Task {
                name: self.option(Reader::ident)?,
                after: self.list(Reader::ident)?,
                call: self.expr()?,
            },
            _ => return Err(Malformed("a statement")),
        };
        Ok(Statement { kind, span })
    }

    fn pattern(&mut self) -> Decoded<Pattern> {
        match self.word()? {
            "name" => Ok(Pattern::Name { name: self.ident()?, mutable: self.boolean()? }),
            "ignore" => Ok(Pattern::Ignore(self.span()?)),
            "tuple" => Ok(Pattern::Tuple(self.list(Reader::pattern)?, self.span()?)),
            _ => Err(Malformed("a pattern")),
        }
    }

    fn boxed_expr(&mut self) -> Decoded<&'static Expr> {
        Ok(Box::leak(Box::new(self.expr()?)))
    }

    fn boxed_block(&mut self) -> Decoded<&'static Block> {
        Ok(Box::leak(Box::new(self.block()?)))
    }

    fn expr(&mut self) -> Decoded<Expr> {
        let span = self.span()?;
        Ok(Expr { kind: self.expr_kind()?, span })
    }

    fn expr_kind(&mut self) -> Decoded<ExprKind> {
        Ok(match self.word()? {
            "int" => ExprKind::Int(self.parse("an integer")?, self.suffix()?),
            "float" => ExprKind::Float(self.float()?, self.suffix()?),
            "bool" => ExprKind::Bool(self.boolean()?),
            "local" => ExprKind::Local(self.word()?),
            "constant" => ExprKind::Constant { name: self.word()?, value: self.entry(self.captured.constants)? },
            "comptime" => {
                ExprKind::Comptime { value: self.entry(self.captured.computed)?, args: self.list(Reader::ident)? }
            }
            "unary" => ExprKind::Unary(self.unary_op()?, self.boxed_expr()?),
            "binary" => ExprKind::Binary(self.binary_op()?, self.boxed_expr()?, self.boxed_expr()?),
            "if" => ExprKind::If(self.boxed_expr()?, self.boxed_block()?, self.option(Reader::boxed_expr)?),
            "block" => ExprKind::Block(self.boxed_block()?),
            "call" => ExprKind::Call {
                name: self.ident()?,
                callee: self.entry(self.captured.callees)?,
                type_args: self.list(Reader::element)?,
                args: self.list(Reader::expr)?,
            },
            "associated" => ExprKind::Associated {
                ty: self.word()?,
                name: self.ident()?,
                type_args: self.list(Reader::element)?,
                args: self.list(Reader::expr)?,
            },
            "method" => ExprKind::Method {
                receiver: self.boxed_expr()?,
                name: self.ident()?,
                type_args: self.list(Reader::element)?,
                args: self.list(Reader::expr)?,
            },
            "tuple" => ExprKind::Tuple(self.list(Reader::expr)?),
            "array" => ExprKind::Array(self.list(Reader::expr)?),
            "repeat" => ExprKind::Repeat(self.boxed_expr()?, self.boxed_expr()?),
            "index" => ExprKind::Index(self.boxed_expr()?, self.boxed_expr()?),
            "tuplefield" => ExprKind::TupleField(self.boxed_expr()?, self.parse("an index")?),
            "field" => ExprKind::Field(self.boxed_expr()?, self.ident()?),
            "cast" => ExprKind::Cast(self.boxed_expr()?, self.element()?),
            "borrow" => ExprKind::Borrow { mutable: self.boolean()?, value: self.boxed_expr()? },
            "range" => ExprKind::Range(self.boxed_expr()?, self.boxed_expr()?),
            _ => return Err(Malformed("an expression")),
        })
    }

    fn entry<T: Copy>(&mut self, table: &'static [T]) -> Decoded<T> {
        let index: usize = self.parse("an index")?;
        table.get(index).copied().ok_or(Malformed("an index within the table"))
    }

    fn float(&mut self) -> Decoded<f64> {
        u64::from_str_radix(self.word()?, 16).map(f64::from_bits).map_err(|_| Malformed("the bits of a float"))
    }

    fn suffix(&mut self) -> Decoded<Option<DType>> {
        match self.word()? {
            "-" => Ok(None),
            name => name.parse().map(Some).map_err(|_| Malformed("an element type")),
        }
    }

    fn unary_op(&mut self) -> Decoded<UnaryOp> {
        match self.word()? {
            "Neg" => Ok(UnaryOp::Neg),
            "Not" => Ok(UnaryOp::Not),
            _ => Err(Malformed("a prefix operator")),
        }
    }

    fn binary_op(&mut self) -> Decoded<BinaryOp> {
        Ok(match self.word()? {
            "Add" => BinaryOp::Add,
            "Sub" => BinaryOp::Sub,
            "Mul" => BinaryOp::Mul,
            "Div" => BinaryOp::Div,
            "Rem" => BinaryOp::Rem,
            "BitAnd" => BinaryOp::BitAnd,
            "BitOr" => BinaryOp::BitOr,
            "BitXor" => BinaryOp::BitXor,
            "Shl" => BinaryOp::Shl,
            "Shr" => BinaryOp::Shr,
            "Eq" => BinaryOp::Eq,
            "Ne" => BinaryOp::Ne,
            "Lt" => BinaryOp::Lt,
            "Le" => BinaryOp::Le,
            "Gt" => BinaryOp::Gt,
            "Ge" => BinaryOp::Ge,
            "And" => BinaryOp::And,
            "Or" => BinaryOp::Or,
            _ => return Err(Malformed("an infix operator")),
        })
    }
}
