use pypto::prelude::*;

fn main() {
    let _ = Tensor::<f64, 2>::zeros([4, 4]);
}
