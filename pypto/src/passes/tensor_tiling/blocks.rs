//! Chooses which dimensions of a value are cut into blocks, and how large the blocks are.
//!
//! Rows are cut first: row reductions and the left operand of a product follow. Blocks are as large as leaves their
//! temporaries in half of the second-level cache, and as small as gives every thread two of them. Results never depend
//! on the choice: the order of every sum is fixed by the language.

use super::placement::{self, Placement, is_leaf};
use super::plan::Run;
use super::product_blocks;
use crate::ir::{DType, Extent, Function, ValueId};
use crate::ops::{Class, OpKind};
use crate::passes::tensor_tiling::Limits;

/// A loop over blocks of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopPlan {
    /// The dimension of the value that the group was opened for.
    pub axis: usize,
    pub extent: Extent,
    pub block: i64,
}

/// Rows of a matrix product are taken in multiples of this: of the rows of every micro-kernel that the host has.
const ROW_UNIT: i64 = 48;

/// Largest block of rows of a matrix product; more gains nothing once packing is paid for.
const PRODUCT_ROWS: i64 = 192;

/// Smallest block worth a dispatch, in bytes.
const SMALLEST_BLOCK: i64 = 16 << 10;

/// What an extent that is not known counts for.
const UNKNOWN_EXTENT: i64 = 1024;

/// Columns of a block of a column reduction, at most: on the host, and where a buffer has to hold the block.
const LONGEST_PIECE: i64 = 4096;
const SHORT_PIECE: i64 = 512;

/// Rows of a transposed tile are taken in multiples of this: neighbours in memory, a cache line and a vector of them on every host.
const LINE: i64 = 16;

/// Columns are cut at multiples of a cache line.
const COLUMN_UNIT: i64 = 64;

/// Loops for a group that operation `index` opens, and the placement of its value.
pub fn choose(run: &Run<'_>, index: usize, limits: &Limits) -> (Vec<LoopPlan>, Placement) {
    let dims = run.dims(index);
    let chain = Chain::behind(run, index, dims.len(), limits);
    let mut p: Placement = vec![None; dims.len()];
    if chain.largest <= limits.small_bytes {
        return (Vec::new(), p);
    }
    let mut loops: Vec<LoopPlan> = Vec::new();
    let axes = chain.axes(&dims);
    let balanced = chain.balanced(&dims, &axes, limits).filter(|_| !repeats_work(run, index, dims.len(), limits));
    for axis in axes {
        if limits.whole_rows && chain.repeats[axis] && !loops.is_empty() {
            continue;
        }
        let inner = chain.inner(axis, &dims, &loops);
        let block = match balanced {
            Some((rows, _)) if axis + 2 == dims.len() => rows,
            Some((_, columns)) if axis + 1 == dims.len() => columns,
            _ => chain.block(axis, &dims, inner, limits),
        };
        let plan = LoopPlan { axis, extent: dims[axis], block };
        let alone = dims[axis].constant().is_some_and(|n| n <= block);
        if !alone {
            p[axis] = Some(loops.len());
            loops.push(plan);
        }
        let enough = iterations(&loops) >= limits.chunks() && dims[axis + 1..].iter().all(|d| d.constant().is_some());
        let open = balanced.is_some() && axis + 1 < dims.len();
        if enough && !open && inner.saturating_mul(block) <= 2 * chain.budget(limits) {
            break;
        }
    }
    if placement::operands(&run.ops[index], &p, run.function).is_none() {
        // Nothing can be cut: one block.
        return (Vec::new(), vec![None; dims.len()]);
    }
    (loops, p)
}

/// Whether blocks of rows and columns would compute a product, a reduction or an order of rows again for each block along one of the two.
fn repeats_work(run: &Run<'_>, index: usize, rank: usize, limits: &Limits) -> bool {
    let mut p: Placement = vec![None; rank];
    (p[rank - 2], p[rank - 1]) = (Some(0), Some(1));
    let mut work = vec![(index, p)];
    let mut seen = std::collections::HashSet::new();
    while let Some((index, p)) = work.pop() {
        if !seen.insert((index, p.clone())) {
            continue;
        }
        let op = &run.ops[index];
        for (position, q) in placement::operands(op, &p, run.function).unwrap_or_default() {
            let Some((producer, from)) = run.producer(op.operands[position]) else { continue };
            if is_leaf(from) || q.iter().all(Option::is_none) || run.is_apart(op, producer, limits) {
                continue;
            }
            let once = q.contains(&Some(0)) && q.contains(&Some(1));
            let dear = matches!(
                from.kind.class(),
                Class::Matmul | Class::RowReduce | Class::RowArg | Class::ColReduce | Class::ColArg | Class::Permute
            );
            if dear && !once {
                return true;
            }
            work.push((producer, q));
        }
    }
    false
}

