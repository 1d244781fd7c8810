//! Kernels in the simulator against the interpreter.
