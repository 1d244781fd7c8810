//! What the hardware counted while pieces of work ran: a table with a row for each piece, as comma-separated values.

use std::fmt::Write;

use crate::config::PmuEvent;
use crate::runtime::counters::names;
use crate::runtime::recording::Log;

/// The table of a recorded call. Cells are empty where a thread could not count.
pub fn table(log: &Log, set: PmuEvent) -> String {
    let names = names(set);
    let mut text = format!("task,kernel,lane,begin,end,nanoseconds,{}\n", names.join(","));
    for span in &log.spans {
        let kernel = log.tasks.get(span.task as usize).map_or("", |task| &task.kernel);
        let nanoseconds = span.finished.saturating_sub(span.started).as_nanos();
        // Writing to a string cannot fail. Names of kernels are those of functions, without commas.
        let _ = write!(text, "{},{kernel},{},{},{},{nanoseconds}", span.task, span.lane, span.begin, span.end);
        for index in 0..names.len() {
            let count = span.counts.map(|counts| counts[index].to_string());
            let _ = write!(text, ",{}", count.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::recording::{Span, TaskRecord};
    use std::time::Duration;

    #[test]
    fn a_row_for_each_piece() {
        let at = Duration::from_nanos;
        let span = |begin, counts| Span { task: 0, lane: 1, begin, end: 8, started: at(10), finished: at(30), counts };
        let log = Log {
            tasks: vec![TaskRecord { kernel: "add".into(), ready: None }],
            spans: vec![span(0, Some([7, 9, 0, 0])), span(4, None)],
            ..Log::default()
        };
        let expected =
            "task,kernel,lane,begin,end,nanoseconds,cycles,instructions\n0,add,1,0,8,20,7,9\n0,add,1,4,8,20,,\n";
        assert_eq!(table(&log, PmuEvent::PipeUtilization), expected);
    }
}
