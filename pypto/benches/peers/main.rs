//! `cargo bench -p pypto --bench peers`: the project's kernels beside the same work in other libraries, measured in turn in
//! one run, with the limits of the machine. See [`arguments::USAGE`].

mod arguments;
mod contest;
mod inputs;
mod machine;
mod page;
mod peer;
mod plot;
mod report;
mod scaling;
mod timing;
mod workload;
mod workloads;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, USAGE};
use contest::Row;
use machine::Machine;
use peer::Peer;

fn main() -> ExitCode {
    if let Some(answer) = workloads::first_call::answer(std::env::args().skip(1)) {
        return match writeln!(std::io::stdout(), "{answer}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => return fail(&format!("{message}\n\n{USAGE}")),
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    // Nothing is left to be done where even this fails.
    let _ = writeln!(std::io::stderr(), "{message}");
    ExitCode::FAILURE
}

/// Whether nothing failed, was inexact, or got slower.
fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let mut out = std::io::stdout();
    if let Some(directory) = &arguments.plots {
        return draw(&mut out, arguments, directory).map(|()| true);
    }
    let baseline: Option<Vec<Row>> = match &arguments.compare {
        Some(file) => Some(serde_json::from_str(&std::fs::read_to_string(file)?)?),
        None => None,
    };
    let (mut rows, mut good) = (Vec::new(), true);
    for &threads in &arguments.threads {
        let machine = Machine::measure(threads);
        report::machine(&mut out, &machine)?;
        let mut peers = if arguments.alone { Vec::new() } else { start_peers(&mut out, threads)? };
        report::head(&mut out)?;
        for workload in workloads::all().iter().filter(|w| arguments.wants(w.name)) {
            match contest::measure(workload, &machine, &mut peers, arguments.budget()) {
                Ok(row) => {
                    report::row(&mut out, &row)?;
                    good &= row.is_exact_enough();
                    rows.push(row);
                }
                Err(error) => {
                    writeln!(out, "{:<34} failed: {error}", workload.name)?;
                    good = false;
                }
            }
        }
    }
    report::summary(&mut out, &rows)?;
    if let Some(file) = &arguments.page {
        page::update(file, &rows)?;
    }
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_string_pretty(&rows)?)?;
    }
    if let Some(baseline) = baseline {
        good &= report::compare(&mut out, &rows, &baseline)? == 0;
    }
    Ok(good)
}

/// Plots of time against size.
fn draw(out: &mut impl Write, arguments: &Arguments, directory: &Path) -> Result<(), Box<dyn Error>> {
    let machines: Vec<Machine> = arguments.threads.iter().map(|&threads| Machine::measure(threads)).collect();
    machines.iter().try_for_each(|machine| report::machine(out, machine))?;
    std::fs::create_dir_all(directory)?;
    for plot in scaling::plots(&machines, arguments.budget())? {
        let file = directory.join(format!("{}.svg", plot.name));
        std::fs::write(&file, plot.svg())?;
        writeln!(out, "{}", file.display())?;
    }
    Ok(())
}

/// Those that can be started; what is missing is said.
fn start_peers(out: &mut impl Write, threads: usize) -> std::io::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    let kinds: [(&str, fn(usize) -> Result<Peer, String>); 2] = [("Python", peer::python), ("Rust", peer::rust)];
    for (kind, start) in kinds {
        match start(threads) {
            Ok(peer) => {
                writeln!(out, "peers in {kind}: {}", peer.found)?;
                peers.push(peer);
            }
            Err(reason) => writeln!(out, "peers in {kind}: none ({reason})")?,
        }
    }
    Ok(peers)
}
