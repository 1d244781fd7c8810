//! An explanation as text.

use std::fmt;

use super::{Explanation, KernelExplanation, Measured};
use crate::codegen::host::lower::{GroupStep, Step, StepKind};

/// A count with a prefix of a thousand.
fn count(value: f64) -> String {
    let (scaled, prefix) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => return format!("{v:.0} "),
    };
    format!("{scaled:.1}{prefix}")
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = &self.work;
        let about = if work.exact { "" } else { "about " };
        writeln!(f, "{} on {} threads", self.name, self.threads)?;
        writeln!(
            f,
            "  work: {about}{}flop, {}functions, {}B read, {}B written; {:.2} operations a byte",
            count(work.flops),
            count(work.functions),
            count(work.read),
            count(work.written),
            work.intensity()
        )?;
        if work.temporary > 0.0 {
            writeln!(f, "  temporary tensors: {}B", count(work.temporary))?;
        }
        if let Some(measured) = &self.measured {
            self.write_measured(f, measured)?;
        }
        self.kernels.iter().try_for_each(|kernel| write_kernel(f, kernel))
    }
}

impl Explanation {
    fn write_measured(&self, f: &mut fmt::Formatter<'_>, measured: &Measured) -> fmt::Result {
        let Measured { time, limits } = measured;
        let (compute, transfer) =
            (self.work.flops / limits.flops, (self.work.read + self.work.written) / limits.bandwidth);
        let least = self.least_time(limits);
        writeln!(
            f,
            "  limit: {:.1} us by {} ({}flop/s, {}B/s); measured {:.1} us, {:.0} % of the limit",
            least * 1e6,
            if compute > transfer { "flops" } else { "bytes" },
            count(limits.flops),
            count(limits.bandwidth),
            time.as_secs_f64() * 1e6,
            100.0 * least / time.as_secs_f64()
        )
    }
}

fn write_kernel(f: &mut fmt::Formatter<'_>, kernel: &KernelExplanation) -> fmt::Result {
    let KernelExplanation { name, loc, calls, iterations, flops, steps, interpreted } = kernel;
    let dealt = if *iterations > 1.0 { "iterations dealt to the threads" } else { "iteration: runs on one thread" };
    let often = if *calls > 1.0 { format!(", {calls:.0} calls") } else { String::new() };
    writeln!(f, "kernel {name} at {loc}: {iterations:.0} {dealt}{often}, {}flop", count(*flops))?;
    if let Some(reason) = interpreted {
        writeln!(f, "  the interpreter runs it: {reason}")?;
    }
    steps.iter().try_for_each(|step| write_step(f, step))
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    let Step { depth, loc, kind } = step;
    write!(f, "{:indent$}", "", indent = 2 + 2 * depth)?;
    match kind {
        StepKind::Loop { trips: Some(trips) } => writeln!(f, "loop of {trips} iterations in order at {loc}"),
        StepKind::Loop { trips: None } => writeln!(f, "loop in order at {loc}"),
        StepKind::Branch => writeln!(f, "condition at {loc}"),
        StepKind::Product => writeln!(f, "product of matrices at {loc}"),
        StepKind::Kept => writeln!(f, "brought to memory of its own: the value made at {loc}"),
        StepKind::ByElement(op) => writeln!(f, "element by element, not as vectors: {} at {loc}", op.name()),
        StepKind::Group(group) => write_group(f, *depth, group),
    }
}

fn write_group(f: &mut fmt::Formatter<'_>, depth: usize, group: &GroupStep) -> fmt::Result {
    let GroupStep { ops, column_loops, row_buffers, vectorized, ended } = group;
    let operations = if ops.len() == 1 { "operation" } else { "operations" };
    let loops = match (vectorized, column_loops) {
        (false, _) => "one value a row, not as vectors".to_owned(),
        (true, 1) => "one pass over a row".to_owned(),
        (true, n) => format!("{n} passes over a row"),
    };
    write!(f, "group of {} {operations}, {loops}", ops.len())?;
    if *row_buffers > 0 {
        write!(f, ", {row_buffers} kept between them")?;
    }
    writeln!(f)?;
    let indent = 4 + 2 * depth;
    let mut line = None;
    for (op, loc) in ops {
        if line == Some(loc.line) {
            write!(f, ", {}", op.name())?;
            continue;
        }
        if line.is_some() {
            writeln!(f)?;
        }
        line = Some(loc.line);
        write!(f, "{:indent$}{loc}: {}", "", op.name())?;
    }
    writeln!(f)?;
    match ended {
        Some(end) => {
            writeln!(f, "{:indent$}ends at {}: `{}` {}", "", end.loc, end.op.name(), end.reason.text())
        }
        None => Ok(()),
    }
}
