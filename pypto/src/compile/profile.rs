//! How long the stages of a compilation took, as a tree: `report/pipeline_profile.txt` and `.json`.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

/// A stage, with the stages inside it. Kernels are compiled in parallel, so stages inside may take longer together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    pub name: String,
    pub duration: Duration,
    pub children: Vec<Stage>,
}

#[derive(Serialize)]
struct Report {
    total_seconds: f64,
    stages: Vec<StageReport>,
}

#[derive(Serialize)]
struct StageReport {
    name: String,
    seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<StageReport>,
}

impl Stage {
    /// A stage without stages inside.
    pub fn new(name: impl Into<String>, duration: Duration) -> Stage {
        Stage { name: name.into(), duration, children: Vec::new() }
    }

    /// The tree as JSON: `{total_seconds, stages: [{name, seconds, children}]}`.
    pub fn to_json(&self) -> String {
        let report = Report {
            total_seconds: self.duration.as_secs_f64(),
            stages: self.children.iter().map(Stage::report).collect(),
        };
        // Plain data always has a text.
        serde_json::to_string_pretty(&report).unwrap_or_default()
    }

    fn report(&self) -> StageReport {
        StageReport {
            name: self.name.clone(),
            seconds: self.duration.as_secs_f64(),
            children: self.children.iter().map(Stage::report).collect(),
        }
    }

    /// The tree as a table: name, time, share of the whole.
    pub fn to_text(&self) -> String {
        let mut text = format!("Compilation of {}\nTotal: {}\n", self.name, time(self.duration));
        self.children.iter().for_each(|stage| stage.write(&mut text, 1, self.duration));
        text
    }

    fn write(&self, text: &mut String, depth: usize, total: Duration) {
        let name = format!("{}{}", "  ".repeat(depth), self.name);
        let share = 100.0 * self.duration.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<48} {:>12} {share:>6.1} %", time(self.duration));
        self.children.iter().for_each(|stage| stage.write(text, depth + 1, total));
    }
}

fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_tables_and_json() {
        let passes = Stage {
            name: "passes".into(),
            duration: Duration::from_millis(3),
            children: vec![Stage::new("inline", Duration::from_micros(30))],
        };
        let all = Stage { name: "p".into(), duration: Duration::from_secs(2), children: vec![passes] };
        let text = all.to_text();
        assert!(text.starts_with("Compilation of p\nTotal: 2.000 s\n  passes"), "{text}");
        assert!(text.contains("    inline") && text.contains("30.0 us"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&all.to_json()).unwrap();
        assert_eq!(json["stages"][0]["children"][0]["name"], "inline");
        assert_eq!(json["total_seconds"], 2.0);
    }
}
