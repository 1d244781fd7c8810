//! The measured table in a page of the documentation.

use std::path::Path;

use crate::contest::Row;
use crate::report::time;

/// The lines between which the table stands.
const START: &str = "<!-- measured: cargo bench -p pypto --bench peers -- --page docs/performance.md -->";
const END: &str = "<!-- end of what is measured -->";

/// The rows as a table.
fn table(rows: &[Row]) -> String {
    let mut text =
        String::from("| workload | threads | time | best peer | its time | ratio | of the limit | error |\n");
    text += "|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let (peer, its) = row.best_peer().map_or(("", String::new()), |peer| (peer.name.as_str(), time(peer.best)));
        let ratio = row.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let limit = format!("{:.0} %, {}", 100.0 * row.share_of_limit(), row.limited_by);
        let (name, threads, own, error) = (&row.name, row.threads, time(row.best), row.error);
        text += &format!("| {name} | {threads} | {own} | {peer} | {its} | {ratio} | {limit} | {error:.0e} |\n");
    }
    text
}

/// Puts the rows into the page.
///
/// # Errors
/// The page cannot be read or written, or does not say where the table belongs.
pub fn update(page: &Path, rows: &[Row]) -> std::io::Result<()> {
    let text = std::fs::read_to_string(page)?;
    let parts = text.split_once(START).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(std::io::Error::other(format!("{} has no lines `{START}` and `{END}`", page.display())));
    };
    std::fs::write(page, format!("{before}{START}\n\n{}\n{END}{after}", table(rows)))
}
