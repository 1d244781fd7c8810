//! What running kernels show: lines that they print, and values at named checkpoints.
//!
//! Every engine hands over the reports of a call in the order in which the program runs its operations one after another,
//! whatever ran at the same time: iterations of parallel loops in order of their numbers, tasks in program order. So the
//! reports of two engines can be compared one by one. They are published when the call ends, also if it fails; where they
//! go is decided by [`observer`].

pub mod file;
pub mod observer;
mod site;
pub mod template;

pub use site::{Layout, ReportSite, site_number, sites};

use std::fmt;

use super::{AttrKey, DType, Loc, Op};
use crate::ops::OpKind;
use crate::ops::reference::{Array, Data, Scalar, with_element};

/// Values that a kernel showed at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub kind: ReportKind,
    /// What is printed, with placeholders; or the name of the checkpoint.
    pub text: String,
    /// The operation that made the value of a checkpoint, and its line; empty where nothing tells.
    pub origin: String,
    /// Where it stands in the source.
    pub loc: Loc,
    pub values: Vec<Shown>,
}

/// The kinds of [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    Print,
    Checkpoint,
}

/// A value that is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Scalar(Scalar),
    /// A tile; what is valid of it counts.
    Tile(Array),
    Tensor(Array),
}

impl Report {
    /// The report of an operation that shows these values.
    pub fn of(op: &Op, mut values: Vec<Shown>) -> Report {
        let text = |key| op.attrs.text(key).unwrap_or_default().to_owned();
        let (text, origin) = (text(AttrKey::Message), text(AttrKey::Origin));
        if op.kind == OpKind::Checkpoint {
            return Report { kind: ReportKind::Checkpoint, text, origin, loc: op.loc, values };
        }
        for position in origin.split(' ').filter_map(|number| number.parse::<usize>().ok()) {
            if let Some(Shown::Tensor(array)) = values.get(position) {
                values[position] = Shown::Tile(array.clone());
            }
        }
        Report { kind: ReportKind::Print, text, origin: String::new(), loc: op.loc, values }
    }
}

/// What a failing assertion says.
pub fn assertion_text(op: &Op, values: &[Scalar]) -> String {
    let values: Vec<Shown> = values.iter().copied().map(Shown::Scalar).collect();
    template::write(op.attrs.text(AttrKey::Message).unwrap_or("assertion failed"), &values)
}

impl Shown {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Shown::Scalar(scalar) => scalar.dtype,
            Shown::Tile(array) | Shown::Tensor(array) => array.dtype(),
        }
    }

    /// The extents of what counts; none for a scalar.
    pub fn extents(&self) -> Vec<i64> {
        match self {
            Shown::Scalar(_) => Vec::new(),
            Shown::Tile(array) | Shown::Tensor(array) => array.valid.to_vec(),
        }
    }

    /// The elements that count, in row-major order.
    pub fn elements(&self) -> Data {
        use crate::ops::reference::Element;
        with_element!(self.dtype(), T => T::wrap(match self {
            Shown::Scalar(scalar) => vec![scalar.get::<T>()],
            Shown::Tile(array) | Shown::Tensor(array) => array.valid_elements::<T>(),
        }))
    }
}

/// At most this many values are shown by the message of an assertion.
pub const MAX_SHOWN: usize = 8;

/// At most this many elements are printed.
const PRINTED: usize = 64;

/// The first elements in brackets.
pub fn elements<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, elements: &[T]) -> fmt::Result {
    if elements.len() <= PRINTED {
        return write!(f, "{elements:?}");
    }
    f.debug_list().entries(&elements[..PRINTED]).finish_non_exhaustive()
}

/// Tiles and tensors as eager runs print them.
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, array) = match self {
            Shown::Scalar(scalar) => {
                return with_element!(scalar.dtype, T => write!(f, "{}", scalar.get::<T>()));
            }
            Shown::Tile(array) => ("Tile", array),
            Shown::Tensor(array) => ("Tensor", array),
        };
        write!(f, "{kind}<{}>{:?} ", array.dtype(), array.dims)?;
        if !array.is_full() {
            write!(f, "valid {:?} ", array.valid)?;
        }
        with_element!(array.dtype(), T => elements(f, &array.valid_elements::<T>()))
    }
}
