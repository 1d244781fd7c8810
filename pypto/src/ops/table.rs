//! The op table. This file is one table: a row declares an operation once, and the op kinds, names, type rules, the
//! verifier, printer, parser, user methods, documentation and generated tests are driven by it.
//!
//! A row: name, class, operand names, dtypes, effect, assembler mnemonic, error bound, and documentation. The class
//! decides the type rule and how the operation is lowered; see [`Class`].

use crate::ir::DType;

/// Sets of element types that an operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypes {
    /// Every element type.
    Any,
    /// All but `bool`.
    Number,
    /// `f16`, `bf16`, `f32`.
    Float,
    /// Signed numbers: signed integers and floats.
    Signed,
    /// Integers of either sign.
    Integer,
    /// Integers and `bool`.
    Bits,
    /// `bool` only.
    Bool,
    /// What `matmul` multiplies: floats, and integers of at most 32 bits.
    Matmul,
    /// The operation takes no element type.
    NoDType,
}

impl DTypes {
    /// Whether the set holds `dtype`.
    pub const fn contains(self, dtype: DType) -> bool {
        match self {
            DTypes::Any => true,
            DTypes::Number => !matches!(dtype, DType::Bool),
            DTypes::Float => dtype.is_float(),
            DTypes::Signed => dtype.is_float() || dtype.is_signed_integer(),
            DTypes::Integer => dtype.is_integer(),
            DTypes::Bits => dtype.is_integer() || matches!(dtype, DType::Bool),
            DTypes::Bool => matches!(dtype, DType::Bool),
            DTypes::Matmul => dtype.is_float() || (dtype.is_integer() && dtype.size() <= 4),
            DTypes::NoDType => false,
        }
    }

    /// The members, in declaration order of [`DType`].
    pub fn members(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |d| self.contains(*d))
    }
}

/// What an operation is: decides its type rule, its place in fusion and its lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A constant scalar; the value is an attribute.
    Constant,
    /// One operand, same shape and dtype. Scalars and tiles.
    Unary,
    /// Two operands of one dtype, broadcast against each other (scalars, and extents of 1). Scalars and tiles.
    Binary,
    /// As `Binary`, with a `bool` result.
    Compare,
    /// `(mask, a, b)`: a `bool` and two of one dtype, all broadcast.
    Select,
    /// One operand, another dtype: attributes `dtype` and `round`.
    Cast,
    /// One tile to extent 1 along the last dimension.
    RowReduce,
    /// One tile to extent 1 along the last but one dimension.
    ColReduce,
    /// As `RowReduce`, with an `i32` index as result.
    RowArg,
    /// As `ColReduce`, with an `i32` index as result.
    ColArg,
    /// A tile out of scalars; its extents are in the result type.
    Create,
    /// A tile rearranged, cut, joined or re-typed in its extents.
    Layout,
    /// Elements of the last dimension chosen, placed or ordered by values.
    Permute,
    /// A product of matrices.
    Matmul,
    /// Moves data between a tensor and a tile.
    Transfer,
    /// One element of a tensor or tile.
    Element,
    /// A tensor as a value: allocation and views.
    Tensor,
    /// A call of a function of the program, or a task.
    Call,
    /// Structured control flow.
    Control,
    /// A run-time check.
    Check,
    /// Values shown to whoever observes the run.
    Report,
}

/// What an operation does besides computing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: may be removed, repeated or moved.
    Pure,
    /// Reads tensor memory.
    Reads,
    /// Writes tensor memory, perhaps after reading it.
    Writes,
    /// Has the effects of its regions or of its callee.
    Nested,
    /// May stop the kernel with an error.
    Fails,
    /// Shows values, those of tensors among them, to whoever observes the run: stays, in order.
    Reports,
}

/// The declaration of an operation.
#[derive(Debug)]
pub struct OpInfo {
    pub kind: OpKind,
    /// The name in the IR text; also the method or function in the language where there is one.
    pub name: &'static str,
    pub class: Class,
    /// Names of the operands; a last name ending in `...` stands for any number.
    pub operands: &'static [&'static str],
    pub dtypes: DTypes,
    pub effect: Effect,
    /// Assembler mnemonic for accelerator targets, where the operation has one.
    pub mnemonic: Option<&'static str>,
    /// The largest error of a result in f32, in units in the last place of the exact one; `None` where results are exact, or rounded as
    /// the row says. Tests measure it over every f32. Results in f16 and bf16 are those of f32, rounded once.
    pub ulps: Option<f32>,
    /// Semantics, first line a summary.
    pub doc: &'static str,
}

