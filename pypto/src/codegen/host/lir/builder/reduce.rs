//! Reductions in the fixed order of the numeric contract.
//!
//! A row is summed in 32 partial results, element j into partial j mod 32; then partial i takes partial i + h for h = 16, 8, 4, 2, 1. With
//! W lanes the partials are 32 / W vectors ([`Builder::partials`]); the steps h >= W combine whole vectors, the others are the lane tree.

use super::super::module::Value;
use super::super::op::{Op, Reduce};
use super::super::types::Type;
use super::Builder;

/// Partial results of a row reduction.
pub const PARTIALS: usize = 32;

impl Builder<'_> {
    /// Vectors that hold the 32 partial results of a row reduction: 32 / W.
    pub fn partials(&self) -> usize {
        PARTIALS / self.lanes()
    }

    /// Combines the lanes of one vector by halves.
    pub fn reduce_lanes(&mut self, op: Reduce, vector: Value) -> Value {
        let elem = self.elem(vector);
        self.emit(Op::Reduce(op), &[vector], Type::Scalar(elem))
    }

    /// Combines partial results (vector k holds partials k*W ..) in the order of the contract.
    pub fn reduce_partials(&mut self, op: Reduce, partials: &[Value]) -> Value {
        let mut partials = partials.to_vec();
        while partials.len() > 1 {
            let half = partials.len() / 2;
            partials = (0..half).map(|i| self.bin(op.bin(), partials[i], partials[i + half])).collect();
        }
        self.reduce_lanes(op, partials[0])
    }

    /// Lane i is lane `i ^ distance` of the vector.
    pub fn swap(&mut self, vector: Value, distance: u32) -> Value {
        let ty = self.ty(vector);
        self.emit(Op::Swap(distance), &[vector], ty)
    }

    /// The lanes of a mask as bits of an integer, the first one lowest.
    pub fn mask_bits(&mut self, mask: Value) -> Value {
        self.emit(Op::MaskBits, &[mask], Type::INDEX)
    }

    /// One lane of a vector.
    pub fn extract(&mut self, vector: Value, lane: u32) -> Value {
        let elem = self.elem(vector);
        self.emit(Op::Extract(lane), &[vector], Type::Scalar(elem))
    }
}
