//! The handles of an annotated function: it stays a plain `fn` item, and this module's extension trait gives it
//! `compile`, `lower`, `eager`, `ir`, `key` and `with`.
//!
//! The trait finds the kernel by the function's return type: `fn softmax(..) -> Result<Launched<softmax>>`, where the
//! parameter is the companion type of the same name.

use std::any::TypeId;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::cache;
use super::compiled::{Compiled, lower, unlowered};
use super::explain::{Explanation, explain};
use super::key::Key;
use super::meta::MetaValues;
use super::output::Output;
use super::sample::Samples;
use super::site::CallSite;
use super::tune::{Space, TuneOptions, Tuned, tune};
use super::warm::{Upcoming, warm};
use crate::compile::Settings;
use crate::config::RunConfig;
use crate::frontend::generic::{self, Callable, Callee};
use crate::ir::report::observer::as_one_call;
use crate::ir::{self, DType};
use crate::language::argument::Argument;
use crate::language::arity::for_each_arity;
use crate::language::{Element, scope};
use crate::runtime::error::Result;

/// A kernel that ran: `K` is its companion type, `G` its type arguments, `O` the tensors that it returned.
pub struct Launched<K, G = (), O = ()> {
    output: O,
    kernel: PhantomData<fn() -> (K, G)>,
}

impl<K, G, O> Launched<K, G, O> {
    /// The returned tensors.
    pub fn into_output(self) -> O {
        self.output
    }

    pub(crate) fn new(output: O) -> Launched<K, G, O> {
        Launched { output, kernel: PhantomData }
    }
}

impl<K, G, O> Deref for Launched<K, G, O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.output
    }
}

impl<K, G, O: std::fmt::Debug> std::fmt::Debug for Launched<K, G, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Launched").field(&self.output).finish()
    }
}

/// The element types that a generic kernel was called with: a tuple, one entry a type parameter.
pub trait TypeArguments {
    /// The element types in order.
    const DTYPES: &'static [DType];
}

impl TypeArguments for () {
    const DTYPES: &'static [DType] = &[];
}

macro_rules! type_arguments {
    ($($name:ident),+) => {
        impl<$($name: Element),+> TypeArguments for ($($name,)+) {
            const DTYPES: &'static [DType] = &[$($name::DTYPE),+];
        }
    };
}

for_each_arity!(type_arguments);

/// Implemented by companion types: runs the verbatim body as plain Rust.
pub trait Eager<Arguments> {
    /// What the body returns.
    type Output;

    /// Runs the body.
    fn eager(arguments: Arguments) -> Self::Output;
}

/// The handles of an annotated function. `Marker` is its signature, found by inference.
pub trait JitFn<Marker> {
    /// The companion type.
    type Kernel: Callable;
    /// The type arguments.
    type Types: TypeArguments;
    /// The returned tensors.
    type Output: Output;
    /// The parameters as a tuple.
    type Arguments;

    /// The kernel with other values of its `meta(..)` parameters, with signature `Signature`.
    type With<'f>
    where
        Self: 'f;

    /// The program for such arguments, after the passes that every target shares and those of the host; writes nothing.
    fn lower<S: Samples + ?Sized>(&self, samples: &S) -> Result<ir::Program> {
        lower(self.ir(), Self::Types::DTYPES, None, &samples.samples())
    }

    /// Compiles for such arguments, without running.
    fn compile<S: Samples + ?Sized>(&self, samples: &S, config: &RunConfig) -> Result<Compiled<Self::Output>> {
        Compiled::new(self.ir(), Self::Types::DTYPES, None, &samples.samples(), config)
    }

    /// The kernel and what it will be called with, for [`pypto::warm`](crate::warm()).
    fn for_arguments<S: Samples + ?Sized>(&self, samples: &S) -> Upcoming {
        Upcoming::new(self.ir(), Self::Types::DTYPES, None, samples.samples())
    }

    /// Compiles ahead of the first call with such arguments, or loads the kernel from the cache on disk, so that the call
    /// finds it in memory. [`pypto::warm`](crate::warm()) does several kernels at the same time.
    ///
    /// # Errors
    /// As the call: arguments that do not fit, what is wrong in the kernel.
    ///
    /// ```
    /// use pypto::kernels::softmax;
    /// use pypto::prelude::*;
    ///
    /// let x = Tensor::<f32, 2>::meta([64, 1024]);
    /// softmax::<f32>.warm(&(&x, &x))?;
    /// # Ok::<(), pypto::Error>(())
    /// ```
    fn warm<S: Samples + ?Sized>(&self, samples: &S) -> Result<()> {
        warm([self.for_arguments(samples)])
    }

