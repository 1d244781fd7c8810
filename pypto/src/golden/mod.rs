//! Results and what they should be: tensors in files, and the one comparison that every tool and check uses.

mod comparison;
mod generated;
mod tensor_files;

pub use comparison::{CompareError, Comparison, Difference, NanPolicy, Tolerance, compare};
pub use generated::generated;
pub use tensor_files::{TensorFileError, read_tensors, write_tensors};
