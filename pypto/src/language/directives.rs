//! Macros of kernel bodies, as eager runs see them; the attribute macros read them where they stand.

use super::{Element, Tensor, Tile, View, ViewMut};
use crate::ir::report::observer::{is_recording, publish};
use crate::ir::report::{Report, ReportKind, Shown};
use crate::ir::{FileId, Loc};
use crate::ops::reference::{Array, Scalar, Shape};

/// A value that is computed when the kernel is specialized, by ordinary Rust code: it may call any function, with
/// extents, `meta(..)` parameters, `#[spec]` scalars of type `i64`, and constants.
///
/// ```
/// use pypto::prelude::*;
///
/// fn largest_divisor(n: i64, limit: i64) -> i64 {
///     (1..=limit).rev().find(|d| n % d == 0).unwrap_or(1)
/// }
///
/// #[pypto::jit]
/// fn halved(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     let width = comptime!(largest_divisor(N, 64));
///     for at in tiles([N], [width]) {
///         y.store(at, x.load(at) * 0.5);
///     }
/// }
///
/// let (x, mut y) = (Tensor::full([96], 3.0), Tensor::zeros([96]));
/// halved(&x, &mut y)?;
/// assert_eq!(y.get([95]), 1.5);
/// # Ok::<(), pypto::Error>(())
/// ```
#[macro_export]
macro_rules! comptime {
    ($value:expr) => {
        $value
    };
}

/// An assertion about what is known when the kernel is specialized; a condition that is not is an error there. Eager
/// runs check it like `assert!`.
///
/// ```
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn doubled(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     static_assert!(N % 8 == 0, "rows are padded to multiples of 8");
///     y.set(x * 2.0);
/// }
///
/// assert!(doubled(&Tensor::zeros([16]), &mut Tensor::zeros([16])).is_ok());
/// let error = doubled(&Tensor::zeros([10]), &mut Tensor::zeros([10])).unwrap_err();
/// assert!(error.to_string().contains("rows are padded to multiples of 8"));
/// ```
#[macro_export]
macro_rules! static_assert {
    ($($condition:tt)*) => {
        ::core::assert!($($condition)*)
    };
}

/// An assertion that compiled kernels check where it stands, as `assert!` does in kernels; the name says so.
///
/// Its message shows the scalars that the failing assertion saw; of tiles and tensors it has the names.
///
/// ```
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn first(x: &Tensor<f32, 1>, n: i64, #[out] y: &mut Tensor<f32, 1>) {
///     device_assert!(n >= 0, "n counts elements: {n}");
///     y.set(x * 2.0);
/// }
///
/// let error = first(&Tensor::zeros([4]), -1, &mut Tensor::zeros([4])).unwrap_err();
/// assert!(error.to_string().contains("n counts elements: -1"));
/// ```
#[macro_export]
macro_rules! device_assert {
    ($($condition:tt)*) => {
        ::core::assert!($($condition)*)
    };
}

/// Prints what is known when the kernel is specialized: values of extents and other constants, types of the rest. Eager
/// runs print the values themselves. A specialization that comes from the disk cache prints nothing.
///
/// ```
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn doubled(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     let t = x.load_all();
///     static_print!("{N} columns, {:?}", t); // 16 columns, tile f32 [16]
///     y.set(t * 2.0);
/// }
///
/// doubled(&Tensor::zeros([16]), &mut Tensor::zeros([16]))?;
/// # Ok::<(), pypto::Error>(())
/// ```
#[macro_export]
macro_rules! static_print {
    ($($text:tt)*) => {
        ::std::eprintln!($($text)*)
    };
}

/// A named value to compare between runs: a scalar, a tile or a tensor. Eager, interpreted, compiled and simulated runs
/// record it where that is switched on, by [`recorded`](crate::ir::report::observer::recorded), `PYPTO_CHECKPOINTS` or the
/// option `checkpoints`; `pypto checkpoint` compares two recordings. Where it is not, it costs nothing: the code is
/// compiled without it.
///
/// ```
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn doubled(#[shape(N)] x: &Tensor<f32, 1>, #[out] #[shape(N)] y: &mut Tensor<f32, 1>) {
///     let t = x.load_all() * 2.0;
///     checkpoint!(t, "twice");
///     y.set(t);
/// }
///
/// let (x, mut y) = (Tensor::full([2], 3.0), Tensor::zeros([2]));
/// let (result, values) = pypto::ir::report::observer::recorded(|| doubled(&x, &mut y));
/// result?;
/// assert_eq!(values[0].values[0].to_string(), "Tile<f32>[2] [6.0, 6.0]");
/// # Ok::<(), pypto::Error>(())
/// ```
#[macro_export]
macro_rules! checkpoint {
    ($value:expr, $name:literal $(,)?) => {
        $crate::language::directives::eager_checkpoint(
            || $crate::language::directives::Checked::shown(&$value),
            $name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    };
}

/// What eager runs do at a `checkpoint!`.
#[doc(hidden)]
pub fn eager_checkpoint(value: impl FnOnce() -> Shown, name: &str, (file, line, column): (&str, u32, u32)) {
    if is_recording() {
        let loc = Loc::new(FileId::intern(file), line, column, line, column + 1);
        let (text, origin) = (name.to_owned(), String::new());
        publish(vec![Report { kind: ReportKind::Checkpoint, text, origin, loc, values: vec![value()] }]);
    }
}

/// Values that a `checkpoint!` takes.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`checkpoint!` cannot show a `{Self}`",
    note = "it takes scalars, tiles and tensors; of a tuple or an array show the parts"
)]
pub trait Checked {
    /// The value as data.
    fn shown(&self) -> Shown;
}

impl<T: Checked + ?Sized> Checked for &T {
    fn shown(&self) -> Shown {
        (**self).shown()
    }
}

impl<T: Checked + ?Sized> Checked for &mut T {
    fn shown(&self) -> Shown {
        (**self).shown()
    }
}

impl<T: Element, const R: usize> Checked for Tile<T, R> {
    fn shown(&self) -> Shown {
        Shown::Tile(Array::clone(&self.array()))
    }
}

impl<T: Element, const R: usize> Checked for Tensor<T, R> {
    fn shown(&self) -> Shown {
        let dims = self.dims();
        Shown::Tensor(Array::from_vec(self.to_vec(), Shape::new(&dims)))
    }
}

impl<T: Element, const R: usize> Checked for View<'_, T, R> {
    fn shown(&self) -> Shown {
        Tensor::shown(self)
    }
}

impl<T: Element, const R: usize> Checked for ViewMut<'_, T, R> {
    fn shown(&self) -> Shown {
        Tensor::shown(self)
    }
}

macro_rules! checked_scalars {
    ($($T:ty),*) => {
        $(impl Checked for $T {
            fn shown(&self) -> Shown {
                Shown::Scalar(Scalar::new(*self))
            }
        })*
    };
}

checked_scalars!(bool, i8, i16, i32, i64, u8, u16, u32, half::f16, half::bf16, f32);
