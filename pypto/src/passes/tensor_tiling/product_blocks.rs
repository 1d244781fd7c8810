//! Blocks of matrix products on a machine that copies the factors of every block.
//!
//! A block of R x C copies R rows of one factor and C columns of the other: work for the copies is in proportion to 1 / R + 1 / C of the work
//! for the product. Large blocks copy least, small ones spread best over threads, and a block with its temporaries has to stay in the caches.

use super::Limits;

/// Rows of a matrix product are taken in multiples of this: of the rows of every micro-kernel that the host has.
const ROWS: [i64; 7] = [48, 96, 144, 192, 288, 384, 576];
/// Columns are cut at multiples of a cache line, and in long pieces, as they lie in memory.
const COLUMNS: [i64; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Bytes of a block with its temporaries, in units of [`Limits::block_bytes`].
const BYTES: i64 = 8;
/// Copying an element costs as much as this many multiplications with additions.
const COPY: f64 = 14.5;
/// Products with no more rows than this read one factor where it lies, in pieces of its rows, which are best long.
const FEW_ROWS: i64 = 16;
const SHORT_PIECES: f64 = 200.0;

/// Rows and columns of a block, for a product of that many rows and columns with `bytes` for each element and its temporaries.
pub fn choose(rows: i64, columns: i64, bytes: i64, limits: &Limits) -> (i64, i64) {
    let mut best = (f64::INFINITY, (ROWS[0], COLUMNS[0]));
    for (r, c) in ROWS.iter().flat_map(|&r| COLUMNS.map(|c| (r, c))) {
        let (height, width) = (r.min(rows).max(1), c.min(columns).max(1));
        if height.saturating_mul(width).saturating_mul(bytes) > BYTES * limits.block_bytes {
            continue;
        }
        let cost = cost(rows, columns, (height, width), limits.threads);
        if cost < best.0 {
            best = (cost, (r, c));
        }
    }
    best.1
}

/// Time of all that is not multiplication, as a share of the multiplications.
fn cost(rows: i64, columns: i64, (height, width): (i64, i64), threads: usize) -> f64 {
    let copies =
        if rows <= FEW_ROWS { SHORT_PIECES / width as f64 } else { COPY / height as f64 + COPY / width as f64 };
    let blocks = (rows as f64 / height as f64).ceil() * (columns as f64 / width as f64).ceil();
    // At the end a thread waits for half a block of another.
    let waits = if threads > 1 { 0.5 * threads as f64 / blocks } else { 0.0 };
    copies + waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_large_and_suffice_for_all_threads() {
        for (threads, rows, columns, expected) in [
            (1, 512, 3072, (576, 512)),
            (2, 512, 3072, (384, 256)),
            (2, 256, 256, (192, 64)),
            (1, 1, 4096, (48, 4096)),
            (2, 1, 4096, (48, 1024)),
            (2, 8, 8, (48, 64)),
        ] {
            assert_eq!(choose(rows, columns, 8, &Limits::for_threads(threads)), expected, "{rows} x {columns}");
        }
    }
}
