//! Why a kernel cannot be tuned.

use super::error::ErrorKind;
use crate::ir::DType;

/// What is wrong with the values that a kernel is tuned over.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TuneError {
    #[error("`{kernel}` is tuned over nothing: name a parameter and its values, as in `space!{{ TM: [16, 32] }}`")]
    Empty { kernel: String },
    #[error("`{kernel}` is tuned over `{parameter}`, for which there are no values: give at least one")]
    NoValues { kernel: String, parameter: String },
    #[error("`{kernel}` has no `meta(..)` parameter and no `#[spec]` scalar `{parameter}`{hint}")]
    UnknownParameter {
        kernel: String,
        parameter: String,
        /// What it has, as the end of the sentence.
        hint: String,
    },
    #[error("`{parameter}` of `{kernel}` is a scalar of type {dtype}, which cannot be {value}")]
    Value { kernel: String, parameter: String, dtype: DType, value: i64 },
    #[error("`{kernel}` is tuned by running it, and nothing tells what `{parameter}` is then: give arguments")]
    Argument { kernel: String, parameter: String },
    #[error(
        "`{kernel}` would be tuned over {count} combinations, and the limit is {limit}: give fewer values, or raise it \
         by `TuneOptions::with_limit`"
    )]
    TooMany { kernel: String, count: u128, limit: usize },
    #[error("none of the {} candidates of `{kernel}` works{}", .failures.len(), list(.failures))]
    NoneWorks {
        kernel: String,
        /// Each candidate with the reason.
        failures: Vec<(String, ErrorKind)>,
    },
}

/// The first failures in full.
fn list(failures: &[(String, ErrorKind)]) -> String {
    const SHOWN: usize = 3;
    let mut text: String = failures.iter().take(SHOWN).map(|(values, kind)| format!("\n{values}:\n{kind}")).collect();
    if failures.len() > SHOWN {
        text += &format!("\nand {} more", failures.len() - SHOWN);
    }
    text
}
