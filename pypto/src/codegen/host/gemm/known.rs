//! What is known of the extents of a product, and the way that it is done.

use super::pack::Layout;
use super::words::Packing;
use super::{Gemm, few_columns, few_dots, few_rows, few_tiles};
use crate::codegen::host::cpu::Target;
use crate::codegen::host::lir::{Bin, Builder, Op, Value};

/// What is known of the sizes where the function is written: what they do not need is left out, since most of the time of a compilation
/// goes into code that never runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub way: Way,
    /// The rows that fill no whole panel of MR, where code for just so many pays.
    pub rest_rows: Option<i64>,
    /// The columns are a multiple of NR, and there are some.
    pub whole_columns: bool,
    /// Distance of the columns of B, for the way that has an address for each of many.
    pub column_stride: Option<i64>,
    /// The steps of the inner dimension are whole vectors, for the same way.
    pub whole_squares: bool,
    /// The right factor comes from memory, and fetching ahead helps: see [`few_rows`].
    pub far: bool,
    /// There are steps of the inner dimension, and a multiple of [`few_rows::STEPS`].
    pub whole_depth: bool,
}

/// Code of its own for the last rows, or panels other than the usual ones, save at least one row of so many.
const SHARE: i64 = 32;

/// How a product is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Both factors are packed, block by block.
    Blocked,
    /// So few rows that packing B does not pay, and B has contiguous rows: how many there are, if that is known.
    FewRows(Option<i64>),
    /// So few rows and vectors of columns that all sums are in registers.
    FewColumns { rows: i64, vectors: i64 },
    /// So few rows that B is read in place, for sums in registers.
    FewTiles(i64),
    /// The same with contiguous columns.
    FewDots(Option<i64>),
}

impl Known {
    pub(super) fn of(b: &Builder<'_>, gemm: &Gemm, [left, layout]: [Layout; 2], packing: Packing, mr: usize) -> Known {
        let target = b.target();
        let is_multiple = |value: Value, of: usize| b.as_const(value).is_some_and(|n| n > 0 && n % of as i64 == 0);
        let rows = b.as_const(gemm.m);
        let few = match layout {
            _ if layout.is_row_contiguous() => Some((few_rows::most(packing), Way::FewRows(rows))),
            _ if few_dots::fits(layout) => Some((few_dots::MOST, Way::FewDots(rows))),
            _ => None,
        };
        let may_be_few = |most: i64| rows.map_or_else(|| !is_rest(b, gemm.m, most), |rows| rows <= most);
        let whole_columns = is_multiple(gemm.n, target.nr());
        let way = match few.filter(|(most, _)| may_be_few(*most)).map_or(Way::Blocked, |(_, way)| way) {
            Way::FewRows(Some(rows)) if whole_columns && few_tiles::fits(target, [left, layout], packing, rows) => {
                Way::FewTiles(rows)
            }
            Way::FewRows(Some(rows)) => b
                .as_const(gemm.n)
                .and_then(|columns| few_columns::vectors(target, rows, columns))
                .map_or(Way::FewRows(Some(rows)), |vectors| Way::FewColumns { rows, vectors }),
            way => way,
        };
        Known {
            way,
            column_stride: b.as_const(gemm.b.col_stride).filter(|_| matches!(way, Way::FewDots(_))),
            whole_squares: is_multiple(gemm.k, target.lanes) && matches!(way, Way::FewDots(_)),
            rest_rows: rows.and_then(|rows| rest_rows(rows, mr as i64, whole_columns)),
            whole_columns,
            far: gemm.b.far && matches!(way, Way::FewRows(Some(rows)) if few_rows::is_long(rows)),
            whole_depth: is_multiple(gemm.k, few_rows::STEPS as usize),
        }
    }

    /// Nothing, for products that are rarely done: they share their code.
    pub(super) fn nothing() -> Known {
        Known {
            way: Way::Blocked,
            column_stride: None,
            whole_squares: false,
            rest_rows: None,
            whole_columns: false,
            far: false,
            whole_depth: false,
        }
    }

