//! The text of some kernels, and that it does not depend on anything but the kernel.

use super::kernels::{add, softmax};
use super::products::matmul_whole;
use super::{build, texts};
use crate::codegen::ascend::dialect::print::print;
use crate::codegen::ascend::{AscendArtifact, Planner};
use crate::prelude::*;
use crate::target::{A2A3, A5};

fn without_places(artifact: &AscendArtifact) -> String {
    artifact.kernels.iter().map(|kernel| print(&kernel.module, false)).collect()
}

#[test]
fn kernels() {
    let [a, b, c] = [(); 3].map(|()| Tensor::<f32, 2>::zeros([64, 64]));
    let artifact = build(&add, &(&a, &b, &c), &A2A3, Planner::Packed).unwrap();
    insta::assert_snapshot!("add_level3", without_places(&artifact));
    let without_comments: Vec<&str> =
        artifact.orchestration.lines().map(|line| line.split(" // ").next().unwrap_or("")).collect();
    insta::assert_snapshot!("add_orchestration", without_comments.join("\n"));
    let artifact = build(&softmax, &(&a, &c), &A2A3, Planner::External).unwrap();
    insta::assert_snapshot!("softmax_level2", without_places(&artifact));
    let artifact = build(&matmul_whole, &(&a, &b, &c), &A5, Planner::Packed).unwrap();
    insta::assert_snapshot!("matmul_a5", without_places(&artifact));
}

#[test]
fn two_builds_are_equal() {
    let (x, y) = (Tensor::<f32, 2>::zeros([100, 77]), Tensor::<f32, 2>::zeros([100, 77]));
    let build = || build(&softmax, &(&x, &y), &A2A3, Planner::Packed).unwrap();
    let (first, second) = (build(), build());
    assert_eq!(texts(&first), texts(&second));
    assert_eq!(first.files(), second.files());
    let names: Vec<String> = first.files().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"kernel_config.json".to_owned()));
    assert!(names.contains(&"orchestration/softmax.cpp".to_owned()));
    let wrapper = first.files().into_iter().find(|(name, _)| name == "kernels/aiv/softmax_0.cpp");
    assert!(wrapper.is_some_and(|(_, text)| text.contains("kernel_entry")));
}
