//! Time an element against size, from what fits into the first cache to what fits into none.

use std::time::Duration;

use pypto::jit::Result;

use crate::machine::Machine;
use crate::plot::{Plot, Series};
use crate::workload::{Prepared, Work};
use crate::workloads::{activation, attention, normalization, product};

/// Bytes of all tensors together.
const SIZES: [i64; 6] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20];

/// One kernel at one size.
struct Point {
    prepared: Prepared,
    work: Work,
    /// Of the result.
    elements: i64,
}

/// A kernel at any size.
struct Family {
    name: &'static str,
    title: &'static str,
    at: fn(threads: usize, bytes: i64) -> Result<Point>,
}

const FAMILIES: [Family; 4] = [
    Family { name: "matmul", title: "square product of matrices, f32", at: matmul },
    Family { name: "softmax", title: "softmax of rows of 256, f32", at: softmax },
    Family { name: "attention", title: "attention, heads of up to 1024 x 64, f32", at: flash },
    Family { name: "chain", title: "chain of ten operations, f32", at: chain },
];

fn matmul(threads: usize, bytes: i64) -> Result<Point> {
    let n = ((bytes / 12) as f64).sqrt() as i64;
    let work = Work { flops: 2.0 * (n * n * n) as f64, ..Work::elements(2 * n * n, n * n) };
    Ok(Point { prepared: product::of_f32(threads, n, n, n)?, work, elements: n * n })
}

fn softmax(threads: usize, bytes: i64) -> Result<Point> {
    let elements = bytes / 8;
    let prepared = normalization::softmax(threads, elements / 256, 256)?;
    Ok(Point { prepared, work: Work::elements(elements, elements), elements })
}

fn flash(threads: usize, bytes: i64) -> Result<Point> {
    let positions = bytes / (4 * 4 * attention::DEPTH);
    let (length, heads) = (positions.min(1024), (positions / 1024).max(1));
    let elements = heads * length * attention::DEPTH;
    let work = Work { flops: 4.0 * (elements * length) as f64, ..Work::elements(3 * elements, elements) };
    Ok(Point { prepared: attention::attention(threads, heads, [length, length], false)?, work, elements })
}

fn chain(threads: usize, bytes: i64) -> Result<Point> {
    let elements = bytes / 8;
    let prepared = activation::chain_of_ops(threads, elements)?;
    Ok(Point { prepared, work: Work::elements(elements, elements), elements })
}

/// The plots, with a measured line and a limit for each machine.
///
/// # Errors
/// What the compiler or a call says.
pub fn plots(machines: &[Machine], budget: Duration) -> Result<Vec<Plot>> {
    FAMILIES.iter().map(|family| plot(family, machines, budget)).collect()
}

fn plot(family: &Family, machines: &[Machine], budget: Duration) -> Result<Plot> {
    let mut series = Vec::new();
    for machine in machines {
        let (mut measured, mut limits) = (Vec::new(), Vec::new());
        for bytes in SIZES {
            let Point { mut prepared, work, elements } = (family.at)(machine.threads, bytes)?;
            let samples = prepared.call.samples(machine.threads, budget / 2)?;
            let best = samples.into_iter().fold(f64::INFINITY, f64::min);
            measured.push((bytes as f64, best / elements as f64 * 1e9));
            limits.push((bytes as f64, machine.limit(&work).0 / elements as f64 * 1e9));
        }
        let threads = if machine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", machine.threads) };
        series.push(Series { name: threads.clone(), points: measured, limit: false });
        series.push(Series { name: format!("limit, {threads}"), points: limits, limit: true });
    }
    Ok(Plot { name: family.name.to_owned(), title: family.title.to_owned(), series })
}
