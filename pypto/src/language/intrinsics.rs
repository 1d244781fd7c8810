//! The free functions of the language as the front end sees them: beside each stands a type of the same name, through
//! which rustc resolves paths, re-exports and renames in kernels.

use crate::frontend::generic::{Callable, Callee};

/// The quotient rounded up.
///
/// ```
/// use pypto::prelude::*;
/// assert_eq!(ceil_div(7, 4), 2);
/// ```
///
/// # Panics
/// On a divisor of zero.
#[track_caller]
pub fn ceil_div(a: i64, b: i64) -> i64 {
    let (quotient, remainder) = (a / b, a % b);
    if remainder != 0 && (remainder < 0) == (b < 0) { quotient + 1 } else { quotient }
}

macro_rules! intrinsics {
    ($($name:ident)*) => { $(
        #[doc = concat!("What kernels see of [`", stringify!($name), "`](fn@", stringify!($name), ").")]
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        pub enum $name {}

        impl Callable for $name {
            fn callee() -> Callee {
                Callee::Intrinsic(stringify!($name))
            }
        }
    )* };
}

intrinsics!(tiles grid range parallel pipeline unroll spmd matmul matmul_bias select ceil_div);
