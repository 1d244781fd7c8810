//! Loops of kernels, as iterators. Eager code runs them in order, unless `PYPTO_EAGER` is `reverse` or `shuffle`: then
//! the iterations of `parallel` and `spmd` come in another order, which shows those that are not independent.

use super::at::At;
use crate::config::environment::{EagerOrder as Order, Environment};

/// Blocks of `tile` elements that cover `extents`, row-major; the last ones may be ragged.
///
/// ```
/// use pypto::prelude::*;
/// let places: Vec<_> = tiles([3, 4], [2, 4]).map(|at| (at.offset(0), at.valid(0))).collect();
/// assert_eq!(places, [(0, 2), (2, 1)]);
/// ```
///
/// # Panics
/// Where an extent of `tile` is not positive; it may be 0 where the extent to cover is 0 too.
#[track_caller]
pub fn tiles<const R: usize>(extents: [i64; R], tile: [i64; R]) -> Tiles<R> {
    let covers = |(n, extent): (&i64, &i64)| *n > 0 || (*n == 0 && *extent == 0);
    assert!(tile.iter().zip(&extents).all(covers), "`tiles` with blocks of {tile:?}: extents must be positive");
    let done = extents.iter().any(|n| *n <= 0);
    Tiles { extents, tile, offset: [0; R], done }
}

/// The iterator of [`tiles()`].
#[derive(Clone, Debug)]
pub struct Tiles<const R: usize> {
    extents: [i64; R],
    tile: [i64; R],
    offset: [i64; R],
    done: bool,
}

impl<const R: usize> Iterator for Tiles<R> {
    type Item = At<R>;

    fn next(&mut self) -> Option<At<R>> {
        if self.done {
            return None;
        }
        let valid = std::array::from_fn(|axis| self.tile[axis].min(self.extents[axis] - self.offset[axis]));
        let at = At { offset: self.offset, shape: self.tile, valid };
        self.done = true;
        for axis in (0..R).rev() {
            self.offset[axis] += self.tile[axis];
            if self.offset[axis] < self.extents[axis] {
                self.done = false;
                break;
            }
            self.offset[axis] = 0;
        }
        Some(at)
    }
}

/// Pairs `(i, j)` with `0 <= i < n` and `0 <= j < m`, row-major.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(grid(2, 2).collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
/// ```
pub fn grid(n: i64, m: i64) -> impl Iterator<Item = (i64, i64)> + Clone {
    (0..n).flat_map(move |i| (0..m).map(move |j| (i, j)))
}

/// `lo`, `lo + step`, ... below `hi`.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(range(0, 10, 4).collect::<Vec<_>>(), [0, 4, 8]);
/// ```
///
/// # Panics
/// Where the step is not positive.
#[track_caller]
pub fn range(lo: i64, hi: i64, step: i64) -> std::iter::StepBy<std::ops::Range<i64>> {
    assert!(step > 0, "`range` with a step of {step}: it must be positive");
    (lo..hi).step_by(step as usize)
}

/// Iterations that are independent, so that they may run at once.
///
/// ```
/// use pypto::prelude::*;
/// let mut visited: Vec<i64> = parallel(0..4).collect();
/// visited.sort();
/// assert_eq!(visited, [0, 1, 2, 3]);
/// ```
pub fn parallel<I: IntoIterator>(iterations: I) -> Parallel<I::IntoIter> {
    let iterations = iterations.into_iter();
    match order() {
        Order::Forward => Parallel::Forward(iterations),
        order => Parallel::Reordered(reordered(iterations.collect(), order).into_iter()),
    }
}

/// The iterator of [`parallel()`].
#[derive(Clone, Debug)]
pub enum Parallel<I: Iterator> {
    #[doc(hidden)]
    Forward(I),
    #[doc(hidden)]
    Reordered(std::vec::IntoIter<I::Item>),
}

impl<I: Iterator> Iterator for Parallel<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        match self {
            Parallel::Forward(iterations) => iterations.next(),
            Parallel::Reordered(iterations) => iterations.next(),
        }
    }
}

/// Iterations in order whose loads are started up to `stages` early.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(pipeline(range(0, 6, 2), 2).sum::<i64>(), 6);
/// ```
///
/// # Panics
/// Where `stages` is not positive.
#[track_caller]
pub fn pipeline<I: IntoIterator>(iterations: I, stages: i64) -> I::IntoIter {
    assert!(stages > 0, "`pipeline` with {stages} stages: there must be at least one");
    iterations.into_iter()
}

/// Iterations that are written out when the kernel is specialized.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(unroll(0..3).sum::<i64>(), 3);
/// ```
pub fn unroll<I: IntoIterator>(iterations: I) -> I::IntoIter {
    iterations.into_iter()
}

/// Numbers from 0 to `n - 1`, one for each core; independent as in [`parallel()`].
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(spmd(3).map(|core| core + 1).sum::<i64>(), 6);
/// ```
pub fn spmd(n: i64) -> Parallel<std::ops::Range<i64>> {
    parallel(0..n)
}

/// What `PYPTO_EAGER` asks for.
///
/// # Panics
/// On a wrong variable: eager code has no other way to report it, and ignoring it would hide what was asked for.
fn order() -> Order {
    match Environment::process() {
        Ok(environment) => environment.eager,
        Err(error) => panic!("{error}"),
    }
}

/// The iterations in another order; the shuffle is the same in every run, so that what it shows can be repeated.
fn reordered<T>(mut iterations: Vec<T>, order: Order) -> Vec<T> {
    match order {
        Order::Forward => {}
        Order::Reverse => iterations.reverse(),
        Order::Shuffle => {
            let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
            for i in (1..iterations.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                iterations.swap(i, (state >> 33) as usize % (i + 1));
            }
        }
    }
    iterations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_element_once() {
        for extents in [[0, 3], [1, 1], [5, 7], [4, 8]] {
            let mut seen = vec![0; (extents[0] * extents[1]) as usize];
            for at in tiles(extents, [2, 4]) {
                for i in 0..at.valid(0) {
                    for j in 0..at.valid(1) {
                        seen[((at.offset(0) + i) * extents[1] + at.offset(1) + j) as usize] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{extents:?}: {seen:?}");
        }
    }

    #[test]
    fn other_orders_visit_the_same_iterations() {
        for order in [Order::Forward, Order::Reverse, Order::Shuffle] {
            let mut visited = reordered((0..100).collect(), order);
            assert_eq!(order == Order::Forward, visited.is_sorted());
            visited.sort();
            assert_eq!(visited, (0..100).collect::<Vec<_>>());
        }
    }
}
