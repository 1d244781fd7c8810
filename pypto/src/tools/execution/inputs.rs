//! Where the arguments of an execution come from: files that are named, files that an earlier run left in the artifact's
//! directory, or numbers that are made up, always the same.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::ExecutionError;
use crate::artifact::{CompiledProgram, ParamExtent, ParamInfo, ParamKind};
use crate::golden::{self, TensorFileError, read_tensors, write_tensors};
use crate::ir::{DType, Direction};
use crate::language::DynamicTensor;
use crate::ops::reference::{Element, with_element};
use crate::runtime::dfx::dump_args::{Entry, SCHEMA, Stage};

/// The file of saved inputs, in an artifact's directory.
pub const SAVED_INPUTS: &str = "debug/inputs.safetensors";
/// The file of saved outputs, in an artifact's directory.
pub const SAVED_OUTPUTS: &str = "debug/outputs.safetensors";
/// What `enable_dump_args` leaves in an artifact's directory.
pub const RECORDED_ARGUMENTS: &str = "dfx_outputs/args_dump.json";

/// Tensors by the names of parameters; scalars are tensors with one element.
pub type NamedTensors = BTreeMap<String, DynamicTensor>;

/// Where inputs came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// A file or directory that was named.
    Given(PathBuf),
    /// [`SAVED_INPUTS`].
    Saved(PathBuf),
    /// [`RECORDED_ARGUMENTS`].
    Recorded(PathBuf),
    /// Nowhere: they were made up.
    Generated,
}

impl fmt::Display for InputSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputSource::Given(path) => write!(f, "{}", path.display()),
            InputSource::Saved(path) => write!(f, "saved in {}", path.display()),
            InputSource::Recorded(path) => write!(f, "recorded in {}", path.display()),
            InputSource::Generated => f.write_str("generated: none were given, saved or recorded"),
        }
    }
}

/// The inputs of a run: those of `given`, else [`SAVED_INPUTS`], else [`RECORDED_ARGUMENTS`], else generated ones.
///
/// # Errors
/// A file that cannot be read; extents that only given inputs can tell.
pub fn find_inputs(
    program: &CompiledProgram,
    directory: &Path,
    given: Option<&Path>,
) -> Result<(NamedTensors, InputSource), ExecutionError> {
    if let Some(path) = given {
        return Ok((read_tensors(path)?, InputSource::Given(path.to_owned())));
    }
    let saved = directory.join(SAVED_INPUTS);
    if saved.is_file() {
        return Ok((read_tensors(&saved)?, InputSource::Saved(saved)));
    }
    let recorded = directory.join(RECORDED_ARGUMENTS);
    if recorded.is_file() {
        return Ok((read_recorded(&recorded, Stage::Before)?, InputSource::Recorded(recorded)));
    }
    let wanted = program.params().iter().filter(|param| param.direction != Direction::Out);
    let made = wanted.enumerate().map(|(index, param)| Ok((param.name.clone(), generated(program, index, param)?)));
    Ok((made.collect::<Result<_, ExecutionError>>()?, InputSource::Generated))
}

/// The outputs that an earlier run with saved or recorded inputs left, and the file they are in.
///
/// # Errors
/// A file that cannot be read.
pub fn find_outputs(directory: &Path, inputs: &InputSource) -> Result<Option<(NamedTensors, PathBuf)>, ExecutionError> {
    match inputs {
        InputSource::Saved(_) if directory.join(SAVED_OUTPUTS).is_file() => {
            let path = directory.join(SAVED_OUTPUTS);
            Ok(Some((read_tensors(&path)?, path)))
        }
        InputSource::Recorded(path) => Ok(Some((read_recorded(path, Stage::After)?, path.clone()))),
        _ => Ok(None),
    }
}

