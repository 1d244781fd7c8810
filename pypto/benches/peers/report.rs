//! The table, and what became slower since a baseline.

use std::io::{Result, Write};

use crate::contest::Row;
use crate::machine::Machine;

/// Seconds with three digits and a unit.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

pub fn machine(out: &mut impl Write, machine: &Machine) -> Result<()> {
    write!(out, "{} threads: {:.0} GF/s of f32; GB/s read and copied:", machine.threads, machine.flops / 1e9)?;
    for level in &machine.levels {
        write!(out, " {} {:.0} {:.0};", level.name, level.read / 1e9, level.copy / 1e9)?;
    }
    writeln!(out)
}

pub fn head(out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{:<34} {:>2} {:>9} {:>6} {:>22} {:>9} {:>6} {:>15} {:>17}  other peers",
        "workload", "th", "time", "noise", "best peer", "its time", "ratio", "of the limit", "error (allowed)"
    )
}

pub fn row(out: &mut impl Write, row: &Row) -> Result<()> {
    let noise = format!("{:.0} %", (row.median / row.best - 1.0) * 100.0);
    let (peer, its) = row.best_peer().map_or(("none found", String::new()), |p| (p.name.as_str(), time(p.best)));
    let ratio = row.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
    let limit = format!("{:.0} % {:<7}", 100.0 * row.share_of_limit(), row.limited_by);
    let verdict = if row.is_exact_enough() { "" } else { " TOO LARGE" };
    let error = format!("{:.0e} ({:.0e}){verdict}", row.error, row.tolerance);
    let mut others: Vec<_> = row.peers.iter().filter(|p| p.name != peer).collect();
    others.sort_by(|a, b| a.best.total_cmp(&b.best));
    let others: Vec<String> = others.iter().map(|p| format!("{} {}", p.name, time(p.best))).collect();
    writeln!(
        out,
        "{:<34} {:>2} {:>9} {noise:>6} {peer:>22} {its:>9} {ratio:>6} {limit:>15} {error:>17}  {}",
        row.name,
        row.threads,
        time(row.best),
        others.join(", ")
    )?;
    out.flush()
}

/// Geometric means of the ratios, for each number of threads and over all rows; and the rows that lose.
pub fn summary(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    let mut counts: Vec<usize> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    for threads in counts {
        let of_count = rows.iter().filter(|row| row.threads == threads);
        writeln!(out, "geometric mean of the ratios, {threads} threads: {}", mean(of_count))?;
    }
    writeln!(out, "geometric mean of the ratios, all rows: {}", mean(rows.iter()))?;
    let mut losing: Vec<(f64, &Row)> = rows.iter().filter_map(|row| Some((row.ratio()?, row))).collect();
    losing.retain(|(ratio, _)| *ratio < 1.0);
    losing.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (ratio, row) in losing {
        writeln!(out, "  behind: {} on {} threads, {ratio:.2}", row.name, row.threads)?;
    }
    Ok(())
}

fn mean<'r>(rows: impl Iterator<Item = &'r Row>) -> String {
    let logarithms: Vec<f64> = rows.filter_map(|row| Some(row.ratio()?.ln())).collect();
    if logarithms.is_empty() {
        return "no peer was found".to_owned();
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    format!("{mean:.2} of {} rows", logarithms.len())
}

/// Differences below this are never called slower.
const LEAST_DIFFERENCE: f64 = 0.07;

/// Names rows whose best time is above that of the baseline by more than the noise of both; how many there are.
pub fn compare(out: &mut impl Write, rows: &[Row], baseline: &[Row]) -> Result<usize> {
    let mut slower = 0;
    for row in rows {
        let Some(before) = baseline.iter().find(|b| b.name == row.name && b.threads == row.threads) else {
            writeln!(out, "new: {} on {} threads", row.name, row.threads)?;
            continue;
        };
        let noise = |row: &Row| row.median / row.best - 1.0;
        let allowed = LEAST_DIFFERENCE.max(noise(row)).max(noise(before));
        let change = row.best / before.best - 1.0;
        if change > allowed {
            slower += 1;
            let (now, then) = (time(row.best), time(before.best));
            writeln!(
                out,
                "slower: {} on {} threads, {then} to {now}, {:+.0} %",
                row.name,
                row.threads,
                change * 100.0
            )?;
        } else if change < -allowed {
            writeln!(out, "faster: {} on {} threads, {:+.0} %", row.name, row.threads, change * 100.0)?;
        }
    }
    writeln!(out, "{slower} rows are slower than the baseline")?;
    Ok(slower)
}
