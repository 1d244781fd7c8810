//! How large the blocks of a product are that go into L0.
//!
//! A block of `rows x cols` of the result reads `rows + cols` lines of operands for each step of K, so that blocks as
//! square and as large as accumulators allow read least; K is as deep as the operands' spaces then allow.

use super::emit::round_up;
use super::product::FRACTAL;
use crate::ir::DType;
use crate::target::{Space, Target};

/// Extents of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub rows: i64,
    pub cols: i64,
    pub depth: i64,
}

/// Extents that are tried, for rows and columns.
const EXTENTS: [i64; 5] = [16, 32, 64, 128, 256];

/// The blocks for a product of the given extents.
pub(super) fn choose(target: &Target, dtype: DType, rows: i64, cols: i64) -> Blocks {
    let size = dtype.size() as i64;
    let acc = target.space(Space::Acc).capacity / 4;
    let (left, right) = (target.space(Space::Left).capacity / size, target.space(Space::Right).capacity / size);
    let (rows, cols) = (round_up(rows, FRACTAL), round_up(cols, FRACTAL));
    let mut best = (f64::INFINITY, Blocks { rows: FRACTAL, cols: FRACTAL, depth: FRACTAL });
    for m in EXTENTS.map(|e| e.min(rows)) {
        for n in EXTENTS.map(|e| e.min(cols)) {
            let depth = (left / m).min(right / n);
            if m * n > acc || depth < FRACTAL {
                continue;
            }
            // Operand elements read for each element of the result, with what the last blocks waste.
            let waste = (round_up(rows, m) * round_up(cols, n)) as f64 / (rows * cols) as f64;
            let reads = waste * (1.0 / m as f64 + 1.0 / n as f64);
            if reads < best.0 {
                let depth = [256, 128, 64, 32, 16].into_iter().find(|k| *k <= depth).unwrap_or(FRACTAL);
                best = (reads, Blocks { rows: m, cols: n, depth });
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{A2A3, A5};

    #[test]
    fn blocks_fit() {
        for target in [&A2A3, &A5] {
            for dtype in [DType::F32, DType::F16, DType::I8] {
                for (m, n) in [(1, 1), (16, 4096), (64, 64), (512, 512), (4096, 17)] {
                    let b = choose(target, dtype, m, n);
                    let size = dtype.size() as i64;
                    assert!(b.rows * b.cols * 4 <= target.space(Space::Acc).capacity);
                    assert!(b.rows * b.depth * size <= target.space(Space::Left).capacity);
                    assert!(b.depth * b.cols * size <= target.space(Space::Right).capacity);
                }
            }
        }
    }
}
