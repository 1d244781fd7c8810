//! Types of values: scalars, tiles with physical and valid extents, tensors with strides, and task events.

use super::dtype::DType;
use super::nodes::ValueId;

/// An extent or stride: known when the kernel was specialized, or an index value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    Const(i64),
    /// A scalar `i64` value that is in scope wherever a type with this extent is used.
    Value(ValueId),
}

impl Extent {
    /// The constant, if it is one.
    pub fn constant(self) -> Option<i64> {
        match self {
            Extent::Const(n) => Some(n),
            Extent::Value(_) => None,
        }
    }

    /// The value, if it is one.
    pub fn value(self) -> Option<ValueId> {
        match self {
            Extent::Const(_) => None,
            Extent::Value(v) => Some(v),
        }
    }
}

impl From<i64> for Extent {
    fn from(n: i64) -> Extent {
        Extent::Const(n)
    }
}

/// An on-chip value: physical extents, and per dimension how many leading elements carry data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    pub dtype: DType,
    /// Physical extents, row-major; constants except for whole-tensor values with dynamic extents.
    pub dims: Vec<Extent>,
    /// Valid extents, `0 <= valid <= dim`. Elements outside are unspecified.
    pub valid: Vec<Extent>,
}

impl TileType {
    /// A tile whose every element is valid.
    pub fn full(dtype: DType, dims: impl IntoIterator<Item = impl Into<Extent>>) -> TileType {
        let dims: Vec<Extent> = dims.into_iter().map(Into::into).collect();
        TileType { dtype, valid: dims.clone(), dims }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether every element is valid as far as the type tells.
    pub fn is_full(&self) -> bool {
        self.dims == self.valid
    }

    /// The physical extents where all are constants.
    pub fn constant_dims(&self) -> Option<Vec<i64>> {
        self.dims.iter().map(|d| d.constant()).collect()
    }
}

/// Memory: extents and strides in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    pub dtype: DType,
    pub dims: Vec<Extent>,
    /// Distance in elements between neighbours along each dimension.
    pub strides: Vec<Extent>,
}

impl TensorType {
    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// Strides of a contiguous row-major tensor, where constants and extents express them.
pub fn contiguous_strides(dims: &[Extent]) -> Option<Vec<Extent>> {
    let mut strides = vec![Extent::Const(1); dims.len()];
    for axis in (0..dims.len().saturating_sub(1)).rev() {
        strides[axis] = match (strides[axis + 1], dims[axis + 1]) {
            (Extent::Const(a), Extent::Const(b)) => Extent::Const(a.checked_mul(b)?),
            (Extent::Const(1), other) | (other, Extent::Const(1)) => other,
            _ => return None,
        };
    }
    Some(strides)
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Scalar(DType),
    Tile(TileType),
    Tensor(TensorType),
    /// Completion of a task, for `after` edges.
    Event,
}

impl Type {
    /// The type of index arithmetic.
    pub const INDEX: Type = Type::Scalar(DType::I64);

    /// Element type of a scalar, tile or tensor.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Type::Scalar(d) => Some(*d),
            Type::Tile(t) => Some(t.dtype),
            Type::Tensor(t) => Some(t.dtype),
            Type::Event => None,
        }
    }

    /// The tile type, if it is one.
    pub fn as_tile(&self) -> Option<&TileType> {
        match self {
            Type::Tile(t) => Some(t),
            _ => None,
        }
    }

    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The extents that the type mentions: dims, valid extents and strides.
    pub fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        let (a, b): (&[Extent], &[Extent]) = match self {
            Type::Tile(t) => (&t.dims, &t.valid),
            Type::Tensor(t) => (&t.dims, &t.strides),
            Type::Scalar(_) | Type::Event => (&[], &[]),
        };
        a.iter().chain(b).copied()
    }

    /// Applies `f` to every value that the type mentions.
    pub fn map_values(&mut self, mut f: impl FnMut(ValueId) -> Extent) {
        let (a, b): (&mut [Extent], &mut [Extent]) = match self {
            Type::Tile(t) => (&mut t.dims, &mut t.valid),
            Type::Tensor(t) => (&mut t.dims, &mut t.strides),
            Type::Scalar(_) | Type::Event => (&mut [], &mut []),
        };
        for extent in a.iter_mut().chain(b) {
            if let Extent::Value(v) = *extent {
                *extent = f(v);
            }
        }
    }
}
