//! Calls of kernels: specialization, checks of arguments, and what a call may not do.

use pypto::compile::Platform;
use pypto::diagnostics::codes;
use pypto::jit::{ErrorKind, Origin, on_event, stats};
use pypto::prelude::*;

#[pypto::jit]
fn twice(
    #[shape(N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(N)]
    y: &mut Tensor<f32, 1>,
) {
    y.set(x + x);
}

#[pypto::jit]
fn twice_dynamic(
    #[shape(dyn N)] x: &Tensor<f32, 1>,
    #[out]
    #[shape(dyn N)]
    y: &mut Tensor<f32, 1>,
) {
    for at in tiles([N], [64]) {
        let t = x.load(at);
        y.store(at, t + t);
    }
}

#[pypto::jit(meta(TM = 8))]
fn softmax(
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

#[pypto::jit]
fn scaled<T: Element>(
    #[shape(N)] x: &Tensor<T, 1>,
    s: T,
    #[out]
    #[shape(N)]
    y: &mut Tensor<T, 1>,
) {
    y.set(x * s);
}

#[pypto::jit]
fn quotient(
    #[shape(N)] a: &Tensor<i32, 1>,
    #[shape(N)] b: &Tensor<i32, 1>,
    #[out]
    #[shape(N)]
    c: &mut Tensor<i32, 1>,
) {
    c.set(a / b);
}

fn ramp(n: i64) -> Tensor<f32, 1> {
    Tensor::from_fn([n], |[i]| i as f32)
}

#[test]
fn extents_of_every_size() {
    for n in [0, 1, 2, 63, 64, 65, 1000, 4099] {
        let (x, mut y) = (ramp(n), Tensor::zeros([n]));
        twice(&x, &mut y).unwrap();
        let mut z = Tensor::zeros([n]);
        twice_dynamic(&x, &mut z).unwrap();
        let expected: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
        assert_eq!((y.as_slice(), z.as_slice()), (&expected[..], &expected[..]), "extent {n}");
    }
}

#[test]
fn a_dynamic_extent_is_compiled_once() {
    #[pypto::jit]
    fn negated(
        #[shape(dyn M, N)] x: &Tensor<f32, 2>,
        #[out]
        #[shape(dyn M, N)]
        y: &mut Tensor<f32, 2>,
    ) {
        for at in tiles([M, N], [16, N]) {
            y.store(at, -x.load(at));
        }
    }
    use std::sync::Mutex;
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    on_event(|event| {
        if event.key.kernel() == "negated" {
            SEEN.lock().unwrap().push(event.key.to_string());
        }
    });
    for m in [1, 16, 17, 100, 0, 5] {
        let x = Tensor::<f32, 2>::full([m, 24], 3.0);
        let mut y = Tensor::zeros([m, 24]);
        negated(&x, &mut y).unwrap();
        assert!(y.as_slice().iter().all(|v| *v == -3.0));
    }
    assert_eq!(SEEN.lock().unwrap().len(), 1);
    let (x, mut y) = (Tensor::<f32, 2>::zeros([3, 24]), Tensor::zeros([4, 24]));
    let error = negated(&x, &mut y).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_EXTENT));
    assert!(error.to_string().contains("`M` is 3 in `x` and 4 in `y`"), "{error}");
}

#[test]
fn extents_that_share_a_name_must_agree() {
    let (x, mut y) = (ramp(3), Tensor::zeros([4]));
    let error = twice(&x, &mut y).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Call(_)));
    let text = error.to_string();
    assert!(text.contains("PTO0101") && text.contains('3') && text.contains('4'), "{text}");
    assert!(text.contains("`x`") && text.contains("`y`"), "{text}");
}

#[test]
fn arguments_may_not_share_written_memory() {
    let mut memory = [1.0f32; 12];
    // SAFETY: the memory outlives the slice; the overlap with the output is what the call must refuse before it touches either.
    let shared: &[f32] = unsafe { std::slice::from_raw_parts(memory.as_ptr(), 8) };
    let x = Tensor::view_of(shared, [8]);
    let text = Tensor::with_mut_slice(&mut memory[4..], [8], |y| twice(&x, y).unwrap_err().to_string());
    assert!(text.contains("PTO0104") && text.contains("share memory"), "{text}");
    assert!(memory.iter().all(|v| *v == 1.0), "nothing was written");
}

