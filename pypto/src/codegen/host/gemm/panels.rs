//! Right factors that come in panels: the tensor that the factor is a part of, once more, in the order of the micro-kernel. Whoever calls
//! may have such a copy, or not; where there is one, blocks of B are read from it and nothing is packed.
//!
//! The copy of a matrix of `depth` x `columns` has a panel for every NR columns, and in each panel NR elements for every row: element
//! (i, j) is at `(j / NR * depth + i) * NR + j % NR`. Columns beyond the matrix are zeros.

use serde::{Deserialize, Serialize};

use super::kernel::{self, Ahead};
use super::{Gemm, Kind, Way, in_place};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Value};

/// A parameter of a kernel that may come in panels too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelParameter {
    /// Index among the kernel's parameters: a matrix whose rows are contiguous.
    pub parameter: usize,
    /// Columns of a panel.
    pub width: usize,
    /// Whether the panels are those of the matrix transposed.
    pub transposed: bool,
}

/// The copy, as a kernel's arguments name it.
#[derive(Clone, Copy, Debug)]
pub struct Panels {
    /// Its address as an integer: 0 where this call has none.
    pub address: Value,
    /// Its address.
    pub ptr: Value,
    /// Rows of the tensor.
    pub depth: Value,
    /// Row and column of the factor's first element in the tensor.
    pub first: [Value; 2],
}

/// The same for a driver: from the factor's first element on.
#[derive(Clone, Copy)]
pub(super) struct Source {
    /// 1 where there is a copy that serves this factor, else 0.
    there: Value,
    start: Value,
    depth: Value,
}

/// Whether a product would read panels: it packs blocks of a right factor of f32.
pub fn fits(b: &mut Builder<'_>, gemm: &Gemm) -> bool {
    let kind = super::kind(b, gemm);
    let blocked = match kind.known.way {
        Way::Blocked | Way::FewRows(None) | Way::FewDots(None) => true,
        Way::FewRows(Some(_)) | Way::FewTiles(_) | Way::FewColumns { .. } | Way::FewDots(Some(_)) => false,
    };
    kind.acc == Elem::F32
        && kind.b.elem == Elem::F32
        && blocked
        && in_place::small(b, gemm, kind).is_none()
        && super::in_place_if_whole(b, gemm).is_none()
}

impl Panels {
    /// What a driver takes as [`Source`]. A factor that begins inside a panel is not served.
    pub(super) fn arguments(self, b: &mut Builder<'_>) -> [Value; 3] {
        let (zero, one, nr) = (b.index(0), b.index(1), b.index(b.target().nr() as i64));
        let inside = b.urem(self.first[1], nr);
        let (given, whole) = (b.cmp(Cmp::Ne, self.address, zero), b.cmp(Cmp::Eq, inside, zero));
        let serves = b.and(given, whole);
        let (panel, row) = (b.mul(self.first[1], self.depth), b.mul(self.first[0], nr));
        let offset = b.add(panel, row);
        [b.select(serves, one, zero), b.addr(self.ptr, Elem::F32, offset), self.depth]
    }
}

/// Where the panels of a block of B are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub start: Value,
    /// Elements between panels, for each of their columns.
    pub for_column: Value,
}

impl Source {
    pub(super) fn from_params(p: &[Value]) -> Source {
        Source { there: p[0], start: p[1], depth: p[2] }
    }

    /// The block from row `k0` and column `j0` on, or `packed`.
    pub(super) fn block(self, b: &mut Builder<'_>, k0: Value, j0: Value, packed: Place) -> Place {
        let (nr, there) = (b.index(b.target().nr() as i64), self.is_there(b));
        let (panel, row) = (b.mul(j0, self.depth), b.mul(k0, nr));
        let offset = b.add(panel, row);
        let start = b.addr(self.start, Elem::F32, offset);
        Place {
            start: b.select(there, start, packed.start),
            for_column: b.select(there, self.depth, packed.for_column),
        }
    }

    pub(super) fn is_there(self, b: &mut Builder<'_>) -> Value {
        let zero = b.index(0);
        b.cmp(Cmp::Ne, self.there, zero)
    }
}

/// Where the panel after `panel` begins to be fetched while the rows from `i` on are computed with `panel`: each of the row panels fetches
/// another part of it. Beyond the last panel of a block that is the next rows of the first.
pub(super) fn ahead(
    b: &mut Builder<'_>,
    kind: Kind,
    place: Place,
    [j, columns]: [Value; 2],
    i: Value,
    depth: Value,
) -> Ahead {
    let target = b.target();
    let (nr, mr) = (b.index(target.nr() as i64), b.index(kind.mr as i64));
    let next = b.add(j, nr);
    let is_last = b.cmp(Cmp::Ge, next, columns);
    let (along, below) = (b.mul(next, place.for_column), b.mul(depth, nr));
    let offset = b.select(is_last, below, along);
    let panel = b.addr(place.start, kind.acc, offset);
    let row_panel = b.udiv(i, mr);
    let fetched = b.index(kernel::FETCHED);
    let part = b.mul(depth, fetched);
    let (skipped, all) = (b.mul(row_panel, part), b.mul(depth, nr));
    let skipped = b.min(skipped, all);
    Ahead::Elements(b.addr(panel, kind.acc, skipped))
}

