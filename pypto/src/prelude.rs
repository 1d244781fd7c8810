//! What a file with kernels imports: `use pypto::prelude::*;`.

pub use crate::config::RunConfig;
// A function and the type of its name are imported together: kernels call the one, the front end resolves the other.
pub use crate::jit::{JitFn, TensorSpec};
pub use crate::language::intrinsics::*;
pub use crate::language::loops::{grid, parallel, pipeline, range, spmd, tiles, unroll};
pub use crate::language::tile::{matmul, matmul_bias, select};
pub use crate::language::{At, Element, Round, Tensor, Tile, View, ViewMut, bf16, f16, scope};
pub use crate::{checkpoint, comptime, device_assert, meta, space, static_assert, static_print};
