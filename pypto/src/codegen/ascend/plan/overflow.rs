//! The diagnostic of tiles that do not fit.

use super::Buffer;
use crate::codegen::ascend::dialect::{Function, Inst, Kind, Place, TileTy, Value};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::{FileId, Loc};
use crate::target::{Space, Target};

/// Tiles that live together at the fullest moment, and what would fit.
pub(super) fn diagnostic(
    function: &Function,
    target: &Target,
    space: Space,
    buffers: &[Buffer],
    used: i64,
) -> Diagnostic {
    let capacity = target.space(space).capacity;
    let own: Vec<&Buffer> = buffers.iter().filter(|b| b.space == space).collect();
    let live_at = |moment: usize| own.iter().filter(move |b| b.begin <= moment && moment <= b.end);
    let bytes_at = |moment: usize| live_at(moment).map(|b| b.bytes).sum::<i64>();
    let moments = own.iter().map(|b| b.begin);
    let peak = moments.max_by_key(|m| (bytes_at(*m), std::cmp::Reverse(*m))).unwrap_or(0);
    let mut live: Vec<&&Buffer> = live_at(peak).collect();
    live.sort_by_key(|b| (-b.bytes, b.handle));
    let needed = bytes_at(peak).max(used);
    let place = live.first().and_then(|b| place_of(&function.body, b.handle));
    let title = format!(
        "kernel `{}` needs {needed} bytes of `{space}`, target `{}` has {capacity}",
        function.name, target.name
    );
    let mut diagnostic =
        Diagnostic::error(codes::MEMORY, loc(place), title, "the largest of the tiles that live together");
    let mut table = String::from("tiles that live together at the fullest moment:");
    for buffer in &live {
        let Some(tile) = function.tile(buffer.handle) else { continue };
        table += &format!("\n  {}", row(function, buffer.handle, tile));
        if let Some(place) = place_of(&function.body, buffer.handle) {
            table += &format!(", {}:{}", place.file.name(), place.line);
        }
    }
    diagnostic = diagnostic.note(table);
    match live.first().and_then(|b| function.tile(b.handle)).and_then(|tile| rows_that_fit(tile, needed, capacity)) {
        Some(rows) => diagnostic.help(format!("tiles of {rows} rows fit")),
        None => {
            match live.first().and_then(|b| function.tile(b.handle)).and_then(|t| columns_that_fit(t, needed, capacity))
            {
                Some(columns) => diagnostic.help(format!("tiles of 1 row and {columns} columns fit")),
                None => diagnostic.help("use smaller tiles"),
            }
        }
    }
}

fn row(function: &Function, handle: Value, tile: &TileTy) -> String {
    format!("{}: {} x {} of {}, {} bytes", function.name_of(handle), tile.rows, tile.cols, tile.dtype, tile.bytes())
}

/// All tiles shrink with their rows.
fn rows_that_fit(tile: &TileTy, needed: i64, capacity: i64) -> Option<i64> {
    let rows = tile.rows * capacity / needed.max(1);
    let rows = if rows >= 16 { rows / 8 * 8 } else { rows };
    (rows > 0 && rows < tile.rows).then_some(rows)
}

/// Of one row, where not even one fits.
fn columns_that_fit(tile: &TileTy, needed: i64, capacity: i64) -> Option<i64> {
    let columns = tile.cols * tile.rows * capacity / needed.max(1) / 64 * 64;
    (columns > 0 && columns < tile.cols).then_some(columns)
}

fn place_of(body: &[Inst], handle: Value) -> Option<Place> {
    body.iter().find_map(|inst| match inst.kind {
        Kind::Alloc { result, .. } if result == handle => inst.place,
        _ => inst.bodies().into_iter().find_map(|body| place_of(body, handle)),
    })
}

fn loc(place: Option<Place>) -> Loc {
    let nowhere = Place { file: FileId::intern("<kernel>"), line: 1, column: 1 };
    let Place { file, line, column } = place.unwrap_or(nowhere);
    Loc::new(file, line, column, line, column + 1)
}
