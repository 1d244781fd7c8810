//! A specialization in memory, and the test whether it fits a call.

use std::sync::Arc;

use super::check::{EqualExtents, equal_extents};
use super::key::Key;
use super::meta::MetaValues;
use crate::frontend::generic::{ElementType, Function, ValueType};
use crate::frontend::specialization::ParamSpec;
use crate::ir::{DType, Direction};
use crate::language::argument::{Argument, MAX_RANK, byte_size};
use crate::runtime::program::HostProgram;

/// A specialization that is ready to be called. Variants live as long as the process: their code may be running.
pub struct Variant {
    pub key: Key,
    pub function: &'static Function,
    pub host: Arc<HostProgram>,
    /// Pairs of dimensions that every call must find equal.
    pub equal: Vec<EqualExtents>,
    shapes: Vec<Shape>,
    /// The tensors of every call, where the key says everything of them but the addresses.
    known: Option<Box<[Known]>>,
    /// Whether every meta parameter has its default.
    default_metas: bool,
}

/// An argument of which all is known but the address of a tensor or the bits of a scalar. A contiguous tensor is like this;
/// one that is not, or whose strides of extents below 2 are others, takes the longer look of `fits` and `check_memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Tensor { dtype: DType, rank: usize, dims: [i64; MAX_RANK], strides: [i64; MAX_RANK], bytes: usize, written: bool },
    Scalar { dtype: DType, bits: Option<u64> },
}

/// What a call's argument must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Extents; negative ones may be anything.
    Tensor { dtype: DType, rank: usize, dims: [i64; MAX_RANK] },
    /// A scalar, and its bits where they are part of the key.
    Scalar { dtype: DType, bits: Option<u64> },
}

impl Variant {
    /// A variant for a key. `arguments` are those of the call that made it: they give element types and ranks.
    pub fn new(function: &'static Function, key: Key, host: Arc<HostProgram>) -> Variant {
        let types = &key.specialization.type_args;
        let shapes = function.params.iter().zip(&key.specialization.params);
        let shapes = shapes.map(|(param, spec)| {
            let dtype = element(param.ty).resolve(types);
            match spec {
                ParamSpec::Tensor { dims: extents, .. } => {
                    let mut dims = [1; MAX_RANK];
                    dims.iter_mut().zip(extents).for_each(|(dim, extent)| *dim = extent.unwrap_or(-1));
                    Shape::Tensor { dtype, rank: extents.len(), dims }
                }
                ParamSpec::Scalar { value } => Shape::Scalar { dtype, bits: *value },
            }
        });
        let shapes: Vec<Shape> = shapes.collect();
        let known = function.params.iter().zip(&shapes).map(|(param, shape)| shape.known(param.direction)).collect();
        let default_metas = function.metas.iter().zip(&key.specialization.metas).all(|(meta, v)| meta.default == *v);
        Variant { function, host, equal: equal_extents(function), shapes, known, default_metas, key }
    }