/// Bytes of a tile; none for anything else, and no limit where an extent is not known.
pub fn bytes(value: ValueId, function: &Function) -> i64 {
    let Some(tile) = function.ty(value).as_tile() else { return 0 };
    let Some(dims) = tile.constant_dims() else { return i64::MAX };
    dims.into_iter().fold(tile.dtype.size() as i64, i64::saturating_mul)
}

/// Rows one block after the other, for writes whose order counts.
pub fn rows_in_order(dims: &[Extent], limits: &Limits) -> LoopPlan {
    let inner: i64 = dims[1..].iter().map(|d| d.constant().unwrap_or(UNKNOWN_EXTENT)).product::<i64>().max(1) * 4;
    LoopPlan { axis: 0, extent: dims[0], block: (limits.block_bytes / inner).clamp(1, 4096) }
}

/// Iterations of all loops together, as far as known.
fn iterations(loops: &[LoopPlan]) -> i64 {
    let count = |l: &LoopPlan| div_ceil(extent_or_guess(l.extent), l.block);
    loops.iter().map(count).fold(1, i64::saturating_mul)
}

fn extent_or_guess(extent: Extent) -> i64 {
    extent.constant().unwrap_or(UNKNOWN_EXTENT)
}

/// Quotient, rounded up, of numbers that are not negative.
fn div_ceil(n: i64, by: i64) -> i64 {
    n / by + i64::from(n % by != 0)
}

/// What the operations behind a value are like, as far as they could join its group.
struct Chain {
    /// For each dimension how many operations cannot follow a cut of it.
    barriers: Vec<usize>,
    /// For each dimension whether its blocks would each make a reduction again.
    repeats: Vec<bool>,
    product: bool,
    reduces: bool,
    /// Whether rows of memory become columns.
    turns: bool,
    /// Values that are alive together, at most.
    temporaries: i64,
    element: i64,
    /// Bytes of the largest value, or leaf.
    largest: i64,
    /// For each dimension of the value at the end, the elements that one step along it takes of the largest value.
    step: Vec<i64>,
    /// The dimension that is being followed.
    along: usize,
}

impl Chain {
    fn behind(run: &Run<'_>, index: usize, rank: usize, limits: &Limits) -> Chain {
        let mut chain = Chain {
            barriers: vec![0; rank],
            repeats: vec![false; rank],
            product: false,
            reduces: false,
            turns: false,
            temporaries: 0,
            element: 1,
            largest: 0,
            step: vec![1; rank],
            along: 0,
        };
        chain.count(run, index);
        let dims = run.dims(index);
        for axis in (0..rank).filter(|a| dims[*a] != Extent::Const(1)) {
            let mut p: Placement = vec![None; rank];
            p[axis] = Some(0);
            let mut seen = std::collections::HashSet::new();
            chain.along = axis;
            chain.barriers[axis] = chain.follow(run, index, &p, &mut seen, limits);
        }
        chain.temporaries = (chain.temporaries / rank.max(1) as i64).clamp(1, 4);
        chain
    }

    fn count(&mut self, run: &Run<'_>, index: usize) {
        let op = &run.ops[index];
        for value in op.results.iter().chain(&op.operands) {
            self.largest = self.largest.max(bytes(*value, run.function));
        }
        if let Some(value) = op.results.first() {
            self.temporaries += i64::from(!is_leaf(op));
            self.element = self.element.max(run.function.ty(*value).dtype().map_or(1, DType::size) as i64);
        }
    }

    fn measure(&mut self, dims: &[Extent], p: &Placement) {
        let others = dims.iter().zip(p).filter(|(_, cut)| cut.is_none()).map(|(d, _)| extent_or_guess(*d));
        let elements = others.fold(1, i64::saturating_mul);
        self.step[self.along] = self.step[self.along].max(elements);
    }

    /// Counts barriers on the way to the leaves.
    fn follow(
        &mut self,
        run: &Run<'_>,
        index: usize,
        p: &Placement,
        seen: &mut std::collections::HashSet<(usize, Placement)>,
        limits: &Limits,
    ) -> usize {
        if !seen.insert((index, p.clone())) {
            return 0;
        }
        let op = &run.ops[index];
        let Some(demands) = placement::operands(op, p, run.function) else { return 1 };
        self.count(run, index);
        self.measure(&run.dims(index), p);
        self.product |= op.kind.class() == Class::Matmul;
        self.reduces |= matches!(op.kind.class(), Class::ColReduce | Class::ColArg);
        self.turns |= op.kind == OpKind::Transpose;
        let mut barriers = 0;
        for (position, q) in demands {
            let Some((producer, _)) = run.producer(op.operands[position]) else { continue };
            if run.is_apart(op, producer, limits) {
                continue;
            }
            if q.iter().any(Option::is_some) {
                barriers += self.follow(run, producer, &q, seen, limits);
            } else {
                // What is not cut is made before: no barrier, and not part of the group, unless another dimension is cut.
                self.repeats[self.along] |= has_reduction(run, producer);
            }
        }
        barriers
    }

