//! What is known of the parameters of a compiled program: plain data, in memory and in manifests.
//!
//! A leaf: it names nothing but the types of the IR.

use serde::{Deserialize, Serialize};

use crate::ir::{DType, Direction, Extent, Function, ParamRole, Type, ValueId};

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamInfo {
    pub name: String,
    /// How its memory is used.
    pub direction: Direction,
    /// Whether the program declares it as a result: annotated functions return it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
    #[serde(flatten)]
    pub kind: ParamKind,
}

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamKind {
    Tensor {
        dtype: DType,
        extents: Vec<ParamExtent>,
    },
    Scalar {
        dtype: DType,
        /// The bits that the program was specialized on, zero-extended; others are refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fixed: Option<u64>,
    },
}

/// An extent of a tensor parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamExtent {
    /// The only one accepted.
    Fixed(i64),
    /// Any; equal wherever the name is equal. The name of an `i64` scalar parameter means its value.
    Dynamic(String),
}

impl ParamInfo {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self.kind {
            ParamKind::Tensor { dtype, .. } | ParamKind::Scalar { dtype, .. } => dtype,
        }
    }

    /// The extents; `None` for a scalar.
    pub fn extents(&self) -> Option<&[ParamExtent]> {
        match &self.kind {
            ParamKind::Tensor { extents, .. } => Some(extents),
            ParamKind::Scalar { .. } => None,
        }
    }
}

impl std::fmt::Display for ParamExtent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParamExtent::Fixed(extent) => write!(f, "{extent}"),
            ParamExtent::Dynamic(name) => f.write_str(name),
        }
    }
}

impl std::fmt::Display for ParamInfo {
    /// As a signature: `x: f32[M, 64] in`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.dtype())?;
        if let Some(extents) = self.extents() {
            write!(f, "[{}]", extents.iter().map(ParamExtent::to_string).collect::<Vec<_>>().join(", "))?;
        }
        write!(f, " {}", self.direction.name())
    }
}

/// The parameters of a function that a caller gives or receives, in order: tensors and scalars, without the hidden ones.
/// `fixed` are the bits of scalars that the program was specialized on, by position.
pub fn parameters(function: &Function, fixed: &[Option<u64>]) -> Vec<ParamInfo> {
    let given = function.params.iter().filter(|p| matches!(p.role, ParamRole::Tensor | ParamRole::Scalar));
    given
        .enumerate()
        .map(|(index, param)| {
            let kind = match function.ty(param.value) {
                Type::Tensor(ty) => ParamKind::Tensor {
                    dtype: ty.dtype,
                    extents: ty.dims.iter().map(|extent| param_extent(function, *extent)).collect(),
                },
                Type::Scalar(dtype) => ParamKind::Scalar { dtype: *dtype, fixed: fixed.get(index).copied().flatten() },
                // The verifier admits no other parameters of these roles.
                _ => ParamKind::Scalar { dtype: DType::I64, fixed: None },
            };
            ParamInfo { name: param.name.clone(), direction: param.direction, returned: param.returned, kind }
        })
        .collect()
}

fn param_extent(function: &Function, extent: Extent) -> ParamExtent {
    match extent {
        Extent::Const(n) => ParamExtent::Fixed(n),
        Extent::Value(value) => ParamExtent::Dynamic(symbol(function, value)),
    }
}

/// The name of a run-time extent: that of its parameter, with the position where names repeat.
fn symbol(function: &Function, value: ValueId) -> String {
    let Some(position) = function.params.iter().position(|p| p.value == value) else {
        return format!("value{}", value.0);
    };
    let name = &function.params[position].name;
    let is_only = function.params.iter().filter(|p| p.name == *name).count() == 1;
    if is_only { name.clone() } else { format!("{name}_{position}") }
}
