//! Expansions of the attribute macros, used as users do.
mod stub {
    pub use pypto::frontend::generic::{Callable, Callee};
    use pypto::jit::{Argument, KernelArgument};
    impl<T> KernelArgument for &Tensor<T, 2> {
        fn argument(&mut self) -> Argument<'_> {
            unimplemented!()
        }
    }
    impl<T> KernelArgument for &mut Tensor<T, 2> {
        fn argument(&mut self) -> Argument<'_> {
            unimplemented!()
        }
    }
    pub struct Tensor<T, const R: usize>(pub Vec<T>);
    #[derive(Clone, Copy)]
    pub struct Tile<T>(pub T);
    #[derive(Clone, Copy)]
    pub struct At;
    impl<T: Copy, const R: usize> Tensor<T, R> {
        pub fn dim(&self, _: i64) -> i64 {
            4
        }
        pub fn load(&self, _: At) -> Tile<T> {
            Tile(self.0[0])
        }
        pub fn store(&mut self, _: At, t: Tile<T>) {
            self.0[0] = t.0;
        }
    }
    impl<T> Tile<T> {
        pub fn row_max(self) -> Self {
            self
        }
        pub fn row_sum(self) -> Self {
            self
        }
        pub fn exp(self) -> Self {
            self
        }
    }
    impl std::ops::Sub for Tile<f32> {
        type Output = Self;
        fn sub(self, o: Self) -> Self {
            Tile(self.0 - o.0)
        }
    }
    impl std::ops::Div for Tile<f32> {
        type Output = Self;
        fn div(self, o: Self) -> Self {
            Tile(self.0 / o.0)
        }
    }
    pub fn tiles(_: [i64; 2], _: [i64; 2]) -> std::vec::IntoIter<At> {
        vec![At].into_iter()
    }
    #[allow(non_camel_case_types)]
    pub enum tiles {}
    impl Callable for tiles {
        fn callee() -> Callee {
            Callee::Intrinsic("tiles")
        }
    }
}
use pypto::jit::JitFn;
use stub::*;

/// Softmax over rows.
#[pypto::jit(meta(TM = 64))]
pub fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

#[test]
fn captures() {
    assert_eq!(softmax.ir().params.len(), 2);
    let x = Tensor::<f32, 2>(vec![2.0]);
    let mut y = Tensor::<f32, 2>(vec![0.0]);
    softmax.eager((&x, &mut y));
    softmax::eager(&x, &mut y);
}
