//! Results at the edges of a matrix, where a tile has fewer rows or columns, and products without steps.

use super::kernel::{self, Tile};
use super::words::Step;
use super::{Kind, Problem};
use crate::codegen::host::lir::{Builder, Cmp, Elem, Type, Value};

/// A tile that reaches over the edge: computed into the scratch tile, of which the valid part is merged into C.
pub(super) fn edge(b: &mut Builder<'_>, kind: Kind, tile: &Tile, scratch: Value, rows: Value, columns: Value) {
    let acc = kind.acc;
    let (operands, optional) = tile.operands();
    let outer = [scratch, rows, columns];
    let args: Vec<Value> = outer.into_iter().chain(operands).chain(optional.into_iter().flatten()).collect();
    let types: Vec<Type> = args.iter().map(|&v| b.ty(v)).collect();
    let whole = if kind.known.whole_columns { "_n" } else { "" };
    let (left, suffixes) = (tile.left.name(b.target()), tile.suffixes());
    b.call(&format!("gemm_edge_{}{whole}{left}{suffixes}", Step::of(kind).name()), &types, &[], &args, |b, p| {
        let (zero, nr, mr) = (b.index(0), b.index(b.target().nr() as i64), b.index(kind.mr as i64));
        let (scratch, whole) = (p[0], tile.of_parameters(&p[3..]));
        let tile = Tile { c: scratch, c_stride: nr, init: scratch, init_stride: zero, adds: zero, ..whole };
        kernel::call(b, kind, kind.mr, &tile);
        let (rows, columns) = (b.min(p[1], mr), b.min(p[2], nr));
        let stride = [whole.c_stride, whole.init_stride, nr];
        b.for_each(zero, rows, 1, |b, i| {
            let offsets = stride.map(|s| b.mul(i, s));
            let [c, init, sums] =
                [(whole.c, 0), (whole.init, 1), (scratch, 2)].map(|(base, s)| b.addr(base, acc, offsets[s]));
            merge_row(b, kind, c, init, sums, whole.adds, columns);
        });
        Vec::new()
    });
}

/// `c[j] = init[j] + sums[j]`, or `sums[j]` alone.
pub(super) fn merge_row(
    b: &mut Builder<'_>,
    kind: Kind,
    c: Value,
    init: Value,
    sums: Value,
    adds: Value,
    columns: Value,
) {
    let zero = b.index(0);
    super::columns(b, kind, zero, columns, |b, j, tail| {
        let sum = b.load_vec(kind.acc, sums, j, None, tail.mask());
        merge(b, kind.acc, [c, init], j, sum, adds, tail.mask());
    });
}

/// A vector of [`merge_row`]: element j of C and of the initial value on.
pub(super) fn merge(
    b: &mut Builder<'_>,
    acc: Elem,
    [c, init]: [Value; 2],
    j: Value,
    sum: Value,
    adds: Value,
    mask: Option<Value>,
) {
    let zero = b.index(0);
    let adds = b.cmp(Cmp::Ne, adds, zero);
    let value = b.if_else(
        adds,
        |b| {
            let old = b.load_vec(acc, init, j, None, mask);
            vec![b.add(old, sum)]
        },
        |_| vec![sum],
    );
    b.store_vec(value[0], c, j, None, mask);
}

/// The product over an empty inner dimension: the initial value, or zeros.
pub(super) fn fill(b: &mut Builder<'_>, acc: Elem, p: &Problem) {
    let (zero, none) = (b.index(0), b.constant(Type::Vector(acc), 0));
    let has_init = b.cmp(Cmp::Ne, p.has_init, zero);
    b.for_each(zero, p.m, 1, |b, i| {
        let (row, init_row) = (b.mul(i, p.c_stride), b.mul(i, p.init_stride));
        let (row, init_row) = (b.addr(p.c, acc, row), b.addr(p.init, acc, init_row));
        let zero = b.index(0);
        b.lanes_loop(zero, p.n, 1, &[vec![]], |b, j, tail, _| {
            let value = b.if_else(has_init, |b| vec![b.load_vec(acc, init_row, j, None, tail.mask())], |_| vec![none]);
            b.store_vec(value[0], row, j, None, tail.mask());
            vec![]
        });
    });
}
