//! Samples of arguments: what `.compile(&samples, ..)` specializes on without calling.

use crate::frontend::specialization::ArgumentSpec;
use crate::ir::DType;
use crate::language::argument::Argument;
use crate::language::{DynamicTensor, Element, Tensor};

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

/// One sample: a tensor reference, a [`TensorSpec`], a scalar, or a struct that derives `pypto::Args`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not describe an argument of a kernel",
    note = "give a tensor, a `TensorSpec`, a scalar, or a struct with `#[derive(pypto::Args)]`"
)]
pub trait Sample {
    /// Appends the layout as data; a struct appends that of each field.
    fn append(&self, samples: &mut Vec<ArgumentSpec>);

    /// Appends, for each of these layouts, the tensor where there is one with elements: what `.tune(..)` runs on.
    fn append_contents<'a>(&'a self, contents: &mut Vec<Option<&'a dyn Content>>) {
        let mut samples = Vec::new();
        self.append(&mut samples);
        contents.extend(samples.iter().map(|_| None));
    }
}

/// A tensor with elements, whatever its type.
pub trait Content {
    /// The tensor as an argument that is read.
    fn argument(&self) -> Argument<'_>;

    /// The same elements in memory of their own.
    fn copy(&self) -> DynamicTensor;
}

impl<T: Element, const R: usize> Content for Tensor<T, R> {
    fn argument(&self) -> Argument<'_> {
        Argument::Tensor(self.to_argument(false))
    }

    fn copy(&self) -> DynamicTensor {
        DynamicTensor::from(self)
    }
}

impl Sample for TensorSpec {
    fn append(&self, samples: &mut Vec<ArgumentSpec>) {
        samples.push(ArgumentSpec::Tensor { dtype: self.dtype, dims: self.dims.clone(), contiguous: true });
    }
}

impl<T: Element, const R: usize> Sample for Tensor<T, R> {
    fn append(&self, samples: &mut Vec<ArgumentSpec>) {
        let (dims, contiguous) = (self.dims().to_vec(), self.is_contiguous());
        samples.push(ArgumentSpec::Tensor { dtype: T::DTYPE, dims, contiguous });
    }

    fn append_contents<'a>(&'a self, contents: &mut Vec<Option<&'a dyn Content>>) {
        contents.push((!self.is_meta()).then_some(self));
    }
}

macro_rules! reference_samples {
    ($($reference:ty),*) => { $(
        impl<S: Sample> Sample for $reference {
            fn append(&self, samples: &mut Vec<ArgumentSpec>) {
                (**self).append(samples);
            }

            fn append_contents<'a>(&'a self, contents: &mut Vec<Option<&'a dyn Content>>) {
                (**self).append_contents(contents);
            }
        }
    )* };
}

reference_samples!(&S, &mut S);

macro_rules! scalar_samples {
    ($($t:ty),*) => { $(
        impl Sample for $t {
            fn append(&self, samples: &mut Vec<ArgumentSpec>) {
                samples.push(ArgumentSpec::Scalar { dtype: <$t as Element>::DTYPE, bits: self.to_bits64() });
            }
        }
    )* };
}

scalar_samples!(bool, i8, i16, i32, i64, u8, u16, u32, half::f16, half::bf16, f32);

/// The samples of a call, one for each parameter; `()` where the signature itself tells every extent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not describe the arguments of a kernel",
    note = "give a tuple of tensors, `TensorSpec`s and scalars, such as `&(&x, &y)`, or `&()` where `#[shape]` states every extent"
)]
pub trait Samples {
    /// The layouts; empty for `()`.
    fn samples(&self) -> Vec<ArgumentSpec>;

    /// The tensors that have elements, one entry a layout; empty where nothing has.
    fn contents(&self) -> Vec<Option<&dyn Content>> {
        Vec::new()
    }
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
                let mut samples = Vec::new();
                $($name.append(&mut samples);)+
                samples
            }

            #[allow(non_snake_case)]
            fn contents(&self) -> Vec<Option<&dyn Content>> {
                let ($($name,)+) = self;
                let mut contents = Vec::new();
                $($name.append_contents(&mut contents);)+
                contents
            }
        }
    };
}

crate::language::arity::for_each_arity!(tuple_samples);
