//! How far a batch is: a bar on terminals, and a line for each entry.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use pypto::tools::execution::{BatchProgress, BatchSummary, Status};

use super::print;

/// Tells events of a batch.
#[derive(Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    entries: usize,
}

impl Progress {
    pub fn tell(&mut self, event: BatchProgress<'_>) {
        match event {
            BatchProgress::Begun { entries, already_finished } => {
                self.entries = entries;
                if std::io::stderr().is_terminal() {
                    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}");
                    let bar = ProgressBar::new(entries as u64).with_position(already_finished as u64);
                    self.bar = Some(match style {
                        Ok(style) => bar.with_style(style),
                        Err(_) => bar,
                    });
                }
                if already_finished > 0 {
                    self.line(&format!("{already_finished} of {entries} entries were finished before"));
                }
            }
            BatchProgress::Started { work_dir, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(work_dir.display().to_string());
                }
            }
            BatchProgress::Finished { entry, work_dir, outcome } => {
                let place = format!("[{}/{}]", entry + 1, self.entries);
                let mut text = format!("{place} {}: {}", outcome.status.name(), work_dir.display());
                if let Some(problem) = outcome.problem.as_ref().filter(|_| outcome.status != Status::Passed) {
                    text += &format!("\n  {}", problem.replace('\n', "\n  "));
                }
                self.line(&text);
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
            }
        }
    }

    /// The last line.
    pub fn end(&self, summary: &BatchSummary) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let BatchSummary { passed, failed, usage, infrastructure } = summary;
        print(&format!("{passed} passed, {failed} failed, {usage} with wrong options, {infrastructure} not set up\n"));
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print(&format!("{text}\n"))),
            None => print(&format!("{text}\n")),
        };
    }
}
