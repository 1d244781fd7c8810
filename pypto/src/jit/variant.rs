//! A specialization in memory, and the test whether it fits a call.

use std::sync::Arc;

use super::check::{EqualExtents, equal_extents};
use super::key::Key;
use super::meta::MetaValues;
use crate::frontend::generic::{ElementType, Function, ValueType};
use crate::frontend::specialization::ParamSpec;
use crate::ir::DType;
use crate::language::argument::{Argument, MAX_RANK};
use crate::runtime::program::HostProgram;

/// A specialization that is ready to be called. Variants live as long as the process: their code may be running.
pub struct Variant {
    pub key: Key,
    pub function: &'static Function,
    pub host: Arc<HostProgram>,
    /// Pairs of dimensions that every call must find equal.
    pub equal: Vec<EqualExtents>,
    shapes: Vec<Shape>,
    /// Whether every meta parameter has its default.
    default_metas: bool,
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
        let shapes = shapes.collect();
        let default_metas = function.metas.iter().zip(&key.specialization.metas).all(|(meta, v)| meta.default == *v);
        Variant { function, host, equal: equal_extents(function), shapes, default_metas, key }
    }

    /// Whether a call with these arguments runs this variant. Allocates nothing.
    pub fn fits(
        &self,
        function: &'static Function,
        types: &[DType],
        meta: Option<&MetaValues>,
        arguments: &[Argument<'_>],
    ) -> bool {
        std::ptr::eq(self.function, function)
            && self.key.specialization.type_args == types
            && self.fits_metas(meta)
            && self.shapes.len() == arguments.len()
            && self.shapes.iter().zip(arguments).all(|(shape, argument)| shape.fits(argument))
    }

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

impl Shape {
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
