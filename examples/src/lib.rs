//! What the example programs share: reference loops in f64 and the report line.
