use pypto::prelude::*;

// What the original trusts its user with has no counterpart: queues, signals, barriers, windows, lanes.
#[pypto::jit]
fn k(a: &Tensor<f32, 2>, #[out] b: &mut Tensor<f32, 2>) {
    tpush(a);
    notify(a, 1);
    wait(a, 1);
    syncall();
    let w = window(a, 64);
    for lane in split_aiv(2) {
        fence(lane);
    }
    allreduce(b);
}

fn main() {}
