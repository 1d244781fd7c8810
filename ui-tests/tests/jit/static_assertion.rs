//! `static_assert!` on what is known at run time only, and one that is false.

use pypto::prelude::*;

use crate::{Case, f32s};

#[pypto::jit]
pub fn checked(#[shape(dyn M, N)] x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    static_assert!(M > 4, "enough rows");
    if M > 2 {
        static_assert!(N % 8 == 0, "whole vectors");
    }
    y.put([0, 0], x.get([0, 0]));
}

pub fn case() -> Case {
    Case::of::<checked>([f32s([4, 12]), f32s([4, 12])])
}