    /// What the compiler makes of the kernel for such arguments, how much work that is, and what costs time.
    ///
    /// # Errors
    /// As [`JitFn::lower`].
    ///
    /// ```
    /// use pypto::kernels::softmax;
    /// use pypto::prelude::*;
    ///
    /// let x = Tensor::<f32, 2>::meta([64, 1024]);
    /// let explanation = softmax::<f32>.explain(&(&x, &x))?;
    /// assert_eq!(explanation.work.read, 4.0 * 64.0 * 1024.0);
    /// assert!(explanation.to_string().contains("row_max"));
    /// # Ok::<(), pypto::Error>(())
    /// ```
    fn explain<S: Samples + ?Sized>(&self, samples: &S) -> Result<Explanation> {
        explain(self.ir(), Self::Types::DTYPES, None, &samples.samples())
    }

    /// Which values of `meta(..)` parameters and `#[spec]` scalars make calls with such arguments fastest: compiles every
    /// combination, several at the same time, checks that all give the same within the tolerance, and times them in turn.
    /// Tensors with elements are what the trials read; nothing that is given is written. Where there are none - meta tensors,
    /// a [`TensorSpec`](super::TensorSpec) - numbers are made up, integers between 0 and 3.
    ///
    /// The choice is kept in the cache on disk, for this kernel, CPU and number of threads and for arguments about as large:
    /// the next run of the program finds it. See [`Tuned`] for how it is used.
    ///
    /// # Errors
    /// [`TuneError`](super::TuneError) in [`ErrorKind::Tune`](super::ErrorKind::Tune): a space that means nothing for the
    /// kernel, or of which nothing works. Arguments that do not fit, as a call tells them.
    ///
    /// ```
    /// use pypto::prelude::*;
    ///
    /// #[pypto::jit(meta(TM = 64))]
    /// fn softmax(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] #[shape(M, N)] y: &mut Tensor<f32, 2>) {
    ///     for at in tiles([M, N], [TM, N]) {
    ///         let t = x.load(at);
    ///         let e = (t - t.row_max()).exp();
    ///         y.store(at, e / e.row_sum());
    ///     }
    /// }
    ///
    /// let (x, mut y) = (Tensor::full([64, 128], 1.0f32), Tensor::zeros([64, 128]));
    /// let tuned = softmax.tune(space! { TM: [8, 64] }, &(&x, &y))?;
    /// println!("{tuned}");
    /// tuned.call((&x, &mut y))?;
    /// softmax.with(tuned.meta())(&x, &mut y)?; // the same
    /// # assert_eq!(y.as_slice()[0], 1.0 / 128.0);
    /// # Ok::<(), pypto::Error>(())
    /// ```
    fn tune<S: Samples + ?Sized>(&self, space: Space, samples: &S) -> Result<Tuned<Self::Output>> {
        self.tune_with(space, samples, &TuneOptions::new())
    }

    /// As [`JitFn::tune`], with other limits and tolerances.
    ///
    /// # Errors
    /// As [`JitFn::tune`].
    fn tune_with<S: Samples + ?Sized>(
        &self,
        space: Space,
        samples: &S,
        options: &TuneOptions,
    ) -> Result<Tuned<Self::Output>> {
        tune(self.ir(), Self::Types::DTYPES, None, &space, samples, options)
    }

    /// The specialization key for such arguments.
    fn key<S: Samples + ?Sized>(&self, samples: &S) -> Result<Key> {
        cache::key(self.ir(), Self::Types::DTYPES, None, &samples.samples(), &Settings::of_calls()?)
    }

    /// The same function with other values of its `meta(..)` parameters: `softmax.with(meta!{TM: 128})(&x, &mut y)`.
    fn with<'f>(self, meta: MetaValues) -> Self::With<'f>
    where
        Self: Sized + 'f;

    /// Runs the verbatim body as plain Rust, on this thread.
    fn eager(&self, arguments: Self::Arguments) -> <Self::Kernel as Eager<Self::Arguments>>::Output
    where
        Self::Kernel: Eager<Self::Arguments>,
    {
        <Self::Kernel as Eager<Self::Arguments>>::eager(arguments)
    }

    /// The function as the macro captured it, before specialization.
    fn ir(&self) -> &'static generic::Function {
        generic_function::<Self::Kernel>()
    }
}

