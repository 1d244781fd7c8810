//! What work costs, in cycles: the numbers behind the simulator's virtual time.
//!
//! Bandwidths of the matrix unit, its fixed costs and the passes that an f32 product takes are those of the vendor's tile
//! chooser. The vector unit's width and the costs of dispatch and of global memory are round figures of the right order,
//! chosen here: virtual time compares variants of a program, it does not predict a device. docs/ascend.md has the table.

/// Costs of a target.
#[derive(Debug, PartialEq)]
pub struct Costs {
    /// Cycles per nanosecond.
    pub clock: f64,
    /// Cycles to dispatch a task to a core, and to start any instruction.
    pub dispatch: f64,
    pub issue: f64,
    /// Bytes per cycle between global memory and a core, and cycles until the first byte.
    pub global_bandwidth: f64,
    pub global_latency: f64,
    /// Bytes per cycle that the vector unit reads of each operand.
    pub vector_bandwidth: f64,
    /// Passes of a division, a root, an exponential; of one step of a reduction.
    pub vector_function_passes: f64,
    pub vector_reduce_passes: f64,
    /// Bytes per cycle from the matrix unit's first level to its operands.
    pub left_bandwidth: f64,
    pub right_bandwidth: f64,
    /// Reading an accumulator out: fixed, per row, and bytes per cycle.
    pub drain_fixed: f64,
    pub drain_row: f64,
    pub drain_bandwidth: f64,
    /// Cycles before a product starts, and multiply-adds of 16-bit operands per cycle.
    pub product_head: f64,
    pub product_rate: f64,
    /// Passes of a product of f32.
    pub f32_passes: f64,
}

pub(super) const A2A3: Costs = Costs {
    clock: 1.85,
    dispatch: 1850.0,
    issue: 16.0,
    global_bandwidth: 32.0,
    global_latency: 400.0,
    vector_bandwidth: 256.0,
    vector_function_passes: 4.0,
    vector_reduce_passes: 2.0,
    left_bandwidth: 129.7,
    right_bandwidth: 85.4,
    drain_fixed: 164.0,
    drain_row: 4.45,
    drain_bandwidth: 118.0,
    product_head: 21.0,
    product_rate: 4096.0,
    f32_passes: 2.0,
};

pub(super) const A5: Costs = Costs {
    clock: 1.65,
    dispatch: 1650.0,
    issue: 12.0,
    global_bandwidth: 32.0,
    global_latency: 400.0,
    vector_bandwidth: 256.0,
    vector_function_passes: 4.0,
    vector_reduce_passes: 2.0,
    left_bandwidth: 206.3,
    right_bandwidth: 223.8,
    drain_fixed: 343.4,
    drain_row: 4.59,
    drain_bandwidth: 30.0,
    product_head: 25.0,
    product_rate: 4096.0,
    f32_passes: 8.0,
};
