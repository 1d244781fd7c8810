//! Blocks of matrix products on a machine that copies the factors of every block.
//!
//! A block of R x C copies R rows of one factor and C columns of the other: work for the copies is in proportion to 1 / C + 1 / R of the work
//! for the product. Large blocks copy least, equal ones keep all threads busy to the end, and a block with its temporaries has to stay in the
//! caches.

use super::Limits;
use crate::ir::Extent;

/// The smallest blocks: of the rows of several micro-kernels, and of whole cache lines.
const ROWS: i64 = 48;
const COLUMNS: i64 = 64;
/// Rows and columns of a block along an extent that is not known. It may be short: the other one has to suffice for all threads.
const ROWS_OF_UNKNOWN: i64 = 256;
const COLUMNS_OF_UNKNOWN: i64 = 512;
/// Of known extents, all numbers of blocks up to this are looked at.
const MANY: i64 = 64;
/// Bytes of a block with its temporaries, in units of [`Limits::block_bytes`].
const BYTES: i64 = 8;
/// Rows and columns of a block at most: no more columns share a copy of the left factor, and the results of a block, which are read and written
/// for every block of the inner dimension, stay in the outer caches.
const MOST_ROWS: i64 = 576;
const MOST_COLUMNS: i64 = 512;
/// Copying an element of the left or the right factor costs as much as this many multiplications with additions. Some left factors are read
/// where they lie, for about as much; some right factors come as copies that are kept.
const COPY_LEFT: f64 = 4.0;
const COPY_RIGHT: f64 = 3.0;
/// Products with no more rows than this read one factor where it lies, in pieces of its rows, which are best long.
const FEW_ROWS: i64 = 16;
const SHORT_PIECES: f64 = 200.0;
/// What a thread loses when another program interrupts it, as a share of a block.
const INTERRUPTION: f64 = 0.02;
/// Blocks of several sizes take code for each.
const UNEQUAL: f64 = 0.01;

/// A dimension, cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    piece: i64,
    count: i64,
    /// Whether the pieces are of one size.
    equal: bool,
}

impl Cut {
    /// Whether these are all rows of a product that has few.
    fn is_few(self) -> bool {
        self.piece <= FEW_ROWS && self.count == 1
    }
}

/// Rows and columns of a block, for `products` products of that many rows and columns with `bytes` for each element and its temporaries.
pub fn choose(products: i64, rows: Extent, columns: Extent, bytes: i64, limits: &Limits) -> (i64, i64) {
    let rows = cuts(rows, ROWS, 1, ROWS_OF_UNKNOWN);
    let columns = cuts(columns, COLUMNS, COLUMNS, COLUMNS_OF_UNKNOWN);
    let fits = |row: Cut, column: Cut| {
        let is_small = row.piece <= MOST_ROWS && (row.is_few() || column.piece <= MOST_COLUMNS);
        is_small && row.piece.saturating_mul(column.piece).saturating_mul(bytes) <= BYTES * limits.block_bytes
    };
    let mut best = (f64::INFINITY, (ROWS, COLUMNS));
    for (row, column) in rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column))) {
        let cost = cost(products, *row, *column, limits.threads);
        if fits(*row, *column) && cost < best.0 {
            best = (cost, (row.piece, column.piece));
        }
    }
    best.1
}

/// The ways to cut an extent into pieces of about one size, a multiple of `unit`, from the largest on: every number of them that is not large,
/// and then powers of two.
fn cuts(extent: Extent, least: i64, unit: i64, of_unknown: i64) -> Vec<Cut> {
    let Some(extent) = extent.constant() else {
        return vec![Cut { piece: of_unknown, count: 1, equal: true }];
    };
    // Beyond any memory, and rounding up stays in range.
    let extent = extent.clamp(1, 1 << 60);
    let piece = |count: i64| (extent as u64).div_ceil(count as u64).next_multiple_of(unit as u64) as i64;
    let cut = |count| {
        let piece = piece(count);
        Cut {
            piece,
            count: (extent as u64).div_ceil(piece as u64) as i64,
            equal: extent % piece == 0 || piece > extent,
        }
    };
    let many = std::iter::successors(Some(2 * MANY), |count| count.checked_mul(2));
    (1..=MANY).chain(many).take_while(|count| *count == 1 || extent / count >= least).map(cut).collect()
}

/// Time of all that is not multiplication, as a share of the multiplications.
fn cost(products: i64, rows: Cut, columns: Cut, threads: usize) -> f64 {
    let (height, width) = (rows.piece as f64, columns.piece as f64);
    let copies = if rows.is_few() { SHORT_PIECES / width } else { COPY_LEFT / width + COPY_RIGHT / height };
    let blocks = products as f64 * rows.count as f64 * columns.count as f64;
    let threads = threads as f64;
    let waits = if threads > 1.0 {
        let rounds = (blocks / threads).ceil();
        rounds * threads / blocks - 1.0 + INTERRUPTION * threads / blocks
    } else {
        0.0
    };
    let unequal = [rows, columns].iter().filter(|cut| !cut.equal).count();
    copies + waits + UNEQUAL * unequal as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ValueId;

    #[test]
    fn blocks_are_large_equal_and_suffice_for_all_threads() {
        for (threads, products, rows, columns, expected) in [
            (1, 1, 512, 3072, (512, 512)),
            (2, 1, 256, 256, (128, 256)),
            (2, 1, 512, 512, (256, 256)),
            (2, 1, 2048, 2048, (512, 512)),
            (2, 1, 34, 384, (34, 192)),
            (2, 8, 256, 256, (256, 256)),
            (3, 1, 512, 3072, (512, 512)),
            (1, 1, 1, 4096, (1, 4096)),
            (2, 1, 1, 4096, (1, 2048)),
            (2, 1, 8, 8, (8, 64)),
        ] {
            let limits = Limits::for_threads(threads);
            let found = choose(products, Extent::Const(rows), Extent::Const(columns), 4, &limits);
            assert_eq!(found, expected, "{products} products of {rows} x {columns} on {threads} threads");
        }
    }

    /// There may be few rows then: the columns are enough for all threads.
    #[test]
    fn an_unknown_number_of_rows_counts_for_one_block() {
        let unknown = Extent::Value(ValueId(0));
        assert_eq!(choose(1, unknown, Extent::Const(384), 4, &Limits::for_threads(2)), (256, 192));
        assert_eq!(choose(1, unknown, Extent::Const(384), 4, &Limits::for_threads(1)), (256, 384));
    }

    #[test]
    fn any_extent_has_a_block() {
        let extents = [0, 1, 47, 49, 1000, 4097, 1 << 40, i64::MAX].map(Extent::Const);
        for (rows, columns) in extents.iter().flat_map(|rows| extents.map(|columns| (*rows, columns))) {
            let (height, width) = choose(i64::MAX, rows, columns, 8, &Limits::for_threads(7));
            assert!(height > 0 && width > 0 && height * width <= 1 << 20, "{rows:?} x {columns:?}: {height} x {width}");
        }
    }
}