macro_rules! ops {
    ($( $(#[doc = $doc:literal])* $kind:ident = $name:literal $class:ident ($($operand:literal),*) $dtypes:ident $effect:ident $($mnemonic:literal)? $(within $ulps:literal)?; )*) => {
        /// The kind of an operation: a row of the op table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum OpKind { $( $(#[doc = $doc])* $kind, )* }

        impl OpKind {
            /// Every operation, in table order.
            pub const ALL: &'static [OpKind] = &[ $(OpKind::$kind),* ];

            /// The operation's declaration.
            pub const fn info(self) -> &'static OpInfo {
                const TABLE: &[OpInfo] = &[ $( OpInfo {
                    kind: OpKind::$kind,
                    name: $name,
                    class: Class::$class,
                    operands: &[$($operand),*],
                    dtypes: DTypes::$dtypes,
                    effect: Effect::$effect,
                    mnemonic: ops!(@option $($mnemonic)?),
                    ulps: ops!(@option $($ulps)?),
                    doc: concat!($($doc, "\n"),*),
                } ),* ];
                &TABLE[self as usize]
            }
        }
    };
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
}

ops! {
    // ---- scalars and elementwise ----
    /// A scalar constant: attributes `value` and `dtype`.
    Constant = "constant" Constant () Any Pure;
    /// Sum. Integers wrap.
    Add = "add" Binary ("a", "b") Number Pure "pto.tadd" within 0.5;
    /// Difference. Integers wrap.
    Sub = "sub" Binary ("a", "b") Number Pure "pto.tsub" within 0.5;
    /// Product. Integers wrap.
    Mul = "mul" Binary ("a", "b") Number Pure "pto.tmul" within 0.5;
    /// Quotient. Integers truncate towards zero; division by zero, and the smallest value by -1, stop the kernel.
    Div = "div" Binary ("a", "b") Number Fails "pto.tdiv" within 0.5;
    /// Remainder with the sign of the dividend, as Rust's `%`. An integer divisor of zero stops the kernel.
    Rem = "rem" Binary ("a", "b") Number Fails "pto.tfmod";
    /// The larger; NaN if either is NaN.
    Max = "max" Binary ("a", "b") Number Pure "pto.tmax";
    /// The smaller; NaN if either is NaN.
    Min = "min" Binary ("a", "b") Number Pure "pto.tmin";
    /// a to the power of b: 1 where b is 0 or a is 1, whatever the other is; NaN for finite negative a where b is not integral;
    /// the sign of a where b is odd.
    Pow = "pow" Binary ("a", "b") Float Pure within 1.5;
    /// Negation. Integers wrap.
    Neg = "neg" Unary ("x") Signed Pure "pto.tneg";
    /// Absolute value. The smallest integer stays.
    Abs = "abs" Unary ("x") Signed Pure "pto.tabs";
    /// `1 / x`.
    Recip = "recip" Unary ("x") Float Pure "pto.trecip" within 0.5;
    /// e to the power of x.
    Exp = "exp" Unary ("x") Float Pure "pto.texp" within 1.1;
    /// 2 to the power of x; exact for integers.
    Exp2 = "exp2" Unary ("x") Float Pure within 1.1;
    /// e to the power of x, minus 1: accurate near 0, where `exp(x) - 1` is not.
    Expm1 = "expm1" Unary ("x") Float Pure within 2.0;
    /// Natural logarithm; -inf for 0, NaN for negative numbers.
    Log = "log" Unary ("x") Float Pure "pto.tlog" within 1.1;
    /// Binary logarithm; exact for powers of two, -inf for 0, NaN for negative numbers.
    Log2 = "log2" Unary ("x") Float Pure within 2.0;
    /// Natural logarithm of 1 + x: accurate near 0, where `log(1 + x)` is not; -inf for -1, NaN below.
    Log1p = "log1p" Unary ("x") Float Pure within 1.1;
    /// Square root, correctly rounded.
    Sqrt = "sqrt" Unary ("x") Float Pure "pto.tsqrt" within 0.5;
    /// `1 / sqrt(x)`: two correctly rounded operations.
    Rsqrt = "rsqrt" Unary ("x") Float Pure "pto.trsqrt" within 1.5;
    /// Hyperbolic tangent.
    Tanh = "tanh" Unary ("x") Float Pure "pto.ttanh" within 1.5;
    /// Error function.
    Erf = "erf" Unary ("x") Float Pure within 1.5;
    /// `1 / (1 + exp(-x))`.
    Sigmoid = "sigmoid" Unary ("x") Float Pure within 2.0;
    /// Sine of an angle in radians, of any size; NaN for infinities.
    Sin = "sin" Unary ("x") Float Pure "pto.tsin" within 1.5;
    /// Cosine of an angle in radians, of any size; NaN for infinities.
    Cos = "cos" Unary ("x") Float Pure "pto.tcos" within 1.5;
    /// `max(x, 0)`; NaN stays.
    Relu = "relu" Unary ("x") Signed Pure "pto.trelu";
    /// Largest integral value not above x.
    Floor = "floor" Unary ("x") Float Pure;
    /// Smallest integral value not below x.
    Ceil = "ceil" Unary ("x") Float Pure;
    /// The integral part of x: rounded towards zero.
    Trunc = "trunc" Unary ("x") Float Pure;
    /// Nearest integral value; halves go away from zero.
    Round = "round" Unary ("x") Float Pure;
    /// Nearest integral value; halves go to the even one.
    RoundTiesEven = "round_ties_even" Unary ("x") Float Pure;
    /// `a == b`.
    CmpEq = "cmp_eq" Compare ("a", "b") Any Pure "pto.tcmp";
    /// `a != b`; true where either is NaN.
    CmpNe = "cmp_ne" Compare ("a", "b") Any Pure "pto.tcmp";
    /// `a < b`.
    CmpLt = "cmp_lt" Compare ("a", "b") Number Pure "pto.tcmp";
    /// `a <= b`.
    CmpLe = "cmp_le" Compare ("a", "b") Number Pure "pto.tcmp";
    /// `a > b`.
    CmpGt = "cmp_gt" Compare ("a", "b") Number Pure "pto.tcmp";
    /// `a >= b`.
    CmpGe = "cmp_ge" Compare ("a", "b") Number Pure "pto.tcmp";
    /// `a` where the mask is true, else `b`.
    Select = "select" Select ("mask", "a", "b") Any Pure "pto.tsel";
    /// Bitwise (for `bool`, logical) and.
    And = "and" Binary ("a", "b") Bits Pure "pto.tand";
    /// Bitwise (for `bool`, logical) or.
    Or = "or" Binary ("a", "b") Bits Pure "pto.tor";
    /// Bitwise (for `bool`, logical) exclusive or.
    Xor = "xor" Binary ("a", "b") Bits Pure "pto.txor";
    /// Bitwise (for `bool`, logical) not.
    Not = "not" Unary ("x") Bits Pure "pto.tnot";
    /// Shift left; the amount is taken modulo the bit width.
    Shl = "shl" Binary ("a", "amount") Integer Pure "pto.tshl";
    /// Shift right, arithmetic for signed types; the amount is taken modulo the bit width.
    Shr = "shr" Binary ("a", "amount") Integer Pure "pto.tshr";
    /// Conversion to attribute `dtype` with attribute `round`. Floats saturate to integers, NaN becomes 0; integers wrap.
    Cast = "cast" Cast ("x") Any Pure "pto.tcvt";

    /// The bits of each element as attribute `dtype`, which is as wide. A NaN gives the bits of the quiet NaN without a
    /// sign, so that all targets agree.
    Bitcast = "bitcast" Cast ("x") Number Pure;

    // ---- reductions: only the valid region counts; an empty region gives the identity ----
    /// Sum of each row: 32 interleaved partial sums, combined as a tree; f16 and bf16 accumulate in f32.
    RowSum = "row_sum" RowReduce ("x") Number Pure "pto.trowsum";
    /// Maximum of each row; NaN if it holds one.
    RowMax = "row_max" RowReduce ("x") Number Pure "pto.trowmax";
    /// Minimum of each row; NaN if it holds one.
    RowMin = "row_min" RowReduce ("x") Number Pure "pto.trowmin";
    /// Product of each row, in the order of `row_sum`.
    RowProd = "row_prod" RowReduce ("x") Number Pure "pto.trowprod";
    /// Index of the first maximum of each row; a NaN counts as the maximum. 0 for an empty row.
    RowArgmax = "row_argmax" RowArg ("x") Number Pure "pto.trowargmax";
    /// Index of the first minimum of each row; a NaN counts as the minimum. 0 for an empty row.
    RowArgmin = "row_argmin" RowArg ("x") Number Pure "pto.trowargmin";
    /// Sum of each column, in row order; f16 and bf16 accumulate in f32.
    ColSum = "col_sum" ColReduce ("x") Number Pure "pto.tcolsum";
    /// Maximum of each column; NaN if it holds one.
    ColMax = "col_max" ColReduce ("x") Number Pure "pto.tcolmax";
    /// Minimum of each column; NaN if it holds one.
    ColMin = "col_min" ColReduce ("x") Number Pure "pto.tcolmin";
    /// Product of each column, in row order.
    ColProd = "col_prod" ColReduce ("x") Number Pure "pto.tcolprod";
    /// Index of the first maximum of each column; a NaN counts as the maximum.
    ColArgmax = "col_argmax" ColArg ("x") Number Pure "pto.tcolargmax";
    /// Index of the first minimum of each column; a NaN counts as the minimum.
    ColArgmin = "col_argmin" ColArg ("x") Number Pure "pto.tcolargmin";

    // ---- creation ----
    /// A tile with every element equal to a scalar.
    Full = "full" Create ("value") Any Pure "pto.texpands";
    /// `start + index` along attribute `axis`, constant along the other dimensions.
    Iota = "iota" Create ("start") Integer Pure "pto.tci";

    // ---- layout ----
    /// The part of a tile that starts at the given offsets; extents are those of the result.
    Slice = "slice" Layout ("x", "offset...") Any Pure "pto.textract";
    /// A tile with another written into it at the given offsets: `(target, source, offset...)`. Only the source's valid part is written.
    Assemble = "assemble" Layout ("target", "source", "offset...") Any Pure "pto.tinsert";
    /// The same elements in row-major order under other extents. The operand must be fully valid.
    Reshape = "reshape" Layout ("x") Any Pure "pto.treshape";
    /// The last two dimensions exchanged.
    Transpose = "transpose" Layout ("x") Any Pure "pto.ttrans";
    /// Two tiles side by side along attribute `axis`. Both must be fully valid along it.
    Concat = "concat" Layout ("a", "b") Any Pure "pto.tconcat";
    /// Extents of 1 repeated to the extents of the result.
    Broadcast = "broadcast" Layout ("x") Any Pure;
    /// The value in every lane outside the valid extent; the result is valid everywhere.
    Fillpad = "fillpad" Layout ("x", "value") Any Pure "pto.tfillpad";
    /// The same elements with another valid extent: that of the result type.
    SetValid = "set_valid" Layout ("x") Any Pure;

    // ---- elements of rows by index ----
    /// Elements of each row by index: `(x, index)` with an `i32` tile; element `[.., i, k]` of the result is
    /// `x[.., i, index[.., i, k]]`. Leading extents of 1 repeat. An index outside of the valid part stops the kernel.
    Gather = "gather" Permute ("x", "index") Any Fails;
    /// A tile with elements of each row replaced by index: `(target, index, source)` with an `i32` tile; element
    /// `[.., i, index[.., i, k]]` becomes `source[.., i, k]`, later ones win. Leading extents of 1 of index and source repeat.
    /// An index outside of the target stops the kernel.
    Scatter = "scatter" Permute ("target", "index", "source") Any Fails;
    /// For each row the indices that put it in falling order, as `i32`; equal elements keep their order, a NaN counts as
    /// the largest. Only the valid part of a row takes part.
    RowArgsort = "row_argsort" Permute ("x") Any Pure;

    // ---- products ----
    /// `a @ b`, accumulated in f32 (integers: i32) in blocks of 256 along K. Rank 3 multiplies batch by batch.
    /// Attributes `transpose_a`, `transpose_b` read an operand with its last two dimensions exchanged.
    Matmul = "matmul" Matmul ("a", "b") Matmul Pure "pto.tmatmul";
    /// `acc + a @ b`.
    MatmulAcc = "matmul_acc" Matmul ("acc", "a", "b") Matmul Pure "pto.tmatmul.acc";
    /// `a @ b + bias` with a bias of extents `[1, N]`.
    MatmulBias = "matmul_bias" Matmul ("a", "b", "bias") Matmul Pure "pto.tmatmul.bias";

    // ---- memory ----
    /// The part of a tensor at the given offsets as a tile; the valid extents of the result lie inside the tensor.
    Load = "load" Transfer ("tensor", "offset...") Any Reads "pto.tload";
    /// Writes the valid part of a tile into a tensor: `(tile, tensor, offset...)`. The valid part must lie inside the tensor.
    Store = "store" Transfer ("tile", "tensor", "offset...") Any Writes "pto.tstore";
    /// Rows of a rank-2 tensor by index: `(tensor, index)` with an i32 or i64 tile `[n, 1]`; an index outside stops the kernel.
    GatherRows = "gather_rows" Transfer ("tensor", "index") Any Reads;
    /// Writes rows of a tile to the rows of a tensor that an index tile `[n, 1]` names: `(tile, tensor, index)`. Later rows win; an index outside stops the kernel.
    ScatterRows = "scatter_rows" Transfer ("tile", "tensor", "index") Any Writes;
    /// One element of a tensor as a scalar: `(tensor, index...)`.
    Read = "read" Element ("tensor", "index...") Any Reads;
    /// Writes a scalar to one element of a tensor: `(value, tensor, index...)`.
    Write = "write" Element ("value", "tensor", "index...") Any Writes;
    /// One element of a tile as a scalar: `(tile, index...)`.
    Extract = "extract" Element ("tile", "index...") Any Pure;
    /// A new tensor with unspecified contents; extents are those of the result type.
    Alloc = "alloc" Tensor () Any Pure;
    /// A part of a tensor as a tensor: `(tensor, offset...)`, extents and strides those of the result type. Leading dimensions of extent 1 may be dropped.
    View = "view" Tensor ("tensor", "offset...") Any Pure;

    // ---- control ----
    /// `for` over `(lower, upper, step, initial...)`; the region takes the index and the carried values and yields the carried values.
    For = "for" Control ("lower", "upper", "step", "initial...") NoDType Nested;
    /// `if` on a scalar `bool`; two regions that yield the results.
    If = "if" Control ("condition") NoDType Nested;
    /// `while`: the first region takes the carried values and yields a `bool` and the values for the second, which yields the carried values.
    While = "while" Control ("initial...") NoDType Nested;
    /// Call of a function of the program (attribute `callee`); its last `after` operands are events to wait for. An optional result is the event of its completion.
    Call = "call" Call ("argument...") NoDType Nested;
    /// Stops the kernel with attribute `message` where the condition is false, with scalar values in place of its placeholders.
    Assert = "assert" Check ("condition", "value...") Bool Fails;
    /// Prints attribute `message`, with the values in place of its placeholders: scalars, and the valid parts of tiles and tensors.
    Print = "print" Report ("value...") Any Reports;
    /// Shows a value under the name in attribute `message`; `origin` tells the operation that made it. Compiled only on request.
    Checkpoint = "checkpoint" Report ("value") Any Reports;
}

impl OpKind {
    /// The name in the IR text.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The arithmetic operator of Rust for it, or its name.
    pub const fn symbol(self) -> &'static str {
        match self {
            OpKind::Add => "+",
            OpKind::Sub => "-",
            OpKind::Mul => "*",
            OpKind::Div => "/",
            OpKind::Rem => "%",
            _ => self.name(),
        }
    }

    /// The operation's class.
    pub const fn class(self) -> Class {
        self.info().class
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<OpKind> {
        OpKind::ALL.iter().copied().find(|k| k.name() == name)
    }

    /// Elementwise on scalars and tiles alike: unary, binary, comparison, select and cast.
    pub const fn is_elementwise(self) -> bool {
        matches!(self.class(), Class::Unary | Class::Binary | Class::Compare | Class::Select | Class::Cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_kind() {
        for kind in OpKind::ALL {
            assert_eq!(kind.info().kind, *kind);
            assert_eq!(OpKind::from_name(kind.name()), Some(*kind));
            assert!(!kind.info().doc.trim().is_empty());
        }
    }
}