#[pypto::jit]
fn from_behind(
    #[out]
    #[shape(8)]
    y: &mut Tensor<f32, 1>,
    factor: f32,
    #[shape(8)] x: &Tensor<f32, 1>,
) {
    y.set(x * factor);
}

/// Of a kernel that was called before, too, and wherever the parameter stands that is written.
#[test]
fn later_calls_may_not_share_written_memory() {
    let (x, mut y) = (Tensor::full([8], 1.0), Tensor::zeros([8]));
    for _ in 0..3 {
        from_behind(&mut y, 2.0, &x).unwrap();
    }
    assert_eq!(y.to_vec(), [2.0; 8]);
    let mut memory = [1.0f32; 17];
    for (start, shares) in [(0, true), (7, true), (8, false), (9, false)] {
        // SAFETY: the memory outlives the slice; where it overlaps with the output, the call must refuse it before it touches
        // either.
        let input: &[f32] = unsafe { std::slice::from_raw_parts(memory.as_ptr().add(start), 8) };
        let x = Tensor::view_of(input, [8]);
        let outcome = Tensor::with_mut_slice(&mut memory[..8], [8], |y| from_behind(y, 3.0, &x).map(drop));
        let told = outcome.map_err(|error| error.code());
        assert_eq!(told, if shares { Err(Some(codes::ARGUMENT_ALIAS)) } else { Ok(()) }, "{start}");
    }
}

#[test]
fn layouts_that_are_not_accepted() {
    let x = Tensor::<f32, 2>::zeros([4, 6]);
    let mut y = Tensor::zeros([6, 4]);
    let error = softmax(&x.transposed(), &mut y).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_LAYOUT), "{error}");
    let (meta, mut y) = (Tensor::<f32, 1>::meta([5]), Tensor::zeros([5]));
    let error = twice(&meta, &mut y).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_LAYOUT), "{error}");
    assert!(error.to_string().contains("meta tensor"), "{error}");
}

#[test]
fn huge_tensors_compile_without_memory() {
    let x = Tensor::<f32, 1>::meta([1i64 << 40]);
    twice.compile(&(&x, &x), &RunConfig::new()).unwrap();
    let far = TensorSpec::new(pypto::ir::DType::F32, [i64::MAX]);
    let error = twice.compile(&(&far, &far), &RunConfig::new()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_SIZE), "{error}");
}

#[test]
fn meta_values_select_variants() {
    let x = Tensor::<f32, 2>::from_fn([37, 19], |[i, j]| ((i * 5 + j) % 7) as f32);
    let (mut y, mut z) = (Tensor::zeros([37, 19]), Tensor::zeros([37, 19]));
    softmax(&x, &mut y).unwrap();
    softmax.with(meta! {TM: 5})(&x, &mut z).unwrap();
    assert_eq!(y.as_slice(), z.as_slice());
    assert_ne!(softmax.key(&(&x, &y)).unwrap(), softmax.with(meta! {TM: 5}).key(&(&x, &y)).unwrap());
    let error = softmax.with(meta! {TN: 5})(&x, &mut z).unwrap_err();
    assert_eq!(error.code(), Some(codes::META_VALUE), "{error}");
    softmax(&x, &mut y).unwrap();
}

#[test]
fn element_types_are_part_of_the_key() {
    let x = ramp(10);
    let mut y = Tensor::zeros([10]);
    scaled(&x, 3.0, &mut y).unwrap();
    assert_eq!(y.as_slice()[3], 9.0);
    let x = Tensor::<i32, 1>::arange(10);
    let mut y = Tensor::zeros([10]);
    scaled(&x, 4, &mut y).unwrap();
    assert_eq!(y.as_slice()[3], 12);
    scaled(&x, 5, &mut y).unwrap();
    assert_eq!(y.as_slice()[3], 15);
    scaled::<f16>
        .compile(
            &(TensorSpec::new(pypto::ir::DType::F16, [4]), f16::ONE, TensorSpec::new(pypto::ir::DType::F16, [4])),
            &RunConfig::new(),
        )
        .unwrap();
}