    /// Whether a call with these arguments runs this variant. Allocates nothing.
    pub fn fits(
        &self,
        function: &'static Function,
        types: &[DType],
        meta: Option<&MetaValues>,
        arguments: &[Argument<'_>],
    ) -> bool {
        self.is_of(function, types, meta) && self.fits_arguments(arguments)
    }

    /// As [`Variant::fits`] and [`check_memory`](super::check::check_memory) together, in one look. False also where that
    /// look is not enough: then these two tell.
    #[inline]
    pub fn fits_at_once(
        &self,
        function: &'static Function,
        types: &[DType],
        meta: Option<&MetaValues>,
        arguments: &[Argument<'_>],
    ) -> bool {
        let Some(known) = &self.known else { return false };
        self.is_of(function, types, meta)
            && known.len() == arguments.len()
            && known.iter().zip(arguments).all(|(known, argument)| known.fits(argument))
            && are_apart(known, arguments)
    }

    /// Whether it is this function's, for these type arguments and meta parameters.
    #[inline]
    fn is_of(&self, function: &'static Function, types: &[DType], meta: Option<&MetaValues>) -> bool {
        std::ptr::eq(self.function, function) && self.key.specialization.type_args == types && self.fits_metas(meta)
    }

    /// Whether the arguments have the element types, ranks, extents and `#[spec]` values that this variant is for.
    pub fn fits_arguments(&self, arguments: &[Argument<'_>]) -> bool {
        self.shapes.len() == arguments.len()
            && self.shapes.iter().zip(arguments).all(|(shape, argument)| shape.fits(argument))
    }

    #[inline]
    fn fits_metas(&self, meta: Option<&MetaValues>) -> bool {
        let Some(given) = meta else { return self.default_metas };
        let known = |name: &str| self.function.metas.iter().any(|m| m.name.name == name);
        let values = self.function.metas.iter().zip(&self.key.specialization.metas);
        given.iter().all(|(name, _)| known(name))
            && values.into_iter().all(|(m, value)| given.get(m.name.name).unwrap_or(m.default) == *value)
    }
}

/// The element type of a tensor or scalar parameter; calls pass nothing else.
fn element(ty: ValueType) -> ElementType {
    match ty {
        ValueType::Tensor { element, .. } | ValueType::Tile { element, .. } | ValueType::Scalar(element) => element,
        ValueType::Tuple(_) => ElementType::Known(DType::F32),
    }
}

impl Known {
    #[inline]
    fn fits(&self, argument: &Argument<'_>) -> bool {
        match (self, argument) {
            (Known::Tensor { dtype, rank, dims, strides, written, .. }, Argument::Tensor(tensor)) => {
                // By axis: comparisons of whole arrays are calls, which take longer than the few axes that there are.
                let rank = *rank;
                tensor.dtype == *dtype
                    && tensor.rank == rank
                    && rank <= MAX_RANK
                    && (0..rank).all(|i| tensor.dims[i] == dims[i] && tensor.strides[i] == strides[i])
                    && !tensor.data.is_null()
                    && (tensor.mutable || !*written)
            }
            (Known::Scalar { dtype, bits }, Argument::Scalar(scalar)) => {
                scalar.dtype == *dtype && bits.is_none_or(|bits| bits == scalar.bits)
            }
            _ => false,
        }
    }

    /// The addresses of a tensor that fits.
    #[inline]
    fn range(&self, argument: &Argument<'_>) -> Option<(usize, usize, bool)> {
        match (self, argument) {
            (Known::Tensor { bytes, .. }, Argument::Tensor(tensor)) => {
                let start = tensor.data as usize;
                Some((start, start.wrapping_add(*bytes), tensor.mutable))
            }
            _ => None,
        }
    }
}

/// Whether no tensor that may be written shares memory with another one; the arguments fit.
#[inline]
fn are_apart(known: &[Known], arguments: &[Argument<'_>]) -> bool {
    let pairs = || known.iter().zip(arguments);
    for (index, (known, argument)) in pairs().enumerate() {
        let Some((start, end, written)) = known.range(argument) else { continue };
        for (known, argument) in pairs().take(index) {
            let Some((from, to, also)) = known.range(argument) else { continue };
            if (written || also) && from < end && start < to {
                return false;
            }
        }
    }
    true
}

impl Shape {
    /// All that is known, if that is all but an address; `direction` is the parameter's.
    fn known(&self, direction: Direction) -> Option<Known> {
        Some(match *self {
            Shape::Tensor { dtype, rank, dims, .. } => {
                if dims.iter().any(|extent| *extent < 0) {
                    return None;
                }
                let (mut strides, mut next) = ([0; MAX_RANK], 1i64);
                for axis in (0..rank).rev() {
                    strides[axis] = next;
                    next = next.checked_mul(dims[axis])?;
                }
                let bytes = byte_size(&dims[..rank], dtype)?;
                Known::Tensor { dtype, rank, dims, strides, bytes, written: direction != Direction::In }
            }
            Shape::Scalar { dtype, bits } => Known::Scalar { dtype, bits },
        })
    }

    fn fits(&self, argument: &Argument<'_>) -> bool {
        match (self, argument) {
            (Shape::Tensor { dtype, rank, dims }, Argument::Tensor(tensor)) => {
                let extents = dims[..*rank].iter().zip(&tensor.dims);
                tensor.dtype == *dtype
                    && tensor.rank == *rank
                    && extents.into_iter().all(|(dim, extent)| dim == extent || (*dim < 0 && *extent >= 0))
            }
            (Shape::Scalar { dtype, bits }, Argument::Scalar(scalar)) => {
                scalar.dtype == *dtype && bits.is_none_or(|bits| bits == scalar.bits)
            }
            _ => false,
        }
    }
}
