//! Samples of arguments: what `.compile(&samples, ..)` specializes on without calling.

use crate::frontend::specialization::ArgumentSpec;
use crate::ir::DType;

/// The element type and extents of a tensor that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    pub dtype: DType,
    pub dims: Vec<i64>,
}

impl TensorSpec {
    /// A tensor of that element type and extents.
    pub fn new(dtype: DType, dims: impl Into<Vec<i64>>) -> TensorSpec {
        TensorSpec { dtype, dims: dims.into() }
    }
}

/// One sample: a tensor reference, a [`TensorSpec`] or a scalar.
pub trait Sample {
    /// The layout as data.
    fn sample(&self) -> ArgumentSpec;
}

impl Sample for TensorSpec {
    fn sample(&self) -> ArgumentSpec {
        ArgumentSpec::Tensor { dtype: self.dtype, dims: self.dims.clone(), contiguous: true }
    }
}

impl<S: Sample> Sample for &S {
    fn sample(&self) -> ArgumentSpec {
        (**self).sample()
    }
}

impl<S: Sample> Sample for &mut S {
    fn sample(&self) -> ArgumentSpec {
        (**self).sample()
    }
}

macro_rules! scalar_samples {
    ($($t:ty => $dtype:ident, $bits:expr;)*) => { $(
        impl Sample for $t {
            fn sample(&self) -> ArgumentSpec {
                let bits: fn(&$t) -> u64 = $bits;
                ArgumentSpec::Scalar { dtype: DType::$dtype, bits: bits(self) }
            }
        }
    )* };
}

scalar_samples! {
    bool => Bool, |v| u64::from(*v);
    i8 => I8, |v| u64::from(*v as u8);
    i16 => I16, |v| u64::from(*v as u16);
    i32 => I32, |v| u64::from(*v as u32);
    i64 => I64, |v| *v as u64;
    u8 => U8, |v| u64::from(*v);
    u16 => U16, |v| u64::from(*v);
    u32 => U32, |v| u64::from(*v);
    half::f16 => F16, |v| u64::from(v.to_bits());
    half::bf16 => BF16, |v| u64::from(v.to_bits());
    f32 => F32, |v| u64::from(v.to_bits());
}

/// The samples of a call, one for each parameter; `()` where the signature itself tells every extent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not describe the arguments of a kernel",
    note = "give a tuple of tensors, `TensorSpec`s and scalars, such as `&(&x, &y)`, or `&()` where `#[shape]` states every extent"
)]
pub trait Samples {
    /// The layouts; empty for `()`.
    fn samples(&self) -> Vec<ArgumentSpec>;
}

impl Samples for () {
    fn samples(&self) -> Vec<ArgumentSpec> {
        Vec::new()
    }
}

impl Samples for [ArgumentSpec] {
    fn samples(&self) -> Vec<ArgumentSpec> {
        self.to_vec()
    }
}

macro_rules! tuple_samples {
    ($($name:ident),+) => {
        impl<$($name: Sample),+> Samples for ($($name,)+) {
            #[allow(non_snake_case)]
            fn samples(&self) -> Vec<ArgumentSpec> {
                let ($($name,)+) = self;
                vec![$($name.sample()),+]
            }
        }
    };
}

super::handle::for_each_arity!(tuple_samples);
