//! Tensors by name in files: `.safetensors` files, and directories of `.npy` files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors, View};

use crate::ir::DType;
use crate::ir::report::file::TYPES;
use crate::language::DynamicTensor;
use crate::ops::reference::{Element, with_element};
use crate::staged::write_whole;

/// Why tensors could not be read or written. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum TensorFileError {
    #[error("cannot access `{}`: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("`{}` is no tensor file: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("`{name}` in `{}` has element type {dtype}, which no tensor here has", path.display())]
    ElementType { path: PathBuf, name: String, dtype: String },
    #[error("`{}`: expected a `.safetensors` file, a `.npy` file or a directory of `.npy` files", path.display())]
    Unknown { path: PathBuf },
}

/// Reads the tensors of a `.safetensors` file, of one `.npy` file (under the file's stem), or of all `.npy` files of a
/// directory.
///
/// # Errors
/// A path that cannot be read, that is none of these, or that holds something else.
pub fn read_tensors(path: &Path) -> Result<BTreeMap<String, DynamicTensor>, TensorFileError> {
    if path.is_dir() {
        let mut tensors = BTreeMap::new();
        for entry in fs::read_dir(path).map_err(|error| io(path, error))? {
            let file = entry.map_err(|error| io(path, error))?.path();
            if has_extension(&file, "npy") {
                tensors.insert(stem(&file), read_npy(&file)?);
            }
        }
        return Ok(tensors);
    }
    if has_extension(path, "npy") {
        return Ok(BTreeMap::from([(stem(path), read_npy(path)?)]));
    }
    if has_extension(path, "safetensors") {
        return read_safetensors(path);
    }
    Err(TensorFileError::Unknown { path: path.to_owned() })
}

