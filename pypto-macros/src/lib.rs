//! The attribute macros of PyPTO.