    /// Dimensions worth cutting, in order: those that the most operations can follow.
    fn axes(&self, dims: &[Extent]) -> Vec<usize> {
        let cut = |a: &usize| dims[*a] != Extent::Const(1);
        let fewest = (0..dims.len()).filter(cut).map(|a| self.barriers[a]).min().unwrap_or(0);
        (0..dims.len()).filter(cut).filter(|a| self.barriers[*a] == fewest).collect()
    }

    /// Rows and columns of the blocks of a product that can be cut along both, where its factors are copied.
    fn balanced(&self, dims: &[Extent], axes: &[usize], limits: &Limits) -> Option<(i64, i64)> {
        let n = dims.len();
        let both = self.product && n >= 2 && axes.contains(&(n - 2)) && axes.contains(&(n - 1));
        let one_row = self.product && n >= 2 && dims[n - 2] == Extent::Const(1) && axes.contains(&(n - 1));
        (limits.copies_factors && (both || one_row)).then(|| {
            let others = axes.iter().filter(|axis| **axis + 2 < n).map(|axis| extent_or_guess(dims[*axis]));
            let products = others.fold(1, i64::saturating_mul);
            product_blocks::choose(products, dims[n - 2], dims[n - 1], self.element * self.temporaries, limits)
        })
    }

    fn budget(&self, limits: &Limits) -> i64 {
        if self.product { 4 * limits.block_bytes } else { limits.block_bytes }
    }

    /// Bytes that one step along a dimension takes with its temporaries, inside of one iteration of the loops so far.
    fn inner(&self, axis: usize, dims: &[Extent], loops: &[LoopPlan]) -> i64 {
        let elements = loops.iter().fold(self.step[axis], |n, l| n / extent_or_guess(dims[l.axis]).max(1));
        elements.max(1).saturating_mul(self.element * self.temporaries)
    }

    fn block(&self, axis: usize, dims: &[Extent], inner: i64, limits: &Limits) -> i64 {
        let last = axis + 1 == dims.len();
        let extent = dims[axis].constant();
        let share = extent.map_or(i64::MAX, |n| div_ceil(n, limits.chunks())).max(1);
        if self.product && axis + 2 == dims.len() {
            let largest = (self.budget(limits) / inner / ROW_UNIT * ROW_UNIT).clamp(ROW_UNIT, PRODUCT_ROWS);
            return div_ceil(share.min(largest), ROW_UNIT) * ROW_UNIT;
        }
        if last {
            if self.reduces {
                // A column reduction streams over its rows: long pieces of them come fastest from memory, and the sums stay in L1.
                let longest = if limits.copies_factors { LONGEST_PIECE } else { SHORT_PIECE };
                return (div_ceil(share.min(longest), COLUMN_UNIT) * COLUMN_UNIT).max(COLUMN_UNIT);
            }
            let widest = if self.product { 512 } else { self.budget(limits) / inner };
            return (div_ceil(share.min(widest), COLUMN_UNIT) * COLUMN_UNIT).max(COLUMN_UNIT);
        }
        let largest = (self.budget(limits) / inner).max(1);
        let smallest = (SMALLEST_BLOCK / inner).max(1);
        let block = share.clamp(smallest.min(largest), largest);
        if self.turns && limits.copies_factors && axis + 2 == dims.len() {
            let lines = dividing(extent.map(|n| div_ceil(n, LINE)), div_ceil(block, LINE));
            return lines * LINE;
        }
        dividing(extent, block)
    }
}

/// Whether a value is made by way of a reduction.
fn has_reduction(run: &Run<'_>, index: usize) -> bool {
    let mut open = vec![index];
    let mut seen = std::collections::HashSet::new();
    while let Some(index) = open.pop() {
        if !seen.insert(index) {
            continue;
        }
        let op = &run.ops[index];
        if matches!(op.kind.class(), Class::RowReduce | Class::RowArg | Class::ColReduce | Class::ColArg) {
            return true;
        }
        open.extend(op.operands.iter().filter_map(|operand| run.producer(*operand)).map(|(producer, _)| producer));
    }
    false
}

/// The block, or a slightly smaller one that leaves no remainder.
fn dividing(extent: Option<i64>, block: i64) -> i64 {
    let Some(extent) = extent else { return block };
    (div_ceil(block, 2)..=block).rev().find(|b| extent % b == 0).unwrap_or(block)
}
