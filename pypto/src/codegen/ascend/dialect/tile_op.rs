//! The tile operations of the dialect: one table, read by the checker, the planner, the simulator and the cost model.

use crate::ir::DType;
use crate::ops::OpKind;
use crate::target::elements::Elements;

/// What operands an operation takes, and what its result is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A partition of a tensor into a tile.
    Load,
    /// A tile into a partition of a tensor.
    Store,
    /// One tile, same type.
    Unary,
    /// Two tiles, same type.
    Binary,
    /// A tile and a number.
    TileScalar,
    /// A tile and scratch; a column.
    RowReduce,
    /// A tile; a row.
    ColReduce,
    /// A column, repeated along rows.
    RowExpand,
    /// A row, repeated along columns.
    ColExpand,
    /// A tile and a column.
    RowExpandBinary,
    /// A tile and a row.
    ColExpandBinary,
    /// Two tiles; a mask.
    Compare,
    /// A tile and a number; a mask.
    CompareScalar,
    /// A mask, two tiles and scratch.
    Select,
    /// A tile; another element type.
    Convert,
    /// A number in every element.
    Fill,
    /// Ascending integers from a number on, along a row.
    Iota,
    /// A tile and scratch; rows and columns exchanged.
    Transpose,
    /// A tile, perhaps in another space.
    Move,
    /// A window of a tile at a row and a column, perhaps in another space.
    Extract,
    /// Left and right operand; an accumulator.
    Product,
    /// Accumulator, left and right operand; the same accumulator.
    ProductAcc,
}

macro_rules! tile_ops {
    ($( $variant:ident = $name:literal $form:ident $($kind:ident)?; )*) => {
        /// A tile operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TileOp { $($variant),* }

        impl TileOp {
            /// Every operation, in declaration order.
            pub const ALL: &'static [TileOp] = &[$(TileOp::$variant),*];

            /// The mnemonic, without `pto.`.
            pub const fn name(self) -> &'static str {
                match self { $(TileOp::$variant => $name),* }
            }

            /// Its operands and result.
            pub const fn form(self) -> Form {
                match self { $(TileOp::$variant => Form::$form),* }
            }

            /// The operation of the language that it computes, where there is one.
            pub const fn kind(self) -> Option<OpKind> {
                match self { $(TileOp::$variant => tile_ops!(@kind $($kind)?)),* }
            }
        }
    };
    (@kind) => { None };
    (@kind $kind:ident) => { Some(OpKind::$kind) };
}

