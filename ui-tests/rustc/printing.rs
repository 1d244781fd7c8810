use pypto::prelude::*;

#[pypto::jit]
fn k(a: &Tensor<f32, 2>, n: i64, #[out] b: &mut Tensor<f32, 2>) {
    println!("{:#x}", n);
    println!("{} {}", n);
    println!("} {n}");
    checkpoint!(n);
    checkpoint!(n, name);
    let x = checkpoint!(n, "n");
    b.set(a);
}

fn main() {}