#[cfg(test)]
mod tests {
    use super::super::tests::GUARD;
    use super::super::{Init, Operand, emit, scratch_bytes};
    use super::*;
    use crate::codegen::host::cpu::Target;
    use crate::codegen::host::harness::{call, load, runnable};
    use crate::codegen::host::lir::Module;

    /// Kernel `k` over (a, b, c, address, m, n, k, rows of the tensor, first row, first column, columns of the tensor): the right factor is
    /// a part of a tensor, or of its transpose.
    fn module(target: Target, transposed: bool) -> Module {
        let mut module = Module::new(target);
        module.kernel("k", |b| {
            let one = b.index(1);
            let strides = if transposed { [one, b.arg_i64(7)] } else { [b.arg_i64(10), one] };
            let operand = |ptr, [row_stride, col_stride]: [Value; 2]| Operand {
                far: false,
                ptr,
                elem: Elem::F32,
                signed: true,
                row_stride,
                col_stride,
            };
            let (a, right) = (b.arg_ptr(0), b.arg_ptr(1));
            let a_strides = [b.arg_i64(6), one];
            let first = [b.arg_i64(8), b.arg_i64(9)];
            let gemm = Gemm {
                m: b.arg_i64(4),
                n: b.arg_i64(5),
                k: b.arg_i64(6),
                most: [None; 3],
                padded: false,
                a: operand(a, a_strides),
                b: operand(right, strides),
                panels: Some(Panels { address: b.arg_i64(3), ptr: b.arg_ptr(3), depth: b.arg_i64(7), first }),
                c: b.arg_ptr(2),
                c_stride: b.arg_i64(5),
                init: Init::Accumulate,
                scratch: b.scratch(),
            };
            assert!(fits(b, &Gemm { panels: None, ..gemm }));
            emit(b, &gemm);
        });
        module
    }

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let next = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some((*state >> 8) as f32 / (1 << 23) as f32 - 1.0)
        };
        std::iter::repeat_with({
            let mut state = seed;
            move || next(&mut state).unwrap_or(0.0)
        })
        .take(count)
        .collect()
    }

    /// Parts of a tensor in panels give the results of the same parts where they lie, and only the panels are read; parts that begin
    /// inside a panel are read where they lie.
    #[test]
    fn panels_give_what_the_factor_gives() {
        for target in runnable() {
            let nr = target.nr();
            for transposed in [false, true] {
                let image = load(&module(target, transposed));
                for [m, n, k, row, column] in [
                    [17, 70, 40, 0, 0],
                    [34, 64, 300, 0, 2 * nr],
                    [64, 1100, 270, 3, nr],
                    [500, 33, 20, 7, nr],
                    [64, 40, 30, 2, 3],
                    [40, 0, 9, 0, 0],
                    [40, 9, 0, 0, 0],
                    [3, 40, 9, 0, 0],
                ] {
                    let [depth, across] = [k + row + 2, n + column + 5];
                    let (a, mut tensor, old) = (numbers(m * k, 1), numbers(depth * across, 2), numbers(m * n, 3));
                    let place = |i: usize, j: usize| if transposed { j * depth + i } else { i * across + j };
                    let mut panels = vec![0f32; across.next_multiple_of(nr) * depth];
                    for (i, j) in (0..depth).flat_map(|i| (0..across).map(move |j| (i, j))) {
                        panels[(j / nr * depth + i) * nr + j % nr] = tensor[place(i, j)];
                    }
                    let words = scratch_bytes(target, Some(n), Some(k)).div_ceil(8);
                    let run = |tensor: &[f32], panels: u64| {
                        let (mut c, mut scratch) = (old.clone(), vec![u64::MAX; words + GUARD]);
                        let factor = tensor.as_ptr().wrapping_add(place(row, column)) as u64;
                        let extents = [m, n, k, depth, row, column, across].map(|extent| extent as u64);
                        let args = [a.as_ptr() as u64, factor, c.as_mut_ptr() as u64, panels];
                        call(&image, "k", &[&args[..], &extents].concat(), (0, 0), &mut scratch);
                        assert!(scratch[words..].iter().all(|word| *word == u64::MAX));
                        c.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                    };
                    let want = run(&tensor, 0);
                    let reads_panels = column % nr == 0 && m > super::super::few_rows::MOST as usize;
                    if reads_panels {
                        tensor.fill(f32::NAN);
                    }
                    let name = format!("{m}x{n}x{k} at ({row}, {column}) {transposed} on {}", target.isa.name());
                    assert!(run(&tensor, panels.as_ptr() as u64) == want, "{name}");
                }
            }
        }
    }
}