#[test]
fn a_compiled_kernel_checks_its_arguments() {
    let (x, mut y) = (ramp(100), Tensor::<f32, 1>::zeros([100]));
    for config in [
        RunConfig::new(),
        RunConfig::new().with_threads(1).with_cache(false),
        RunConfig::new().with_platform(pypto::compile::Platform::Interpreter),
    ] {
        let compiled = twice.compile(&(&x, &y), &config).unwrap();
        compiled.call((&x, &mut y)).unwrap();
        assert_eq!(y.as_slice()[99], 198.0);
        let (short, mut z) = (ramp(50), Tensor::<f32, 1>::zeros([50]));
        assert_eq!(compiled.call((&short, &mut z)).unwrap_err().code(), Some(codes::ARGUMENT_EXTENT));
        assert!(compiled.call((&x,)).is_err());
        assert!(compiled.call((&x, &x)).is_err());
        assert!(!compiled.program().functions.is_empty());
    }
}

#[test]
fn division_by_zero_names_the_line() {
    let a = Tensor::<i32, 1>::arange(100);
    let mut b = Tensor::<i32, 1>::full([100], 1);
    let mut c = Tensor::zeros([100]);
    quotient(&a, &b, &mut c).unwrap();
    b.as_mut_slice()[50] = 0;
    for config in [RunConfig::new(), RunConfig::new().with_platform(pypto::compile::Platform::Interpreter)] {
        let compiled = quotient.compile(&(&a, &b, &c), &config).unwrap();
        let error = compiled.call((&a, &b, &mut c)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Runtime(_)), "{error}");
        assert!(error.to_string().contains("calls.rs"), "{error}");
    }
}

#[test]
fn threads_wait_for_one_compilation() {
    #[pypto::jit]
    fn raced(
        #[shape(N)] x: &Tensor<f32, 1>,
        #[out]
        #[shape(N)]
        y: &mut Tensor<f32, 1>,
    ) {
        y.set(x * 7.0);
    }
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    on_event(|event| {
        if event.key.kernel() == "raced" {
            COMPILED.fetch_add(1, Ordering::Relaxed);
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (x, mut y) = (ramp(128), Tensor::zeros([128]));
                raced(&x, &mut y).unwrap();
                assert_eq!(y.as_slice()[2], 14.0);
            });
        }
    });
    assert_eq!(COMPILED.load(Ordering::Relaxed), 1);
    assert!(stats().compiled + stats().loaded > 0);
}

#[test]
fn many_variants_are_worth_a_warning() {
    #[pypto::jit]
    fn varied(
        #[shape(N)] x: &Tensor<f32, 1>,
        #[out]
        #[shape(N)]
        y: &mut Tensor<f32, 1>,
    ) {
        y.set(-x);
    }
    use std::sync::Mutex;
    static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    on_event(|event| {
        if event.key.kernel() == "varied" {
            assert!(matches!(event.origin, Origin::Compiled | Origin::DiskCache));
            assert_eq!(event.variants > 1, event.changes.iter().any(|c| c.what == "N"));
            let text = event.warning.as_ref().map(|warning| warning.to_string());
            WARNINGS.lock().unwrap().extend(text);
        }
    });
    for n in 1..=20 {
        let (x, mut y) = (ramp(n), Tensor::zeros([n]));
        varied(&x, &mut y).unwrap();
    }
    let warnings = WARNINGS.lock().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("`varied` was compiled in 16 variants") && warnings[0].contains("dyn N"),
        "{}",
        warnings[0]
    );
}

/// Two components vary: the extent takes a new value every second time, the target one of two each time.
#[test]
fn the_warning_names_what_took_most_values() {
    #[pypto::jit]
    fn alternating(
        #[shape(N)] x: &Tensor<f32, 1>,
        #[out]
        #[shape(N)]
        y: &mut Tensor<f32, 1>,
    ) {
        y.set(-x);
    }
    use std::sync::Mutex;
    static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    on_event(|event| {
        if event.key.kernel() == "alternating" {
            WARNINGS.lock().unwrap().extend(event.warning.as_ref().map(ToString::to_string));
        }
    });
    for n in 0..16 {
        let platform = if n % 2 == 0 { Platform::Interpreter } else { Platform::Host };
        let x = ramp(n / 2 + 1);
        alternating.compile(&(&x, &x), &RunConfig::new().with_platform(platform)).unwrap();
    }
    let warnings = WARNINGS.lock().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("N took 8 values") && warnings[0].contains("dyn N"), "{}", warnings[0]);
}