    /// The rows of a product that has few, where their number is known.
    pub(super) fn rows(self) -> Option<i64> {
        match self.way {
            Way::Blocked => None,
            Way::FewRows(rows) | Way::FewDots(rows) => rows,
            Way::FewTiles(rows) | Way::FewColumns { rows, .. } => Some(rows),
        }
    }

    /// The part of a function's name that says so.
    pub(super) fn name(self) -> String {
        let rows = |rows: Option<i64>| rows.map_or("any".to_string(), |rows| rows.to_string());
        let way = match self.way {
            Way::Blocked => "blocked".to_string(),
            Way::FewRows(count) => format!("rows_{}", rows(count)),
            Way::FewColumns { rows, vectors } => format!("rows_{rows}_by_{vectors}"),
            Way::FewTiles(count) => format!("tiles_{count}"),
            Way::FewDots(count) => {
                let stride = self.column_stride.map_or(String::new(), |stride| format!("_by_{stride}"));
                format!("dots_{}{stride}{}", rows(count), if self.whole_squares { "_squares" } else { "" })
            }
        };
        let rest = match self.rest_rows.filter(|_| self.way == Way::Blocked) {
            Some(0) => "_m".to_string(),
            Some(rest) => format!("_m{rest}"),
            None => String::new(),
        };
        let flag = |is_set: bool, text: &'static str| if is_set { text } else { "" };
        let flags = [(self.whole_columns, "_n"), (self.whole_depth, "_k"), (self.far, "_far")];
        let flags: String = flags.iter().map(|&(is_set, text)| flag(is_set, text)).collect();
        format!("{way}{rest}{flags}")
    }
}

/// Rows of the panels of A that keep the multipliers busy the longest: of low panels each multiplication waits for the one before.
pub(super) fn panel_rows(target: Target, rows: Option<i64>) -> usize {
    let cycles = |mr: usize| {
        let (mr, rows) = (mr as i64, rows.unwrap_or(0));
        let rest = rows % mr;
        rows - rest + if rest > 0 { rest.max(WAIT) } else { 0 }
    };
    let pays = cycles(target.few_rows_mr) * SHARE < cycles(target.mr) * (SHARE - 1);
    if pays { target.few_rows_mr } else { target.mr }
}

/// Cycles from one multiplication of a sum to the next.
const WAIT: i64 = 4;

/// The rows beyond whole panels. A micro-kernel of its own takes time to compile: it has to save a part of the rows that are computed
/// otherwise, and columns that fill no whole panels would need another.
fn rest_rows(rows: i64, mr: i64, whole_columns: bool) -> Option<i64> {
    let rest = rows % mr;
    let pays = whole_columns && (mr - rest) * SHARE >= rows;
    (rest == 0 || pays).then_some(rest)
}

/// Whether an extent is what is left of a known one, at most a block of more than `most`: it is few in the last block at most.
fn is_rest(b: &Builder<'_>, extent: Value, most: i64) -> bool {
    let Some((Op::Bin(Bin::Min), &[x, y])) = b.definition(extent) else { return false };
    let is_long = |value| b.as_const(value).is_some_and(|n| n > most);
    let is_left = |value| matches!(b.definition(value), Some((Op::Bin(Bin::Sub), &[whole, _])) if is_long(whole));
    is_long(x) && is_left(y) || is_long(y) && is_left(x)
}

#[cfg(test)]
mod tests {
    use super::panel_rows;
    use crate::codegen::host::cpu::{Isa, Target};

    #[test]
    fn few_rows_choose_their_panels() {
        let target = Target::of(Isa::Avx512);
        let of = |rows: i64| panel_rows(target, Some(rows));
        assert_eq!([64, 8, 34, 17, 12, 13, 256, 1002].map(of), [8, 8, 12, 12, 8, 8, 8, 8]);
        assert_eq!(panel_rows(target, None), 8);
        assert_eq!(panel_rows(Target::of(Isa::Avx2), Some(34)), 6);
    }
}
