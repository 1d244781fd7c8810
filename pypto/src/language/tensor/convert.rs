//! Conversions from and to other libraries' arrays.