/// A kernel with some of its `meta(..)` parameters set. It can be called like the function itself.
///
/// The borrows of a call through `f(..)` last as long as `f`; to call it several times with the same `&mut` tensor, write
/// `.with(..)` at each call.
pub struct WithMeta<Signature: ?Sized, K, G, O> {
    call: Box<Signature>,
    meta: Arc<MetaValues>,
    kernel: PhantomData<fn() -> (K, G, O)>,
}

impl<Signature: ?Sized, K: Callable, G: TypeArguments, O: Output> WithMeta<Signature, K, G, O> {
    fn new(call: Box<Signature>, meta: Arc<MetaValues>) -> Self {
        WithMeta { call, meta, kernel: PhantomData }
    }

    /// As [`JitFn::lower`].
    pub fn lower<S: Samples + ?Sized>(&self, samples: &S) -> Result<ir::Program> {
        lower(generic_function::<K>(), G::DTYPES, Some(&self.meta), &samples.samples())
    }

    /// As [`JitFn::compile`].
    pub fn compile<S: Samples + ?Sized>(&self, samples: &S, config: &RunConfig) -> Result<Compiled<O>> {
        Compiled::new(generic_function::<K>(), G::DTYPES, Some(&self.meta), &samples.samples(), config)
    }

    /// As [`JitFn::for_arguments`].
    pub fn for_arguments<S: Samples + ?Sized>(&self, samples: &S) -> Upcoming {
        Upcoming::new(generic_function::<K>(), G::DTYPES, Some((*self.meta).clone()), samples.samples())
    }

    /// As [`JitFn::warm`].
    pub fn warm<S: Samples + ?Sized>(&self, samples: &S) -> Result<()> {
        warm([self.for_arguments(samples)])
    }

    /// As [`JitFn::explain`].
    pub fn explain<S: Samples + ?Sized>(&self, samples: &S) -> Result<Explanation> {
        explain(generic_function::<K>(), G::DTYPES, Some(&self.meta), &samples.samples())
    }

    /// As [`JitFn::tune`]; the values that were given here stay as they are, unless the space has others.
    pub fn tune<S: Samples + ?Sized>(&self, space: Space, samples: &S) -> Result<Tuned<O>> {
        self.tune_with(space, samples, &TuneOptions::new())
    }

    /// As [`JitFn::tune_with`].
    pub fn tune_with<S: Samples + ?Sized>(&self, space: Space, samples: &S, options: &TuneOptions) -> Result<Tuned<O>> {
        tune(generic_function::<K>(), G::DTYPES, Some(&self.meta), &space, samples, options)
    }

    /// As [`JitFn::key`].
    pub fn key<S: Samples + ?Sized>(&self, samples: &S) -> Result<Key> {
        cache::key(generic_function::<K>(), G::DTYPES, Some(&self.meta), &samples.samples(), &Settings::of_calls()?)
    }

    /// As [`JitFn::ir`].
    pub fn ir(&self) -> &'static generic::Function {
        generic_function::<K>()
    }

    /// As [`JitFn::eager`]: the verbatim body sees these values of its `meta(..)` parameters.
    ///
    /// # Panics
    /// Where the kernel has no `meta(..)` parameter of a given name. A call returns an error instead.
    #[track_caller]
    pub fn eager<A>(&self, arguments: A) -> K::Output
    where
        K: Eager<A> + 'static,
    {
        let function = generic_function::<K>();
        for (name, _) in self.meta.iter() {
            let known = function.metas.iter().any(|meta| meta.name.name == name);
            assert!(known, "`{}` has no meta parameter `{name}`", function.name.name);
        }
        MetaValues::during_eager(TypeId::of::<K>(), &self.meta, || K::eager(arguments))
    }
}

impl<Signature: ?Sized, K, G, O> Deref for WithMeta<Signature, K, G, O> {
    type Target = Signature;

    fn deref(&self) -> &Signature {
        &self.call
    }
}

macro_rules! jit_fn {
    ($($name:ident),*) => {
        impl<Func, K, G, O, $($name),*> JitFn<fn($($name),*)> for Func
        where
            Func: Fn($($name),*) -> Result<Launched<K, G, O>>,
            K: Callable,
            G: TypeArguments,
            O: Output,
        {
            type Kernel = K;
            type Types = G;
            type Output = O;
            type Arguments = ($($name,)*);
            type With<'f>
                = WithMeta<dyn Fn($($name),*) -> Result<Launched<K, G, O>> + 'f, K, G, O>
            where
                Self: 'f;

            fn with<'f>(self, meta: MetaValues) -> Self::With<'f>
            where
                Self: Sized + 'f,
            {
                let meta = Arc::new(meta);
                let inner = meta.clone();
                #[allow(non_snake_case)]
                let call = move |$($name: $name),*| MetaValues::during(&inner, || self($($name),*));
                WithMeta::new(Box::new(call), meta)
            }
        }
    };
}

