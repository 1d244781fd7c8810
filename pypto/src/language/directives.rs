//! Macros of kernel bodies, as eager runs see them; the attribute macros read them where they stand.

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
/// ```
/// use pypto::prelude::*;
///
/// #[pypto::jit]
/// fn first(x: &Tensor<f32, 1>, n: i64, #[out] y: &mut Tensor<f32, 1>) {
///     device_assert!(n >= 0, "n counts elements");
///     y.set(x * 2.0);
/// }
///
/// let error = first(&Tensor::zeros([4]), -1, &mut Tensor::zeros([4])).unwrap_err();
/// assert!(error.to_string().contains("n counts elements"));
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
