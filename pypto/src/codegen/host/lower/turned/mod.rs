//! Tiles that lie column by column, so that rows lie across the lanes.
//!
//! [`families`] chooses the tiles, [`fit`] says which fusion groups are emitted for them and what memory that takes, [`group`] emits those:
//! rows outside, a vector at a time, and the columns inside, with [`reduction`] over the columns and [`square`] where other memory lies row
//! by row.

mod families;
mod fit;
mod group;
mod reduction;
mod square;

pub(super) use families::turned;
pub(super) use fit::{Needs, needs};
pub(super) use group::TurnedGroup;
pub(super) use reduction::PARTIALS;
