//! Programs in the text form of the IR, run on small tensors.
