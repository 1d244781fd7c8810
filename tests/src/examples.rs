//! The example programs as modules: tests run the very kernels that users read.

#![allow(dead_code, reason = "tests call the kernels, not `main`")]

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
#[path = "../../examples/kernels/rms_norm.rs"]
pub mod rms_norm;
#[path = "../../examples/kernels/softmax.rs"]
pub mod softmax;
#[path = "../../examples/beginner/task_graph.rs"]
pub mod task_graph;
