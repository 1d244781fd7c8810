//! What a function is instantiated for, and the check of a call's arguments against the signature.

use super::check_call;
use super::generic::Function;
use crate::diagnostics::Diagnostics;
use crate::ir::DType;

/// An argument as a call gives it, as far as specialization looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentSpec {
    Tensor {
        dtype: DType,
        dims: Vec<i64>,
        /// Row-major without gaps.
        contiguous: bool,
    },
    /// A scalar with its bits, zero-extended.
    Scalar { dtype: DType, bits: u64 },
    /// Not given: everything that is needed must be in the signature.
    Unknown,
}

/// Everything that the generated code depends on, apart from the function itself: the part of the key that a call
/// contributes. Equal specializations of one function give equal programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Specialization {
    /// Element types of the type parameters, in order.
    pub type_args: Vec<DType>,
    /// One entry a parameter.
    pub params: Vec<ParamSpec>,
    /// Values of the meta parameters, in the order of the signature.
    pub metas: Vec<i64>,
}

/// What is known of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParamSpec {
    Tensor {
        /// `None` where the extent is known at run time only.
        dims: Vec<Option<i64>>,
        strides: Strides,
    },
    /// The bits of a `#[spec]` scalar; `None` for run-time scalars.
    Scalar { value: Option<u64> },
}

/// Layout of a tensor parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Strides {
    /// Row-major without gaps.
    Contiguous,
    /// In elements; `None` where known at run time only.
    Given(Vec<Option<i64>>),
}

impl Specialization {
    /// Checks the arguments of a call and keeps what specialization depends on.
    ///
    /// `metas` are the values given by `.with(meta!{..})`; the others have the defaults of the signature.
    ///
    /// # Errors
    /// Everything that is wrong with the call (PTO01xx): the count, element types, ranks, layouts, literal contracts,
    /// extents that share a name and differ, extents that are not known, unknown meta parameters.
    pub fn for_call(
        function: &Function,
        type_args: &[DType],
        arguments: &[ArgumentSpec],
        metas: &[(&str, i64)],
    ) -> Result<Specialization, Diagnostics> {
        check_call::specialize(function, type_args, arguments, metas)
    }
}

impl Specialization {
    /// The bits of each parameter that is a `#[spec]` scalar.
    pub fn fixed_scalars(&self) -> Vec<Option<u64>> {
        let bits = |param: &ParamSpec| match param {
            ParamSpec::Scalar { value } => *value,
            ParamSpec::Tensor { .. } => None,
        };
        self.params.iter().map(bits).collect()
    }
}

/// The bits of a scalar as a value of its type, for folding: integers sign- or zero-extended.
pub fn scalar_from_bits(dtype: DType, bits: u64) -> ScalarValue {
    match dtype {
        DType::Bool => ScalarValue::Bool(bits & 1 == 1),
        DType::I8 => ScalarValue::Int(i64::from(bits as u8 as i8)),
        DType::I16 => ScalarValue::Int(i64::from(bits as u16 as i16)),
        DType::I32 => ScalarValue::Int(i64::from(bits as u32 as i32)),
        DType::I64 => ScalarValue::Int(bits as i64),
        DType::U8 => ScalarValue::Int(i64::from(bits as u8)),
        DType::U16 => ScalarValue::Int(i64::from(bits as u16)),
        DType::U32 => ScalarValue::Int(i64::from(bits as u32)),
        DType::F16 => ScalarValue::Float(half::f16::from_bits(bits as u16).to_f64()),
        DType::BF16 => ScalarValue::Float(half::bf16::from_bits(bits as u16).to_f64()),
        DType::F32 => ScalarValue::Float(f64::from(f32::from_bits(bits as u32))),
    }
}

/// A scalar's value, whatever its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarValue {
    Int(i64),
    Float(f64),
    Bool(bool),
}
