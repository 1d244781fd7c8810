//! What was edited in an artifact's directory, and what each edit means.

use super::error::ReplayError;
use crate::artifact::PresentArtifact;

/// What a file with a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The program after so many passes, the last of which has this name.
    AfterPasses { count: usize, last: Option<String> },
    /// The program after all passes.
    Lowered,
}

/// The edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The file that tells what the program is now.
    pub program: Option<(String, Stage)>,
    /// Kernels, by place in the manifest, whose LLVM text was edited, with the file.
    pub texts: Vec<(usize, String)>,
    /// Kernels whose object was replaced.
    pub objects: Vec<(usize, String)>,
    /// Files that only tell about the artifact.
    pub others: Vec<String>,
}

impl Changes {
    /// The edits of a directory.
    ///
    /// # Errors
    /// Edits that contradict each other; a listing that nothing is made from.
    pub fn of(present: &PresentArtifact) -> Result<Changes, ReplayError> {
        let mut changes = Changes::default();
        for path in present.edited() {
            if let Some(stage) = stage(present, path) {
                if let Some((first, _)) = &changes.program {
                    return Err(ReplayError::TwoPrograms { first: first.clone(), second: path.to_owned() });
                }
                changes.program = Some((path.to_owned(), stage));
            } else if let Some((stem, end)) = path.rsplit_once('.').filter(|(stem, _)| stem.starts_with("kernels/")) {
                let object = format!("{stem}.o");
                let kernels = &present.manifest.kernels;
                let kernel = kernels.iter().position(|kernel| kernel.object.as_ref() == Some(&object));
                match (kernel, end) {
                    (Some(kernel), "ll") => changes.texts.push((kernel, path.to_owned())),
                    (Some(kernel), "o") => changes.objects.push((kernel, path.to_owned())),
                    _ => {
                        let fix = "edit the `.ll` beside it, or `ir/lowered.ir`";
                        return Err(ReplayError::WithoutEffect { file: path.to_owned(), fix });
                    }
                }
            } else {
                changes.others.push(path.to_owned());
            }
        }
        Ok(changes)
    }

    /// Whether code is to be made anew, or was replaced.
    pub fn change_code(&self) -> bool {
        self.program.is_some() || !self.texts.is_empty() || !self.objects.is_empty()
    }
}

/// What program a file holds, if any.
fn stage(present: &PresentArtifact, path: &str) -> Option<Stage> {
    if path == present.manifest.program {
        return Some(Stage::Lowered);
    }
    if Some(path) == present.manifest.source.as_deref() {
        return Some(Stage::AfterPasses { count: 0, last: None });
    }
    let name = path.strip_prefix("passes_dump/")?.strip_suffix(".ir")?;
    let (number, rest) = name.split_once('_')?;
    Some(Stage::AfterPasses { count: number.parse().ok()?, last: rest.strip_prefix("after_").map(str::to_owned) })
}