jit_fn!();
for_each_arity!(jit_fn);

/// The value of a `meta(..)` parameter in the eager body of the kernel `K`. The macros put the call in front of the body.
#[doc(hidden)]
pub fn eager_meta<K: 'static>(name: &str, default: i64) -> i64 {
    MetaValues::of_eager(TypeId::of::<K>(), name).unwrap_or(default)
}

/// Runs the kernel `K`, specializing it at the first call with such arguments. The macros emit the call of it.
///
/// # Errors
/// Arguments that do not fit, an error in the kernel, a run-time check that failed.
#[track_caller]
pub fn launch<K: Callable, G: TypeArguments, O: Output>(
    site: &'static CallSite,
    arguments: &mut [Argument<'_>],
) -> Result<Launched<K, G, O>> {
    let meta = MetaValues::take_current();
    let outcome = cache::call(site, generic_function::<K>(), G::DTYPES, meta.as_deref(), arguments);
    if let Err(error) = &outcome
        && EAGER.get() > 0
    {
        // The body of a kernel does not look at what its calls return.
        panic!("{error}");
    }
    outcome.map(Launched::new)
}

thread_local! {
    /// How many eager bodies this thread is in.
    static EAGER: Cell<u32> = const { Cell::new(0) };
}

/// Runs an eager body: the tiles that it makes are freed when it returns.
#[doc(hidden)]
pub fn eager_scope<R>(body: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            EAGER.set(EAGER.get() - 1);
        }
    }
    EAGER.set(EAGER.get() + 1);
    let _end = End;
    as_one_call(|| scope(body))
}

/// The program whose entry is the kernel `K`, with all functions that it calls, as written: what
/// [`pypto::compile`](fn@crate::compile) takes. `#[pypto::program]` emits the call of it.
#[doc(hidden)]
pub fn program<K: Callable, S: Samples + ?Sized>(samples: &S) -> Result<ir::Program> {
    unlowered(generic_function::<K>(), &samples.samples())
}

/// The generic IR of a companion type that stands for an annotated function.
fn generic_function<K: Callable>() -> &'static generic::Function {
    match K::callee() {
        Callee::Function(function) => function,
        Callee::Intrinsic(name) => unreachable!("`{name}` is an intrinsic, and intrinsics do not return `Launched`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::generic::{Block, Function, Ident, Span};
    use crate::ir::FunctionKind;
    use crate::jit::TensorSpec;

    const SPAN: Span = Span { line: 1, column: 1, end_line: 1, end_column: 2 };

    #[allow(non_camel_case_types)]
    enum scale {}

    impl Callable for scale {
        fn callee() -> Callee {
            static GENERIC: Function = Function {
                name: Ident { name: "scale", span: SPAN },
                module: module_path!(),
                file: file!(),
                source: "",
                source_line: 1,
                hash: 1,
                kind: FunctionKind::InCore,
                type_params: &[],
                params: &[],
                structs: &[],
                metas: &[],
                output: None,
                body: Block { statements: &[], result: None, span: SPAN },
                span: SPAN,
            };
            Callee::Function(&GENERIC)
        }
    }

    impl<'a> Eager<(f32, &'a mut f32)> for scale {
        type Output = ();
        fn eager((a, b): (f32, &'a mut f32)) {
            *b *= a;
        }
    }

    fn scale(a: f32, b: &mut f32) -> Result<Launched<scale>> {
        let _ = (a, b);
        launch::<scale, (), ()>(crate::call_site!(), &mut [])
    }

    #[test]
    fn handles_hang_on_plain_functions() {
        let mut value = 3.0;
        scale.eager((2.0, &mut value));
        assert_eq!(value, 6.0);
        assert_eq!(scale.ir().name.name, "scale");
        assert!(scale.lower(&(1.0f32, TensorSpec::new(DType::F32, [2]))).is_err());
        assert!(scale.with(crate::meta! {TM: 4})(2.0, &mut value).is_err());
        assert!(scale.with(crate::meta! {TM: 4}).lower(&()).is_err());
    }
}
