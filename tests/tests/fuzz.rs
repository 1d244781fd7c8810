//! Damaged texts of real programs: whatever is read from them verifies or is refused, and what verifies goes through the passes,
//! without a panic. `PYPTO_FUZZ_SECONDS` is how long (2), `PYPTO_RANDOM_SEED` where it starts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pypto::frontend::instantiate;
use pypto::ir::Program;
use pypto::ir::text::{PrintOptions, print};
use pypto::kernels;
use pypto::prelude::*;
use pypto_tests::program_text::run;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Programs as the front end makes them, and after the passes.
fn programs() -> Vec<Program> {
    let (f, i) = (|dims: &[i64]| TensorSpec::new(pypto::ir::DType::F32, dims), pypto::ir::DType::I32);
    let mut programs = vec![
        kernels::softmax::<f32>.lower(&(f(&[37, 19]), f(&[37, 19]))).unwrap(),
        kernels::moe_gate::<f32>.lower(&(f(&[9, 8]), f(&[12, 8]), TensorSpec::new(i, [9, 3]), f(&[9, 3]))).unwrap(),
    ];
    let (q, lengths) = (f(&[1, 2, 9, 8]), TensorSpec::new(i, [1]));
    let samples = (q.clone(), q.clone(), q.clone(), lengths, q);
    programs.push(kernels::attention::<f32>.lower(&samples).unwrap());
    let key = kernels::attention::<f32>.key(&samples).unwrap();
    programs.push(instantiate(kernels::attention::<f32>.ir(), &key.specialization).unwrap());
    programs
}

/// The text with some of its words left out, doubled, exchanged, or with other numbers.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            _ => lines[at] = damaged_line(&lines[at], random),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

fn damaged_line(line: &str, random: &mut Random) -> String {
    const PIECES: [&str; 14] =
        ["0", "-1", "1", "9223372036854775807", "4294967296", "i64", "f32", "bool", "[", "]", "%0", "%1", "%7", "{"];
    let mut words: Vec<&str> = line.split_inclusive(|c: char| !c.is_alphanumeric() && c != '%' && c != '-').collect();
    if words.is_empty() {
        return PIECES[random.below(PIECES.len())].to_owned();
    }
    let (at, other) = (random.below(words.len()), random.below(words.len()));
    match random.below(4) {
        0 => drop(words.remove(at)),
        1 => words.swap(at, other),
        2 => words.insert(at, words[other]),
        _ => {
            let end = words[at].chars().last().filter(|c| !c.is_alphanumeric());
            return words[..at].concat()
                + PIECES[random.below(PIECES.len())]
                + &end.map_or(String::new(), String::from)
                + &words[at + 1..].concat();
        }
    }
    words.concat()
}

#[test]
fn damaged_programs_do_not_panic() {
    let texts: Vec<String> = programs().iter().map(|program| print(program, PrintOptions::FULL)).collect();
    let end = Instant::now() + Duration::from_secs(number("PYPTO_FUZZ_SECONDS", 2));
    let mut random = Random(number("PYPTO_RANDOM_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    while Instant::now() < end {
        let text = damaged(&texts[random.below(texts.len())], &mut random);
        match catch_unwind(AssertUnwindSafe(|| run(&text))) {
            Ok(outcome) => *counts.entry(outcome).or_default() += 1,
            Err(_) => panic!("this text panics:\n{text}"),
        }
    }
    println!("{counts:?}");
    assert!(counts.contains_key("through all passes"), "{counts:?}");
}

/// Extents of run time that turn out to be known, and larger than their tile: found by `cargo fuzz`.
#[test]
fn extents_that_turn_out_to_be_wrong_are_refused() {
    let text = r#"
        program "f" entry @f
        fn @f incore (%0 "x": tensor<f32>[1536, 384] in, %1 "y": tensor<f32>[1536, 384] inout) {
          %2: i64 = constant() {value = 0, dtype = i64}
          %3: i64 = constant() {value = 385, dtype = i64}
          %4: i64 = constant() {value = 512, dtype = i64}
          for(%2, %3, %4) {loop = parallel} do (%5: i64) {
            %6: i64 = sub(%3, %5)
            %7: i64 = min(%4, %6)
            %8: tile<f32>[1536, 256; 1536, %7] = load(%0, %2, %5)
            store(%8, %1, %2, %5)
          }
        }"#;
    assert_eq!(run(text), "refused by a pass");
}
