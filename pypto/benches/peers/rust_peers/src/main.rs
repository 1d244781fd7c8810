//! Peers of the benchmark that are Rust crates: gemm, matrixmultiply, faer, ndarray and candle. Reads lines and answers
//! them, as `peer.rs` of the benchmark says; the cases are those of its workloads, by name.

mod candle;
mod products;
#[path = "../../timing.rs"]
mod timing;

use std::io::{BufRead, Write};
use std::time::Duration;

/// A library that is ready for a case, and what it has to do.
pub struct Contender {
    name: &'static str,
    call: Box<dyn FnMut() -> Result<(), String>>,
}

impl Contender {
    pub fn new(name: &'static str, call: impl FnMut() -> Result<(), String> + 'static) -> Contender {
        Contender { name, call: Box::new(call) }
    }
}

fn main() -> std::io::Result<()> {
    let threads = std::env::args().skip_while(|a| a != "--threads").nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut out = std::io::stdout();
    writeln!(out, "ready gemm 0.19 matrixmultiply 0.3 faer 0.24 ndarray 0.17 candle 0.11")?;
    let mut prepared: Vec<Contender> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (command, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = match command {
            "prepare" => {
                prepared.clear();
                prepared.extend(products::prepare(rest, threads));
                prepared.extend(candle::prepare(rest));
                // Whoever cannot do it after all does not take part.
                prepared.retain_mut(|contender| (contender.call)().is_ok());
                let names: Vec<&str> = prepared.iter().map(|c| c.name).collect();
                format!("contenders {}", names.join(" "))
            }
            "sample" => sample(&mut prepared, rest, threads).unwrap_or_else(|e| format!("failed {e}")),
            _ => format!("failed unknown command {command}"),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn sample(prepared: &mut [Contender], request: &str, threads: usize) -> Result<String, String> {
    let (name, milliseconds) = request.split_once(' ').ok_or("a name and milliseconds")?;
    let milliseconds = milliseconds.parse().map_err(|_| "milliseconds are a number")?;
    let contender = prepared.iter_mut().find(|c| c.name == name).ok_or("it was not prepared")?;
    let samples = timing::slice(threads, Duration::from_millis(milliseconds), &mut contender.call)?;
    let words: Vec<String> = samples.iter().map(|s| format!("{s:.9e}")).collect();
    Ok(format!("samples {}", words.join(" ")))
}

/// Numbers of mean 0 and variance 1.
pub fn normal(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    (0..count).map(|_| (uniform() + uniform() + uniform() + uniform() - 2.0) * 3f32.sqrt()).collect()
}
