//! The generic IR: what an attribute macro captures of a function at compile time.
//!
//! It follows the syntax of the accepted Rust subset, with spans on every node. Extents are names, element types may be
//! type parameters; names are already resolved by rustc where only rustc can do it: callees (through [`Callable`]),
//! constants of the enclosing module, and element types. Instantiation turns it into [`crate::ir`] for given shapes.

use super::structs::StructParam;
use crate::ir::{DType, Direction, FileId, FunctionKind, Loc, Round};

/// Lines and columns count from 1, the end column is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

impl Span {
    /// The place in a file.
    pub fn loc(self, file: FileId) -> Loc {
        Loc::new(file, self.line, self.column, self.end_line, self.end_column)
    }
}

/// A name with its place.
#[derive(Clone, Copy, Debug)]
pub struct Ident {
    pub name: &'static str,
    pub span: Span,
}

/// An annotated function.
#[derive(Debug)]
pub struct Function {
    pub name: Ident,
    /// `module_path!()` of the function.
    pub module: &'static str,
    /// File as rustc names it.
    pub file: &'static str,
    /// The function's text, verbatim from the `fn` keyword or its attributes on, for rendering when the file is gone.
    pub source: &'static str,
    /// Line at which `source` starts.
    pub source_line: u32,
    /// Hash of the tokens; part of every specialization key.
    pub hash: u64,
    pub kind: FunctionKind,
    /// Names of type parameters, all bounded by `Element`.
    pub type_params: &'static [Ident],
    /// The parameters, structs flattened.
    pub params: &'static [Param],
    /// The parameters that are structs, in order.
    pub structs: &'static [StructParam],
    pub metas: &'static [Meta],
    /// Type of the returned value, where the function returns one.
    pub output: Option<ValueType>,
    pub body: Block,
    pub span: Span,
}

impl Function {
    /// The number of parameters as written.
    pub fn arity(&self) -> usize {
        self.params.iter().filter(|p| !p.field).count() + self.structs.len()
    }

    /// Whether an extent of that name is declared `dyn` by any parameter.
    pub fn is_dynamic(&self, extent: &str) -> bool {
        let dims = self.params.iter().flat_map(|p| p.shape);
        dims.into_iter().any(|d| matches!(d, Dim::Name { name, dynamic: true } if name.name == extent))
    }
}

/// A parameter of the signature.
#[derive(Debug)]
pub struct Param {
    pub name: Ident,
    pub ty: ValueType,
    /// Span of the type.
    pub ty_span: Span,
    pub direction: Direction,
    /// `#[spec]`: a scalar whose value is part of the key.
    pub spec: bool,
    /// `#[shape(..)]`, one entry a dimension; empty without the attribute.
    pub shape: &'static [Dim],
    /// Whether it is a field of a struct parameter: its extents are no variables of the body.
    pub field: bool,
}

/// An entry of `#[shape(..)]`.
#[derive(Clone, Copy, Debug)]
pub enum Dim {
    /// A name bound to the extent, and whether the extent stays out of the key.
    Name { name: Ident, dynamic: bool },
    /// A literal contract.
    Literal { extent: i64, span: Span },
    /// `_`: no name, no contract.
    Any { span: Span },
}

impl Dim {
    /// The entry's place.
    pub fn span(&self) -> Span {
        match self {
            Dim::Name { name, .. } => name.span,
            Dim::Literal { span, .. } | Dim::Any { span } => *span,
        }
    }
}

/// A compile-time integer of `meta(..)` with its default.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    pub name: Ident,
    pub default: i64,
}

/// An element type: known, or a type parameter by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    Known(DType),
    Param(usize),
}

impl ElementType {
    /// The element type for given type arguments; `f32` where an argument is missing, which callers check first.
    pub fn resolve(self, type_args: &[DType]) -> DType {
        match self {
            ElementType::Known(dtype) => dtype,
            ElementType::Param(index) => type_args.get(index).copied().unwrap_or(DType::F32),
        }
    }
}