/// Writes tensors to a file, whose directory is made where missing.
///
/// # Errors
/// A place that cannot be written.
pub fn save_tensors(path: &Path, tensors: &NamedTensors) -> Result<(), ExecutionError> {
    if let Some(parent) = path.parent() {
        let refused = |error| ExecutionError::Io { action: "make the directory", path: parent.to_owned(), error };
        std::fs::create_dir_all(parent).map_err(refused)?;
    }
    Ok(write_tensors(path, tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)))?)
}

#[derive(Deserialize)]
struct Recorded {
    schema: u32,
    bin_blake3: String,
    args: Vec<Entry>,
}

/// The arguments of the call itself, before or after it.
fn read_recorded(path: &Path, stage: Stage) -> Result<NamedTensors, TensorFileError> {
    let io = |path: &Path, error| TensorFileError::Io { path: path.to_owned(), error };
    let damaged = |reason: String| TensorFileError::Damaged { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|error| io(path, error))?;
    let recorded: Recorded = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if recorded.schema != SCHEMA {
        return Err(damaged(format!("it has schema {}, and {SCHEMA} is read", recorded.schema)));
    }
    let payload = path.with_file_name("args.bin");
    let payload = std::fs::read(&payload).map_err(|error| io(&payload, error))?;
    if blake3::hash(&payload).to_hex().as_str() != recorded.bin_blake3 {
        return Err(damaged("args.bin beside it is of another dispatch; record the arguments again".to_owned()));
    }
    let mut tensors = NamedTensors::new();
    for entry in recorded.args.into_iter().filter(|entry| entry.task.is_none() && entry.stage == stage) {
        let name = &entry.parameter;
        if entry.offset.is_none() {
            return Err(damaged(format!("`{name}` was larger than what is recorded")));
        }
        tensors.insert(name.clone(), tensor_of_entry(&entry, &payload).map_err(damaged)?);
    }
    Ok(tensors)
}

/// A value that was recorded; `payload` has its bytes.
///
/// # Errors
/// What is wrong with its description.
pub(in crate::tools) fn tensor_of_entry(entry: &Entry, payload: &[u8]) -> Result<DynamicTensor, String> {
    let name = &entry.parameter;
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == entry.dtype);
    let dtype = dtype.ok_or_else(|| format!("`{name}` has the unknown type `{}`", entry.dtype))?;
    let bytes = entry.offset.and_then(|offset| payload.get(offset..offset.checked_add(entry.bytes)?));
    let bytes = bytes.ok_or_else(|| format!("the bytes of `{name}` are not in args.bin"))?;
    tensor_of_bytes(dtype, entry.extents.as_deref().unwrap_or_default(), bytes)
}

fn tensor_of_bytes(dtype: DType, dims: &[i64], bytes: &[u8]) -> Result<DynamicTensor, String> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let words = bytes.chunks_exact(dtype.size()).map(word);
    let tensor =
        with_element!(dtype, T => DynamicTensor::from_vec(words.map(T::from_bits64).collect::<Vec<T>>(), dims));
    tensor.map_err(|error| error.to_string())
}

/// Numbers between -1 and 1, or small indices: the same in every run.
fn generated(program: &CompiledProgram, index: usize, param: &ParamInfo) -> Result<DynamicTensor, ExecutionError> {
    let refused = |reason: String| ExecutionError::Inputs {
        source_name: "nowhere".to_owned(),
        program: program.name().to_owned(),
        reason,
        parameters: super::arguments::signature(program),
    };
    let dims = param.extents().unwrap_or_default().iter().map(|extent| match extent {
        ParamExtent::Fixed(extent) => Ok(*extent),
        ParamExtent::Dynamic(name) => Err(refused(format!("`{name}` is any extent, so inputs must be given"))),
    });
    let dims = dims.collect::<Result<Vec<i64>, _>>()?;
    let made = match param.kind {
        ParamKind::Scalar { dtype, fixed: Some(bits) } => {
            with_element!(dtype, T => DynamicTensor::from_vec(vec![T::from_bits64(bits)], &dims))
        }
        _ => golden::generated(param.dtype(), &dims, index),
    };
    made.map_err(|error| refused(error.to_string()))
}
