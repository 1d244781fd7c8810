//! Recorded checkpoints in files.
//!
//! A file is in the format `safetensors`: a tensor for each checkpoint, named by its number and name, and under the key
//! [`KEY`] of the metadata a list that says where each stands. So other tools can read the values.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::{Report, ReportKind, Shown};
use crate::ir::{DType, FileId, Loc};
use crate::ops::reference::{Array, Data, Element, Scalar, Shape, with_element};
use crate::staged::write_whole;

/// The key of the metadata.
const KEY: &str = "pypto.checkpoints";

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("cannot access `{}`: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("`{}` is no recording of checkpoints: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("`{}` has no recordings of checkpoints: run the program with `PYPTO_CHECKPOINTS` set to it", path.display())]
    Empty { path: PathBuf },
}

/// What the metadata tells of a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name of its tensor in the file.
    tensor: String,
    name: String,
    origin: String,
    file: String,
    line: u32,
    column: u32,
    scalar: bool,
}

/// Writes the checkpoints of a call to a file: whole, or not at all.
///
/// # Errors
/// A path that cannot be written.
pub fn write_recording(path: &Path, checkpoints: &[Report]) -> Result<(), RecordingError> {
    let damaged = |reason: String| RecordingError::Damaged { path: path.to_owned(), reason };
    let (mut entries, mut tensors) = (Vec::new(), Vec::new());
    for (number, report) in checkpoints.iter().enumerate() {
        let Some(value) = report.values.first() else { continue };
        let tensor = format!("{number:05} {}", report.text);
        entries.push(Entry {
            tensor: tensor.clone(),
            name: report.text.clone(),
            origin: report.origin.clone(),
            file: report.loc.file.name().to_owned(),
            line: report.loc.line,
            column: report.loc.column,
            scalar: matches!(value, Shown::Scalar(_)),
        });
        tensors.push((tensor, Stored::of(value)));
    }
    let list = serde_json::to_string(&entries).map_err(|error| damaged(error.to_string()))?;
    let metadata = HashMap::from([(KEY.to_owned(), list)]);
    let bytes = safetensors::serialize(tensors, Some(metadata)).map_err(|error| damaged(error.to_string()))?;
    write_whole(path, &bytes).map_err(|error| RecordingError::Io { path: path.to_owned(), error })
}

/// Reads the checkpoints of a call.
///
/// # Errors
/// A path that cannot be read; a file that is none of [`write_recording`].
pub fn read_recording(path: &Path) -> Result<Vec<Report>, RecordingError> {
    let damaged = |reason: String| RecordingError::Damaged { path: path.to_owned(), reason };
    let bytes = std::fs::read(path).map_err(|error| RecordingError::Io { path: path.to_owned(), error })?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
    let list = metadata.metadata().as_ref().and_then(|all| all.get(KEY));
    let list = list.ok_or_else(|| damaged(format!("its metadata has no `{KEY}`")))?;
    let entries: Vec<Entry> = serde_json::from_str(list).map_err(|error| damaged(error.to_string()))?;
    let report = |entry: Entry| {
        let view = file.tensor(&entry.tensor).map_err(|error| damaged(error.to_string()))?;
        let dims: Vec<i64> = view.shape().iter().map(|extent| *extent as i64).collect();
        let value = value(view.dtype(), &dims, view.data(), entry.scalar);
        let value = value.ok_or_else(|| damaged(format!("`{}` is of no known type", entry.tensor)))?;
        let loc = Loc::new(FileId::intern(&entry.file), entry.line, entry.column, entry.line, entry.column + 1);
        Ok(Report { kind: ReportKind::Checkpoint, text: entry.name, origin: entry.origin, loc, values: vec![value] })
    };
    entries.into_iter().map(report).collect()
}

/// The recordings at a path, in order: a file, or those of a directory that `PYPTO_CHECKPOINTS` named.
///
/// # Errors
/// As [`read_recording`]; a directory without recordings.
pub fn read_recordings(path: &Path) -> Result<Vec<Vec<Report>>, RecordingError> {
    if !path.is_dir() {
        return Ok(vec![read_recording(path)?]);
    }
    let files = recordings_in(path).map_err(|error| RecordingError::Io { path: path.to_owned(), error })?;
    if files.is_empty() {
        return Err(RecordingError::Empty { path: path.to_owned() });
    }
    files.iter().map(|file| read_recording(file)).collect()
}

/// Whether something is there that [`read_recordings`] reads.
pub fn is_recording_path(path: &Path) -> bool {
    let file = path.is_file() && path.extension().is_some_and(|extension| extension == "safetensors");
    file || (path.is_dir() && recordings_in(path).is_ok_and(|files| !files.is_empty()))
}

fn recordings_in(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("call-").and_then(|rest| rest.strip_suffix(".safetensors"));
        if number.is_some_and(|number| number.len() == 5 && number.bytes().all(|b| b.is_ascii_digit())) {
            files.push(directory.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// Writes the checkpoints of the next call of the process into a directory. What an earlier process recorded there goes.
///
/// # Errors
/// A directory that cannot be written.
pub(super) fn write_next(directory: &Path, checkpoints: &[Report]) -> Result<(), RecordingError> {
    static CALLS: Mutex<usize> = Mutex::new(0);
    let io = |error| RecordingError::Io { path: directory.to_owned(), error };
    let mut calls = CALLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if *calls == 0 {
        std::fs::create_dir_all(directory).map_err(io)?;
        recordings_in(directory).and_then(|old| old.iter().try_for_each(std::fs::remove_file)).map_err(io)?;
    }
    write_recording(&directory.join(format!("call-{:05}.safetensors", *calls)), checkpoints)?;
    *calls += 1;
    Ok(())
}

/// Element types and their names in the files.
pub const TYPES: [(DType, Dtype); 11] = [
    (DType::Bool, Dtype::BOOL),
    (DType::I8, Dtype::I8),
    (DType::I16, Dtype::I16),
    (DType::I32, Dtype::I32),
    (DType::I64, Dtype::I64),
    (DType::U8, Dtype::U8),
    (DType::U16, Dtype::U16),
    (DType::U32, Dtype::U32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
];

fn value(dtype: Dtype, dims: &[i64], bytes: &[u8], scalar: bool) -> Option<Shown> {
    let (dtype, _) = TYPES.into_iter().find(|(_, stored)| *stored == dtype)?;
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let mut words = bytes.chunks_exact(dtype.size()).map(word);
    if scalar {
        return Some(Shown::Scalar(Scalar { dtype, bits: words.next()? }));
    }
    let shape = Shape::new(dims);
    let data = with_element!(dtype, T => T::wrap(words.map(T::from_bits64).collect()));
    (shape.len() == dims.len()).then_some(Shown::Tensor(Array { dims: shape, valid: shape, data }))
}

/// A value as the file format wants it.
struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Stored {
    fn of(value: &Shown) -> Stored {
        let dtype = value.dtype();
        let stored = TYPES.iter().find(|(known, _)| *known == dtype).map_or(Dtype::U8, |(_, stored)| *stored);
        let data: Data = value.elements();
        let bytes = with_element!(dtype, T => {
            let elements = T::slice(&data).unwrap_or(&[]).iter();
            elements.flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(dtype.size())).collect()
        });
        Stored { dtype: stored, shape: value.extents().iter().map(|extent| *extent as usize).collect(), bytes }
    }
}

impl View for Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> std::borrow::Cow<'_, [u8]> {
        (&self.bytes).into()
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}
