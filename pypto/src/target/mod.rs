//! What accelerators are like, as data: memory spaces, the element types that operations take, conversions, costs.
//!
//! A [`Target`] is passed to everything that needs one; nothing here is global, so one process compiles for several.

pub mod conversions;
pub mod cost;
pub mod elements;
pub mod space;

pub use cost::Costs;
pub use space::{Space, SpaceInfo};

use conversions::Conversion;

/// An accelerator.
#[derive(Debug, PartialEq)]
pub struct Target {
    /// The name in options, and in `pto.target_arch`.
    pub name: &'static str,
    /// The product.
    pub product: &'static str,
    /// The value of the assembler's `--pto-arch`.
    pub assembler_arch: &'static str,
    pub spaces: &'static [SpaceInfo],
    /// Cores that multiply matrices, and cores that compute on vectors.
    pub cube_cores: usize,
    pub vector_cores: usize,
    /// Conversions that one instruction does.
    pub conversions: &'static [Conversion],
    pub elements: elements::Elements,
    pub costs: Costs,
    /// The method that sets the number of blocks of a task in orchestration code.
    pub block_method: &'static str,
}

/// Ascend 910B.
pub static A2A3: Target = Target {
    name: "a2a3",
    product: "Ascend 910B",
    assembler_arch: "a3",
    spaces: &space::A2A3,
    cube_cores: 24,
    vector_cores: 48,
    conversions: conversions::A2A3,
    elements: elements::A2A3,
    costs: cost::A2A3,
    block_method: "set_block_num",
};

/// Ascend 950.
pub static A5: Target = Target {
    name: "a5",
    product: "Ascend 950",
    assembler_arch: "a5",
    spaces: &space::A5,
    cube_cores: 36,
    vector_cores: 72,
    conversions: conversions::A5,
    elements: elements::A5,
    costs: cost::A5,
    block_method: "set_core_num",
};

/// Every accelerator.
pub static ALL: [&Target; 2] = [&A2A3, &A5];

impl Target {
    /// The accelerator of that name.
    pub fn named(name: &str) -> Option<&'static Target> {
        ALL.into_iter().find(|target| target.name == name)
    }

    /// What is known of a memory space.
    pub fn space(&self, space: Space) -> &SpaceInfo {
        // Every table has a row for each space, in the order of `Space`: a test holds it to that.
        &self.spaces[space as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_every_space() {
        for target in ALL {
            for space in Space::ALL {
                assert_eq!(target.space(space).space, space);
                assert_eq!(target.space(space).capacity % target.space(space).alignment, 0);
            }
            assert_eq!(Target::named(target.name), Some(target));
        }
    }
}
