//! The example programs as modules: tests run the very kernels that users read.

#![allow(dead_code, reason = "tests do not call everything")]

#[path = "../../examples/beginner/dynamic_rows.rs"]
pub mod dynamic_rows;
#[path = "../../examples/beginner/elementwise.rs"]
pub mod elementwise;
#[path = "../../examples/kernels/ffn.rs"]
pub mod ffn;
#[path = "../../examples/kernels/flash_attention.rs"]
pub mod flash_attention;
#[path = "../../examples/kernels/fused_linear.rs"]
pub mod fused_linear;
#[path = "../../examples/beginner/hello_world.rs"]
pub mod hello_world;
#[path = "../../examples/kernels/layer_norm.rs"]
pub mod layer_norm;
#[path = "../../examples/kernels/matmul.rs"]
pub mod matmul;
#[path = "../../examples/models/minilm_layer.rs"]
pub mod minilm_layer;
#[path = "../../examples/kernels/paged_attention.rs"]
pub mod paged_attention;
#[path = "../../examples/kernels/rms_norm.rs"]
pub mod rms_norm;
#[path = "../../examples/kernels/rope.rs"]
pub mod rope;
#[path = "../../examples/kernels/softmax.rs"]
pub mod softmax;
#[path = "../../examples/kernels/split_k_matmul.rs"]
pub mod split_k_matmul;
#[path = "../../examples/beginner/task_graph.rs"]
pub mod task_graph;

/// Every program by its name, and its `main`.
pub const PROGRAMS: [(&str, fn() -> pypto_examples::Outcome); 15] = [
    ("dynamic_rows", dynamic_rows::main),
    ("elementwise", elementwise::main),
    ("ffn", ffn::main),
    ("flash_attention", flash_attention::main),
    ("fused_linear", fused_linear::main),
    ("hello_world", hello_world::main),
    ("layer_norm", layer_norm::main),
    ("matmul", matmul::main),
    ("minilm_layer", minilm_layer::main),
    ("paged_attention", paged_attention::main),
    ("rms_norm", rms_norm::main),
    ("rope", rope::main),
    ("softmax", softmax::main),
    ("split_k_matmul", split_k_matmul::main),
    ("task_graph", task_graph::main),
];