/// Writes a `.safetensors` file: whole, or not at all.
///
/// # Errors
/// A path that cannot be written.
pub fn write_tensors<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = (&'a str, &'a DynamicTensor)>,
) -> Result<(), TensorFileError> {
    let views = tensors.into_iter().map(|(name, tensor)| (name, Stored::of(tensor)));
    let bytes = safetensors::serialize(views, None)
        .map_err(|error| TensorFileError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    write_whole(path, &bytes).map_err(|error| io(path, error))
}

fn read_safetensors(path: &Path) -> Result<BTreeMap<String, DynamicTensor>, TensorFileError> {
    let bytes = fs::read(path).map_err(|error| io(path, error))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| damaged(path, error))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        let Some((dtype, _)) = TYPES.iter().find(|(_, stored)| *stored == view.dtype()) else {
            let dtype = format!("{:?}", view.dtype()).to_lowercase();
            return Err(TensorFileError::ElementType { path: path.to_owned(), name, dtype });
        };
        let dims: Vec<i64> = view.shape().iter().map(|extent| *extent as i64).collect();
        let tensor = of_bytes(*dtype, &dims, view.data()).map_err(|reason| damaged(path, reason))?;
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

fn of_bytes(dtype: DType, dims: &[i64], bytes: &[u8]) -> Result<DynamicTensor, String> {
    let element = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let words = bytes.chunks_exact(dtype.size()).map(element);
    let tensor =
        with_element!(dtype, T => DynamicTensor::from_vec(words.map(T::from_bits64).collect::<Vec<T>>(), dims));
    tensor.map_err(|error| error.to_string())
}

fn read_npy(path: &Path) -> Result<DynamicTensor, TensorFileError> {
    let bytes = fs::read(path).map_err(|error| io(path, error))?;
    if claims_too_much(&bytes) {
        return Err(damaged(path, format!("it claims more elements than its {} bytes can hold", bytes.len())));
    }
    let file = npyz::NpyFile::new(&bytes[..]).map_err(|error| damaged(path, error))?;
    if file.order() != npyz::Order::C {
        return Err(damaged(path, "column-major order; save it with `numpy.ascontiguousarray`"));
    }
    let dims: Vec<i64> = file.shape().iter().map(|extent| *extent as i64).collect();
    let kind = file.dtype().descr();
    macro_rules! read {
        ($T:ty) => {{
            let elements = file.into_vec::<$T>().map_err(|error| damaged(path, error))?;
            DynamicTensor::from_vec(elements, &dims)
        }};
    }
    let tensor = match kind.trim_matches('\'') {
        "|b1" => read!(bool),
        "|i1" => read!(i8),
        "<i2" => read!(i16),
        "<i4" => read!(i32),
        "<i8" => read!(i64),
        "|u1" => read!(u8),
        "<u2" => read!(u16),
        "<u4" => read!(u32),
        "<f2" => read!(half::f16),
        "<f4" => read!(f32),
        other => {
            let (name, dtype) = (stem(path), other.to_owned());
            return Err(TensorFileError::ElementType { path: path.to_owned(), name, dtype });
        }
    };
    tensor.map_err(|error| damaged(path, error))
}

/// Whether the header of a NumPy file tells of more elements than there are bytes: looked at before the library multiplies
/// the extents, which may overflow.
fn claims_too_much(bytes: &[u8]) -> bool {
    // Longer headers are none that anybody writes.
    let header = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    let too_much = |after: &str| {
        let Some((_, extents)) = after.split_once('(') else { return false };
        let extents = extents.split(')').next().unwrap_or_default().split(',').map(str::trim);
        let extents = extents.filter(|extent| !extent.is_empty()).map(str::parse::<u64>);
        let product = extents.filter_map(Result::ok).try_fold(1u64, |product, extent| product.checked_mul(extent));
        product.is_none_or(|product| product > bytes.len() as u64)
    };
    header.split("shape").skip(1).any(too_much)
}

/// A tensor as the file format wants it.
struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Stored {
    fn of(tensor: &DynamicTensor) -> Stored {
        let dtype = TYPES.iter().find(|(dtype, _)| *dtype == tensor.dtype()).map_or(Dtype::U8, |(_, stored)| *stored);
        let size = tensor.dtype().size();
        let bytes = with_element!(tensor.dtype(), T => {
            let elements = tensor.elements::<T>().unwrap_or(&[]);
            elements.iter().flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(size)).collect()
        });
        Stored { dtype, shape: tensor.dims().iter().map(|extent| *extent as usize).collect(), bytes }
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

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn io(path: &Path, error: std::io::Error) -> TensorFileError {
    TensorFileError::Io { path: path.to_owned(), error }
}

fn damaged(path: &Path, reason: impl ToString) -> TensorFileError {
    TensorFileError::Damaged { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("pypto-tensor-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn every_element_type_comes_back() {
        let path = directory("types").join("all.safetensors");
        let tensors: Vec<(String, DynamicTensor)> = (TYPES.iter())
            .map(|(dtype, _)| {
                let tensor = with_element!(*dtype, T => {
                    DynamicTensor::from_vec((0..6u64).map(|i| T::from_bits64(i * 37)).collect::<Vec<T>>(), &[2, 3])
                });
                (dtype.name().to_owned(), tensor.unwrap())
            })
            .collect();
        write_tensors(&path, tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))).unwrap();
        let read = read_tensors(&path).unwrap();
        assert_eq!(read.len(), TYPES.len());
        assert!(tensors.iter().all(|(name, tensor)| read[name] == *tensor));
    }

    #[test]
    fn numpy_files_are_read_by_their_stem() {
        let directory = directory("npy");
        let elements: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let bytes = npy("(1, 2)", &elements);
        fs::write(directory.join("x.npy"), &bytes).unwrap();
        let tensors = read_tensors(&directory).unwrap();
        assert_eq!(tensors["x"], DynamicTensor::from_vec(vec![1.5f32, -2.0], &[1, 2]).unwrap());
        fs::write(directory.join("y.npy"), &bytes[..bytes.len() - 1]).unwrap();
        assert!(read_tensors(&directory).unwrap_err().to_string().contains("y.npy` is no tensor file"));
    }

    /// A file of a NumPy array with these extents, as the header has them, and these bytes.
    fn npy(extents: &str, bytes: &[u8]) -> Vec<u8> {
        let header = format!("{:<117}\n", format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {extents}, }}"));
        [b"\x93NUMPY\x01\0\x76\0", header.as_bytes(), bytes].concat()
    }

    #[test]
    fn claims_of_more_than_there_is_are_refused() {
        let path = directory("claims").join("x.npy");
        for extents in ["(1073741824, 10)", "(18446744073709551615,)", "(9223372036854775807, 9223372036854775807)"] {
            fs::write(&path, npy(extents, &[0; 8])).unwrap();
            let error = read_tensors(&path).unwrap_err().to_string();
            assert!(error.contains("x.npy` is no tensor file"), "{error}");
        }
        let path = path.with_file_name("x.safetensors");
        let header = r#"{"x":{"dtype":"F32","shape":[2684354560],"data_offsets":[0,10737418240]}}"#;
        fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat()).unwrap();
        assert!(read_tensors(&path).unwrap_err().to_string().contains("x.safetensors` is no tensor file"));
    }

    #[test]
    fn damaged_files_are_refused_or_read_and_never_panic() {
        let directory = directory("damaged");
        let tensor = DynamicTensor::from_vec(vec![1.0f32, 2.0, 3.0], &[3]).unwrap();
        let stored = directory.join("x.safetensors");
        write_tensors(&stored, [("x", &tensor)]).unwrap();
        let numpy = directory.join("x.npy");
        fs::write(&numpy, npy("(2,)", &[0; 8])).unwrap();
        for path in [stored, numpy] {
            let whole = fs::read(&path).unwrap();
            for end in 0..whole.len() {
                fs::write(&path, &whole[..end]).unwrap();
                assert!(read_tensors(&path).is_err(), "{} of {}", end, path.display());
            }
            for at in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << (at % 8);
                fs::write(&path, damaged).unwrap();
                let _ = read_tensors(&path);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let text = |path: &str| read_tensors(Path::new(path)).unwrap_err().to_string();
        assert!(text("/nowhere/x.safetensors").starts_with("cannot access `/nowhere/x.safetensors`"));
        assert!(text("x.json").starts_with("`x.json`: expected a `.safetensors` file"));
    }
}