tile_ops! {
    Load = "tload" Load;
    Store = "tstore" Store;
    Add = "tadd" Binary Add;
    Sub = "tsub" Binary Sub;
    Mul = "tmul" Binary Mul;
    Div = "tdiv" Binary Div;
    Rem = "tfmod" Binary Rem;
    Max = "tmax" Binary Max;
    Min = "tmin" Binary Min;
    And = "tand" Binary And;
    Or = "tor" Binary Or;
    Shl = "tshl" Binary Shl;
    Shr = "tshr" Binary Shr;
    Neg = "tneg" Unary Neg;
    Abs = "tabs" Unary Abs;
    Not = "tnot" Unary Not;
    Relu = "trelu" Unary Relu;
    Exp = "texp" Unary Exp;
    Log = "tlog" Unary Log;
    Sqrt = "tsqrt" Unary Sqrt;
    Rsqrt = "trsqrt" Unary Rsqrt;
    Recip = "trecip" Unary Recip;
    AddS = "tadds" TileScalar Add;
    SubS = "tsubs" TileScalar Sub;
    MulS = "tmuls" TileScalar Mul;
    DivS = "tdivs" TileScalar Div;
    RemS = "tfmods" TileScalar Rem;
    MaxS = "tmaxs" TileScalar Max;
    MinS = "tmins" TileScalar Min;
    AndS = "tands" TileScalar And;
    OrS = "tors" TileScalar Or;
    ShlS = "tshls" TileScalar Shl;
    ShrS = "tshrs" TileScalar Shr;
    RowSum = "trowsum" RowReduce RowSum;
    RowMax = "trowmax" RowReduce RowMax;
    RowMin = "trowmin" RowReduce RowMin;
    RowProd = "trowprod" RowReduce RowProd;
    RowArgmax = "trowargmax" RowReduce RowArgmax;
    RowArgmin = "trowargmin" RowReduce RowArgmin;
    ColSum = "tcolsum" ColReduce ColSum;
    ColMax = "tcolmax" ColReduce ColMax;
    ColMin = "tcolmin" ColReduce ColMin;
    ColProd = "tcolprod" ColReduce ColProd;
    ColArgmax = "tcolargmax" ColReduce ColArgmax;
    ColArgmin = "tcolargmin" ColReduce ColArgmin;
    RowExpand = "trowexpand" RowExpand;
    ColExpand = "tcolexpand" ColExpand;
    RowExpandAdd = "trowexpandadd" RowExpandBinary Add;
    RowExpandSub = "trowexpandsub" RowExpandBinary Sub;
    RowExpandMul = "trowexpandmul" RowExpandBinary Mul;
    RowExpandDiv = "trowexpanddiv" RowExpandBinary Div;
    RowExpandMax = "trowexpandmax" RowExpandBinary Max;
    RowExpandMin = "trowexpandmin" RowExpandBinary Min;
    ColExpandAdd = "tcolexpandadd" ColExpandBinary Add;
    ColExpandSub = "tcolexpandsub" ColExpandBinary Sub;
    ColExpandMul = "tcolexpandmul" ColExpandBinary Mul;
    ColExpandDiv = "tcolexpanddiv" ColExpandBinary Div;
    ColExpandMax = "tcolexpandmax" ColExpandBinary Max;
    ColExpandMin = "tcolexpandmin" ColExpandBinary Min;
    Compare = "tcmp" Compare;
    CompareS = "tcmps" CompareScalar;
    Select = "tsel" Select Select;
    Convert = "tcvt" Convert Cast;
    Fill = "texpands" Fill Full;
    Iota = "tci" Iota Iota;
    Transpose = "ttrans" Transpose Transpose;
    Move = "tmov" Move;
    Extract = "textract" Extract Slice;
    Product = "tmatmul" Product Matmul;
    ProductAcc = "tmatmul.acc" ProductAcc MatmulAcc;
}

impl TileOp {
    /// The operation of that mnemonic, without `pto.`.
    pub fn named(name: &str) -> Option<TileOp> {
        TileOp::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The operation of a form that computes an operation of the language.
    pub fn of(kind: OpKind, form: Form) -> Option<TileOp> {
        TileOp::ALL.iter().copied().find(|op| op.kind() == Some(kind) && op.form() == form)
    }

    /// Whether its number is an amount to shift by, which is an `i32`.
    pub const fn is_shift(self) -> bool {
        matches!(self, TileOp::ShlS | TileOp::ShrS)
    }

    /// Element types of its operands that a target computes it on; none stands for all.
    pub fn elements(self, elements: &Elements) -> &'static [DType] {
        match self.form() {
            Form::RowReduce | Form::ColReduce => elements.reduce,
            Form::Compare | Form::CompareScalar => elements.compare,
            Form::Select | Form::Fill | Form::RowExpand | Form::ColExpand => elements.select,
            Form::Product | Form::ProductAcc => elements.product,
            _ => match self {
                TileOp::And | TileOp::Or | TileOp::Not | TileOp::Shl | TileOp::Shr => elements.bits,
                TileOp::AndS | TileOp::OrS | TileOp::ShlS | TileOp::ShrS => elements.bits,
                _ => match self.kind() {
                    Some(OpKind::Add | OpKind::Sub | OpKind::Mul | OpKind::Max | OpKind::Min) => elements.arithmetic,
                    Some(OpKind::Neg | OpKind::Abs | OpKind::Relu) => elements.arithmetic,
                    Some(kind) if kind.is_elementwise() && kind != OpKind::Cast => elements.float,
                    _ => &[],
                },
            },
        }
    }

    /// Whether the destination may be the memory of an operand: each element is written after it was read, and of the
    /// same size. Reductions, expansions, conversions and selections are not like that.
    pub const fn works_in_place(self) -> bool {
        matches!(self.form(), Form::Unary | Form::Binary | Form::TileScalar)
            && !matches!(self, TileOp::Recip | TileOp::Rsqrt | TileOp::Rem | TileOp::RemS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_distinct() {
        for op in TileOp::ALL {
            assert_eq!(TileOp::named(op.name()), Some(*op));
        }
        assert_eq!(TileOp::of(OpKind::Add, Form::RowExpandBinary), Some(TileOp::RowExpandAdd));
    }
}
