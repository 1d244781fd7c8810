//! Runs a kernel each way and compares the results.

use pypto::compile::Platform;
use pypto::frontend::generic::Function;
use pypto::ir::Program;
use pypto::jit::{Compiled, Key};
use pypto::prelude::*;
use pypto_tests::bits::difference;
use pypto_tests::fill::Fill;
use pypto_tests::stages::stages;

/// A kernel on arguments of certain extents. `start` is what every element of the output holds before the run.
pub struct Case<'a, T: Element, const R: usize> {
    pub label: String,
    pub function: &'static Function,
    pub key: Key,
    pub eager: &'a dyn Fn(Fill, f32) -> Tensor<T, R>,
    pub compile: &'a dyn Fn(&RunConfig) -> Compiled,
    pub call: &'a dyn Fn(&Compiled, Fill, f32) -> Tensor<T, R>,
    pub interpret: &'a dyn Fn(&Program, Fill, f32) -> Tensor<T, R>,
}

/// Which programs a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Eager, the interpreter, and compiled for two threads.
    ThreeWays,
    /// Also compiled for one thread, and the program after every pass.
    EveryPass,
}

impl<T: Element, const R: usize> Case<'_, T, R> {
    /// Runs all of it.
    ///
    /// # Panics
    /// If results differ, a pass breaks the program, or a kernel has no machine code where there is a compiler.
    pub fn check(&self, depth: Depth) {
        let base = RunConfig::new().with_cache(false);
        let mut ways = vec![
            ("compiled", (self.compile)(&base.clone().with_platform(Platform::Host).with_threads(2))),
            ("interpreted", (self.compile)(&base.clone().with_platform(Platform::Interpreter))),
        ];
        if depth == Depth::EveryPass {
            let config = base.with_platform(Platform::Host).with_threads(1);
            ways.push(("compiled for one thread", (self.compile)(&config)));
        }
        if pypto::tools::doctor::makes_machine_code() {
            assert_eq!(ways[0].1.interpreted_kernels(), Vec::<&str>::new(), "{}", self.label);
        }
        let mut stages = match depth {
            Depth::ThreeWays => Vec::new(),
            Depth::EveryPass => stages(self.function, &self.key.specialization, 2),
        };
        // A pass that changes nothing needs no run of its own.
        stages.dedup_by(|later, earlier| later.program == earlier.program);
        for fill in Fill::ALL {
            let expected = (self.eager)(fill, 11.0);
            for (way, compiled) in &ways {
                self.compare(way, fill, &(self.call)(compiled, fill, -5.0), &expected);
            }
            for stage in &stages {
                self.compare(&stage.name, fill, &(self.interpret)(&stage.program, fill, 0.25), &expected);
            }
        }
    }

    fn compare(&self, way: &str, fill: Fill, got: &Tensor<T, R>, want: &Tensor<T, R>) {
        if let Some(text) = difference(got, want) {
            panic!("{}, {fill:?}, {way} against eager: {text}", self.label);
        }
    }
}

/// `three_ways!(depth, kernel, |fill| [inputs], output extents, element type)`: the inputs are made anew for each run.
macro_rules! three_ways {
    ($depth:expr, $kernel:expr, |$fill:ident| [$($input:expr),* $(,)?], $dims:expr, $element:ty) => {{
        use pypto::ir::interpreter::{Options, run};
        use pypto::jit::CallArguments;
        use pypto_tests::fill::{Fill, FromF32};

        let old = |start: f32| Tensor::full($dims, <$element as FromF32>::from_f32(start));
        let tame = || Fill::Tame.of::<$element>();
        let key = {
            let $fill = tame();
            $kernel.key(&($($input,)* &old(0.0))).unwrap_or_else(|e| panic!("{e}"))
        };
        crate::agree::Case {
            label: key.to_string(),
            function: $kernel.ir(),
            key,
            eager: &|fill, start| {
                let ($fill, mut y) = (fill.of::<$element>(), old(start));
                $kernel.eager(($($input,)* &mut y));
                y
            },
            compile: &|config| {
                let $fill = tame();
                $kernel.compile(&($($input,)* &old(0.0)), config).unwrap_or_else(|e| panic!("{e}"))
            },
            call: &|compiled, fill, start| {
                let ($fill, mut y) = (fill.of::<$element>(), old(start));
                compiled.call(($($input,)* &mut y)).unwrap_or_else(|e| panic!("{e}"));
                y
            },
            interpret: &|program, fill, start| {
                let ($fill, mut y) = (fill.of::<$element>(), old(start));
                let options = Options { checked: true, nan: false };
                ($($input,)* &mut y).with(|arguments| {
                    // SAFETY: the arguments are borrowed from live tensors, the output for this call alone.
                    unsafe { run(program, arguments, options) }.unwrap_or_else(|e| panic!("{e:?}"));
                });
                y
            },
        }
        .check($depth);
    }};
}
pub(crate) use three_ways;