/// A type that the language has values of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Tensor { element: ElementType, rank: usize },
    Tile { element: ElementType, rank: usize },
    Scalar(ElementType),
    Tuple(&'static [ValueType]),
}

/// Statements and the value of a block.
#[derive(Debug)]
pub struct Block {
    pub statements: &'static [Statement],
    /// The trailing expression, where the block's value is used: bodies of loops, of functions without a result and of
    /// `if` statements end in a statement instead.
    pub result: Option<&'static Expr>,
    pub span: Span,
}

/// A statement.
#[derive(Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// Kinds of statements.
#[derive(Debug)]
pub enum StatementKind {
    Let {
        pattern: Pattern,
        ty: Option<ValueType>,
        /// `None` for `let x;`.
        init: Option<Expr>,
    },
    /// `target = value` or `target op= value`; the target is a local variable.
    Assign {
        target: Ident,
        op: Option<BinaryOp>,
        value: Expr,
    },
    /// `target[index] = value` or `target[index] op= value`; the target is a local array.
    AssignElement {
        target: Ident,
        index: Expr,
        op: Option<BinaryOp>,
        value: Expr,
    },
    Expr(Expr),
    For {
        pattern: Pattern,
        iterator: Expr,
        body: Block,
    },
    While {
        condition: Expr,
        body: Block,
    },
    /// `return value;` at the end of the function.
    Return(Option<Expr>),
    /// `assert!(condition, "message")` and its siblings.
    Assert {
        condition: Expr,
        /// The message, with placeholders that have no names.
        text: &'static str,
        /// The values of the placeholders.
        args: &'static [Expr],
        /// `static_assert!`: the condition must be known at specialization.
        known: bool,
    },
    /// `static_print!("text {}", value)`: text around the values, one piece more than there are values.
    StaticPrint {
        pieces: &'static [&'static str],
        args: &'static [Expr],
    },
    /// `print!("text {}", value)` and `println!`: a text with placeholders that have no names, and their values.
    Print {
        text: &'static str,
        args: &'static [Expr],
    },
    /// `checkpoint!(value, "name")`.
    Checkpoint {
        value: Expr,
        name: &'static str,
    },
    /// `#[task(name, after = [..])] call(..);`
    Task {
        name: Option<Ident>,
        after: &'static [Ident],
        call: Expr,
    },
}

/// What `let` and `for` bind.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    Name {
        name: Ident,
        mutable: bool,
    },
    /// `_`
    Ignore(Span),
    Tuple(&'static [Pattern], Span),
}

