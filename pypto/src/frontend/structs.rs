//! Structs of tensors and scalars as kernel parameters.
//!
//! `#[derive(pypto::Args)]` describes a struct as a [`StructType`]. In the generic IR a parameter of that type is
//! *flattened*: each field is a parameter of its own, called `w.wq`, so that specialization, keys, checks and the IR know
//! only tensors and scalars. The body sees the struct as a group of these parameters ([`StructParam`]).

use super::generic::{Dim, Ident, Param, Span, ValueType};
use crate::ir::Direction;

/// A struct that kernels take as a parameter: implemented by `#[derive(pypto::Args)]`.
///
/// A kernel takes it as `w: &Layer`, which reads, as `w: &mut Layer`, or by value, `w: Layer<'_>`, where the fields are
/// references. Fields are `&Tensor<T, R>`, `&mut Tensor<T, R>`, `Tensor<T, R>`, scalars, and structs that derive `Args`
/// themselves. On a field, `#[shape(..)]`, `#[out]` and `#[spec]` mean what they mean on a parameter, but the names in
/// `#[shape]` belong to the struct: they tie its fields to one another, and are no variables of the kernel.
///
/// ```
/// use pypto::prelude::*;
///
/// #[derive(pypto::Args)]
/// struct Linear {
///     #[shape(K, N)]
///     weight: Tensor<f32, 2>,
///     #[shape(1, N)]
///     bias: Tensor<f32, 2>,
/// }
///
/// #[pypto::jit]
/// fn forward(#[shape(M, K)] x: &Tensor<f32, 2>, layer: &Linear, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
///     y.set(matmul(x, &layer.weight) + &layer.bias);
/// }
///
/// let layer = Linear { weight: Tensor::full([2, 3], 0.5), bias: Tensor::full([1, 3], 1.0) };
/// let (x, mut y) = (Tensor::full([4, 2], 2.0), Tensor::zeros([4, 3]));
/// forward(&x, &layer, &mut y)?;
/// assert_eq!(y.get([3, 2]), 3.0);
/// # Ok::<(), pypto::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    label = "not a parameter of kernels",
    note = "kernels take `&Tensor<T, R>`, `&mut Tensor<T, R>`, scalars, and structs of these with `#[derive(pypto::Args)]`"
)]
pub trait Args {
    /// The fields.
    fn struct_type() -> &'static StructType;

    /// Compares the extents of the fields with their `#[shape]`s, in eager runs.
    ///
    /// # Panics
    /// Where an extent differs.
    #[doc(hidden)]
    #[track_caller]
    fn check_extents(&self, parameter: &str);
}

/// A struct as data.
#[derive(Debug)]
pub struct StructType {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// A field.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub ty: FieldType,
}

/// What a field holds.
#[derive(Debug)]
pub enum FieldType {
    /// A tensor or scalar.
    Value { ty: ValueType, access: Access, spec: bool, shape: &'static [FieldDim] },
    /// Another struct.
    Struct(fn() -> &'static StructType),
}

/// How a field's memory may be used, by the field's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `&Tensor`, and scalars.
    Read,
    /// `&mut Tensor`, and `Tensor`.
    Write,
    /// `#[out] &mut Tensor`.
    Out,
}

/// An entry of a field's `#[shape(..)]`.
#[derive(Clone, Copy, Debug)]
pub enum FieldDim {
    Name { name: &'static str, dynamic: bool },
    Literal(i64),
    Any,
}

/// A parameter that is a struct.
#[derive(Debug)]
pub struct StructParam {
    pub name: Ident,
    /// Its position among the parameters as written.
    pub position: usize,
    /// The position of its first field in [`super::generic::Function::params`].
    pub first: usize,
    pub ty: &'static StructType,
}

/// Appends the parameters that a struct parameter consists of. Their places are those of the parameter's type.
pub(super) fn flatten(prefix: &str, ty: &StructType, shared: bool, span: Span, params: &mut Vec<Param>) {
    for field in ty.fields {
        let name = format!("{prefix}.{}", field.name);
        match field.ty {
            FieldType::Struct(inner) => flatten(&name, inner(), shared, span, params),
            FieldType::Value { ty, access, spec, shape } => {
                let direction = match access {
                    Access::Write if !shared => Direction::InOut,
                    Access::Out if !shared => Direction::Out,
                    _ => Direction::In,
                };
                let shape: Vec<Dim> = shape.iter().map(|dim| placed(*dim, prefix, span)).collect();
                let name = Ident { name: name.leak(), span };
                params.push(Param { name, ty, ty_span: span, direction, spec, shape: shape.leak(), field: true });
            }
        }
    }
}

/// The entry at the parameter's place; the struct's name in front keeps its names apart from others.
fn placed(dim: FieldDim, prefix: &str, span: Span) -> Dim {
    match dim {
        FieldDim::Name { name, dynamic } => {
            Dim::Name { name: Ident { name: format!("{prefix}.{name}").leak(), span }, dynamic }
        }
        FieldDim::Literal(extent) => Dim::Literal { extent, span },
        FieldDim::Any => Dim::Any { span },
    }
}

/// An extent that is `dyn` in one field is `dyn` in all fields of the struct, as it is among parameters.
pub(super) fn unify_dynamic(params: &mut [Param]) {
    let names = |dim: &Dim| match dim {
        Dim::Name { name, dynamic: true } => Some(name.name),
        _ => None,
    };
    let dynamic: Vec<&str> = params.iter().flat_map(|p| p.shape).filter_map(names).collect();
    for param in params {
        let fixed = |dim: &Dim| matches!(dim, Dim::Name { name, dynamic: false } if dynamic.contains(&name.name));
        if param.shape.iter().any(fixed) {
            let unified = |dim: &Dim| match *dim {
                Dim::Name { name, .. } if dynamic.contains(&name.name) => Dim::Name { name, dynamic: true },
                dim => dim,
            };
            param.shape = param.shape.iter().map(unified).collect::<Vec<_>>().leak();
        }
    }
}
