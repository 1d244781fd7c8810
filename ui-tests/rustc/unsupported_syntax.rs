use pypto::prelude::*;

#[pypto::jit]
fn k(n: i64, #[out] b: &mut Tensor<f32, 2>) {
    let twice = |v: i64| v * 2;
    let parsed = "4".parse::<i64>()?;
    let later = async { n };
    b.set(twice(parsed) as f32);
}

fn main() {}
