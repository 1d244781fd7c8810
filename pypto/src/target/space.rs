//! On-chip memory spaces. Global memory is not among them: nobody plans it here.

use std::fmt;

/// A memory space of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The vector unit's buffer (UB).
    Vec,
    /// The matrix unit's first level (L1).
    Mat,
    /// Left operands of products (L0A).
    Left,
    /// Right operands of products (L0B).
    Right,
    /// Accumulators (L0C).
    Acc,
    /// Biases that products start from.
    Bias,
}

impl Space {
    /// Every space, in declaration order.
    pub const ALL: [Space; 6] = [Space::Vec, Space::Mat, Space::Left, Space::Right, Space::Acc, Space::Bias];

    /// The spelling in tile types.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Vec => "vec",
            Space::Mat => "mat",
            Space::Left => "left",
            Space::Right => "right",
            Space::Acc => "acc",
            Space::Bias => "bias",
        }
    }

    /// The space of that name.
    pub fn named(name: &str) -> Option<Space> {
        Space::ALL.into_iter().find(|space| space.name() == name)
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A space of a target.
#[derive(Debug, PartialEq, Eq)]
pub struct SpaceInfo {
    pub space: Space,
    /// Bytes that may be planned.
    pub capacity: i64,
    /// Addresses are multiples of this many bytes.
    pub alignment: i64,
    /// Spaces that one move reaches.
    pub moves_to: &'static [Space],
    /// Whether global memory is read into it, and written from it.
    pub loads: bool,
    pub stores: bool,
}

const KIB: i64 = 1024;

const fn info(space: Space, capacity: i64, moves_to: &'static [Space], loads: bool, stores: bool) -> SpaceInfo {
    SpaceInfo { space, capacity, alignment: 32, moves_to, loads, stores }
}

/// 192 KiB of vector buffer, the last 8 KiB of which the instruction library uses.
pub(super) static A2A3: [SpaceInfo; 6] = [
    info(Space::Vec, 184 * KIB, &[Space::Vec], true, true),
    info(Space::Mat, 512 * KIB, &[Space::Left, Space::Right, Space::Bias], true, false),
    info(Space::Left, 64 * KIB, &[], false, false),
    info(Space::Right, 64 * KIB, &[], false, false),
    info(Space::Acc, 128 * KIB, &[Space::Mat], false, true),
    info(Space::Bias, KIB, &[], false, false),
];

/// 248 KiB of vector buffer, the last 8 KiB of which the instruction library uses.
pub(super) static A5: [SpaceInfo; 6] = [
    info(Space::Vec, 240 * KIB, &[Space::Vec, Space::Mat], true, true),
    info(Space::Mat, 512 * KIB, &[Space::Left, Space::Right, Space::Bias], true, false),
    info(Space::Left, 64 * KIB, &[], false, false),
    info(Space::Right, 64 * KIB, &[], false, false),
    info(Space::Acc, 256 * KIB, &[Space::Mat, Space::Vec], false, true),
    info(Space::Bias, 4 * KIB, &[], false, false),
];