/// An expression.
#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Debug)]
pub enum ExprKind {
    /// An integer literal with its suffix, if it has one.
    Int(i64, Option<DType>),
    /// A float literal with its suffix, if it has one.
    Float(f64, Option<DType>),
    Bool(bool),
    Str(&'static str),
    /// A local variable, parameter, extent or meta parameter.
    Local(&'static str),
    /// A constant of the surrounding Rust code, resolved by rustc.
    Constant {
        name: &'static str,
        value: fn() -> ConstantValue,
    },
    /// `comptime!(expression)`: Rust code that runs at specialization, on extents and meta parameters.
    Comptime {
        value: fn(&[i64]) -> ConstantValue,
        /// The variables that it is called with.
        args: &'static [Ident],
    },
    Unary(UnaryOp, &'static Expr),
    Binary(BinaryOp, &'static Expr, &'static Expr),
    /// `condition`, then-block, else-expression (a block or another `if`).
    If(&'static Expr, &'static Block, Option<&'static Expr>),
    Block(&'static Block),
    /// A call of a free function, resolved by rustc.
    Call {
        name: Ident,
        callee: fn() -> Callee,
        type_args: &'static [ElementType],
        args: &'static [Expr],
    },
    /// `Type::name(..)` of a language type, an element type or a type parameter: `Tile::zeros`, `Tensor::temp`,
    /// `f32::from(x)`. The type arguments are those of the type, then those of the function.
    Associated {
        ty: &'static str,
        name: Ident,
        type_args: &'static [ElementType],
        args: &'static [Expr],
    },
    Method {
        receiver: &'static Expr,
        name: Ident,
        type_args: &'static [ElementType],
        args: &'static [Expr],
    },
    Tuple(&'static [Expr]),
    Array(&'static [Expr]),
    /// `[value; LENGTH]` with a constant.
    Repeat(&'static Expr, &'static Expr),
    /// `base[index]`
    Index(&'static Expr, &'static Expr),
    /// `base.0`
    TupleField(&'static Expr, usize),
    /// `base.name`
    Field(&'static Expr, Ident),
    /// `value as T`
    Cast(&'static Expr, ElementType),
    /// `&value` or `&mut value`
    Borrow {
        mutable: bool,
        value: &'static Expr,
    },
    /// `lower..upper`
    Range(&'static Expr, &'static Expr),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Neg,
    Not,
}

/// Infix operators, also of compound assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `&&` on scalars.
    And,
    /// `||` on scalars.
    Or,
}

/// A constant's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantValue {
    Int(i64, DType),
    Float(f64, DType),
    Bool(bool),
    /// A rounding mode, the argument of `cast_with`.
    Round(Round),
    /// An element type, to compare with another.
    DType(DType),
    Array(Vec<ConstantValue>),
    Tuple(Vec<ConstantValue>),
}

/// Constants that a kernel may name; the conversion gives them to the generic IR.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot use a constant of type `{Self}`",
    label = "named in a kernel",
    note = "constants in kernels are integers, floats, `bool`, `Round` and `DType`, arrays and tuples of them"
)]
pub trait IntoConstant {
    /// The constant as data.
    fn into_constant(self) -> ConstantValue;
}

/// What a callee path names.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function of the language, by name: `tiles`, `matmul`, ...
    Intrinsic(&'static str),
    /// An annotated function.
    Function(&'static Function),
}

/// What a callee stands for that has no companion type: a plain Rust function. It is not [`Callable`], so that rustc
/// rejects the call with the message of that trait.
#[doc(hidden)]
pub enum PlainFunction {}

/// Implemented by the type of the same name that stands beside every callable function, so that rustc resolves paths,
/// re-exports and `use .. as ..` for the generic IR.
#[diagnostic::on_unimplemented(
    message = "a kernel can only call functions of PyPTO",
    label = "this calls a plain Rust function",
    note = "annotate the callee with `#[pypto::function(inline)]`, or call it before the kernel and pass the result"
)]
pub trait Callable {
    /// What the path stands for.
    fn callee() -> Callee;
}

macro_rules! integer_constants {
    ($($t:ty => $dtype:ident),*) => { $(
        impl IntoConstant for $t {
            fn into_constant(self) -> ConstantValue {
                ConstantValue::Int(self as i64, DType::$dtype)
            }
        }
    )* };
}

integer_constants!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, usize => I64, isize => I64);

impl<T: IntoConstant, const N: usize> IntoConstant for [T; N] {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Array(self.into_iter().map(T::into_constant).collect())
    }
}

macro_rules! tuple_constants {
    ($(($($T:ident $part:ident),+))*) => { $(
        impl<$($T: IntoConstant),+> IntoConstant for ($($T,)+) {
            fn into_constant(self) -> ConstantValue {
                let ($($part,)+) = self;
                ConstantValue::Tuple(vec![$($part.into_constant()),+])
            }
        }
    )* };
}

tuple_constants! { (A a, B b) (A a, B b, C c) (A a, B b, C c, D d) }

impl IntoConstant for Round {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Round(self)
    }
}

impl IntoConstant for DType {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::DType(self)
    }
}

impl IntoConstant for f32 {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Float(f64::from(self), DType::F32)
    }
}

impl IntoConstant for half::f16 {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Float(self.to_f64(), DType::F16)
    }
}

impl IntoConstant for half::bf16 {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Float(self.to_f64(), DType::BF16)
    }
}

impl IntoConstant for bool {
    fn into_constant(self) -> ConstantValue {
        ConstantValue::Bool(self)
    }
}
