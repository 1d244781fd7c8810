//! Operations against formulas written another way.

mod casts;
mod elementwise;
mod layout;
mod products;
mod reductions;

use super::{Array, Element, Shape};

/// A matrix of the given elements.
fn matrix<T: Element>(rows: i64, columns: i64, f: impl Fn(i64, i64) -> T) -> Array {
    let elements = (0..rows * columns).map(|n| f(n / columns.max(1), n % columns.max(1))).collect();
    Array::from_vec(elements, Shape::from([rows, columns]))
}

/// Some numbers without pattern, in [-1, 1).
fn noise(i: i64, j: i64) -> f32 {
    let bits = (i * 7919 + j * 104_729 + 12_345).wrapping_mul(2_654_435_761) as u32;
    (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
}
