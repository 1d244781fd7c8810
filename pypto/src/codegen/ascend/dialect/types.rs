//! Types of the dialect.

use crate::ir::DType;
use crate::target::Space;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// `!pto.ptr<T>`.
    Pointer(DType),
    Index,
    /// A number; `bool` is `i1`.
    Scalar(DType),
    /// `!pto.tensor_view<?x?xT>`.
    View {
        rank: usize,
        dtype: DType,
    },
    /// `!pto.partition_tensor_view<64x?xT>`; `None` is `?`.
    Partition {
        dims: Vec<Option<i64>>,
        dtype: DType,
    },
    Tile(TileTy),
}

/// Order of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    None,
    Row,
    Column,
}

impl Order {
    /// The spelling in tile types.
    pub const fn name(self) -> &'static str {
        match self {
            Order::None => "none_box",
            Order::Row => "row_major",
            Order::Column => "col_major",
        }
    }
}

/// `!pto.tile_buf<..>`: a tile in a memory space.
#[derive(Clone, Debug, PartialEq)]
pub struct TileTy {
    pub space: Space,
    pub dtype: DType,
    pub rows: i64,
    pub cols: i64,
    /// Valid extents; `None` is `?`, known when the handle is made.
    pub valid: [Option<i64>; 2],
    /// Order of blocks, and of elements within a block; without blocks the first is that of elements.
    pub outer: Order,
    pub inner: Order,
    pub fractal: i64,
}

impl TileTy {
    /// A tile of vector elements in row order, or in column order.
    pub fn vector(dtype: DType, rows: i64, cols: i64, outer: Order) -> TileTy {
        TileTy { space: Space::Vec, dtype, rows, cols, valid: [None; 2], outer, inner: Order::None, fractal: 512 }
    }

    /// A tile of a matrix space, in the blocks that the matrix unit wants there.
    pub fn matrix(space: Space, dtype: DType, rows: i64, cols: i64) -> TileTy {
        let (outer, inner, fractal) = match space {
            Space::Right => (Order::Row, Order::Column, 512),
            Space::Acc => (Order::Column, Order::Row, 1024),
            Space::Bias => (Order::Row, Order::None, 512),
            _ => (Order::Column, Order::Row, 512),
        };
        TileTy { space, dtype, rows, cols, valid: [None; 2], outer, inner, fractal }
    }

    /// Bytes of the whole tile.
    pub fn bytes(&self) -> i64 {
        self.rows * self.cols * self.dtype.size() as i64
    }

    /// Whether the text fixes the valid extents.
    pub fn is_static(&self) -> bool {
        self.valid.iter().all(Option::is_some)
    }
}

/// The spelling of an element type.
pub const fn element_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "i1",
        DType::U8 => "ui8",
        DType::U16 => "ui16",
        DType::U32 => "ui32",
        other => other.name(),
    }
}

/// The element type of a spelling.
pub fn element_named(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|d| element_name(*d) == name)
}
