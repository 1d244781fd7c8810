//! The program after each pass, as text. A pass that changes nothing has no file; the index says so.

use std::path::PathBuf;

use crate::ir::Program;
use crate::ir::text::{PrintOptions, print};
use crate::staged::write_whole;

/// Where dumps go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DumpSink {
    /// No dumps.
    #[default]
    Nowhere,
    /// Into [`PassReport::dumps`](super::manager::PassReport::dumps).
    Memory,
    /// Into files of a directory, which is made where missing: `00_frontend.ir`, `NN_after_X.ir` for every pass that changes
    /// the program, and [`INDEX`].
    Directory(PathBuf),
}

/// The file that names every pass in order, a line each: its number and name, and the file of the program after it.
pub const INDEX: &str = "index.txt";

/// What a line of the index says in place of a file.
const UNCHANGED: &str = "changed nothing";

/// Writes dumps while passes run.
pub(super) struct Dumps<'a> {
    sink: &'a DumpSink,
    options: PrintOptions,
    /// The text that the last pass left.
    last: String,
    index: String,
    files: Vec<(String, String)>,
}

impl<'a> Dumps<'a> {
    pub(super) fn new(sink: &'a DumpSink, options: PrintOptions) -> Dumps<'a> {
        Dumps { sink, options, last: String::new(), index: String::new(), files: Vec::new() }
    }

    /// The program after the pass of this number; number 0 is the program that came in.
    ///
    /// # Errors
    /// A file that cannot be written, with its name.
    pub(super) fn after(&mut self, name: &str, number: usize, program: &Program) -> Result<(), String> {
        if *self.sink == DumpSink::Nowhere {
            return Ok(());
        }
        let text = print(program, self.options);
        if text == self.last {
            self.index += &format!("{number:02} {name}: {UNCHANGED}\n");
            return Ok(());
        }
        let after = if number == 0 { "" } else { "after_" };
        let file = format!("{number:02}_{after}{name}.ir");
        self.index += &format!("{number:02} {name}: {file}\n");
        match self.sink {
            DumpSink::Directory(_) => self.write(&file, &text)?,
            _ => self.files.push((file, text.clone())),
        }
        self.last = text;
        Ok(())
    }

    /// What goes to memory, with the index.
    ///
    /// # Errors
    /// An index that cannot be written.
    pub(super) fn finish(mut self) -> Result<Vec<(String, String)>, String> {
        match self.sink {
            DumpSink::Nowhere => {}
            DumpSink::Memory => self.files.push((INDEX.to_owned(), std::mem::take(&mut self.index))),
            DumpSink::Directory(_) => self.write(INDEX, &self.index)?,
        }
        Ok(self.files)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let DumpSink::Directory(directory) = self.sink else { return Ok(()) };
        let path = directory.join(file);
        std::fs::create_dir_all(directory)
            .and_then(|()| write_whole(&path, text.as_bytes()))
            .map_err(|error| format!("cannot write dump `{}`: {error}", path.display()))
    }
}

/// The index of passes of which those from `number` on ran again: the lines of the earlier ones from the old index, the
/// others from the new one.
pub fn joined_index(old: &str, new: &str, number: usize) -> String {
    let kept = old.lines().filter(|line| number_of(line).is_some_and(|n| n < number));
    kept.chain(new.lines()).map(|line| format!("{line}\n")).collect()
}

/// The number that a dump's name or a line of the index begins with.
pub fn number_of(text: &str) -> Option<usize> {
    text.split(['_', ' ']).next()?.parse().ok()
}
