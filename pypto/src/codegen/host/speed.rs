//! Figures of speed, printed on request: `cargo test --release -p pypto --lib speed -- --ignored --nocapture --test-threads 1`.

use super::compile::{compile_text, llvm_text};
use super::cpu::Target;
use super::gemm::{Gemm, Init, Operand, emit, scratch_bytes};
use super::lir::{Elem, Module, Reduce, Type};
use super::loader::{Image, KernelFn};
use crate::ops::math::MathFn;

/// CPU seconds of this thread: other processes on the machine count less.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time into a live struct.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Best time of one run, each sample long enough for the clock.
fn best(mut run: impl FnMut()) -> f64 {
    let start = now();
    run();
    let repeat = (2e-3 / (now() - start).max(1e-8)).ceil().max(1.0) as usize;
    let sample = |run: &mut dyn FnMut()| {
        let start = now();
        (0..repeat).for_each(|_| run());
        (now() - start) / repeat as f64
    };
    (0..60).map(|_| sample(&mut run)).fold(f64::INFINITY, f64::min)
}

fn compile(module: &Module, what: &str) -> Image {
    let start = now();
    let text = llvm_text(module).unwrap();
    let object = compile_text(module.target, &text).unwrap();
    let time = (now() - start) * 1e3;
    println!("{what}: text {} KiB, object {} KiB, {time:.1} ms", text.len() / 1024, object.len() / 1024);
    Image::load(&object).unwrap()
}

fn call(kernel: KernelFn, args: &[u64], scratch: &mut [u64]) {
    let mut status = 0;
    // SAFETY: the callers pass pointers to buffers of the sizes that the kernels use.
    unsafe { kernel(args.as_ptr(), 0, 0, scratch.as_mut_ptr().cast(), &mut status) };
}

/// Multiply-adds per second at best: 12 independent chains.
fn peak() -> f64 {
    let target = Target::host();
    let mut module = Module::new(target);
    module.kernel("k", |b| {
        let (y, n) = (b.arg_ptr(0), b.arg_i64(1));
        let (zero, one) = (b.index(0), b.index(1));
        let x = b.load_splat(Elem::F32, y, zero);
        let init = vec![x; 12];
        let sums = b.for_loop(zero, n, one, &init, |b, _, sums| {
            let mut sums = sums.to_vec();
            for _ in 0..4 {
                sums = sums.iter().map(|&s| b.fma(x, s, x)).collect();
            }
            sums
        });
        let sum = sums.into_iter().reduce(|a, c| b.add(a, c)).unwrap();
        let total = b.reduce_lanes(Reduce::Add, sum);
        b.store(total, y, zero);
    });
    let image = compile(&module, "peak");
    let kernel = image.kernel("k").unwrap();
    let mut y = [0.5f32];
    let time = best(|| call(kernel, &[y.as_mut_ptr() as u64, 10_000], &mut []));
    10_000.0 * 48.0 * 2.0 * target.lanes as f64 / time
}

/// Kernel `k` over a, b, c, m, n, k, with the second factor as it is or transposed.
fn product(target: Target, elem: Elem, transposed: bool) -> Module {
    let mut module = Module::new(target);
    module.kernel("k", |b| {
        let one = b.index(1);
        let dims = [b.arg_i64(3), b.arg_i64(4), b.arg_i64(5)];
        let operand = |ptr, [row_stride, col_stride]: [_; 2]| Operand {
            ptr,
            elem,
            signed: true,
            row_stride,
            col_stride,
            far: false,
        };
        let a = operand(b.arg_ptr(0), [dims[2], one]);
        let strides = if transposed { [one, dims[2]] } else { [dims[1], one] };
        let bb = operand(b.arg_ptr(1), strides);
        let (c, scratch) = (b.arg_ptr(2), b.scratch());
        let [m, n, k] = dims;
        let (init, most, panels) = (Init::Zero, [None; 3], None);
        emit(b, &Gemm { m, n, k, a, b: bb, panels, c, c_stride: n, init, scratch, most, padded: false });
    });
    module
}

/// Products of short types, several steps at a time and one.
#[test]
#[ignore = "a measurement"]
fn narrow_gemm_rates() {
    let target = Target::host();
    let single = Target { bf16_pairs: false, integer_pairs: false, byte_quads: false, ..target };
    let sizes = [64, 256, 1024];
    for (target, elem) in
        [Elem::F32, Elem::F16, Elem::BF16, Elem::I8].into_iter().flat_map(|elem| [(single, elem), (target, elem)])
    {
        for transposed in [false, true] {
            let image = compile(&product(target, elem, transposed), &format!("gemm {elem}"));
            let kernel = image.kernel("k").unwrap();
            let mut scratch = vec![0u64; scratch_bytes(target, None, None) / 8 + 8];
            for n in sizes {
                let element: &[u8] = match elem {
                    Elem::F32 => &[0, 0, 0x80, 0x3e],
                    Elem::F16 => &[0, 0x34],
                    Elem::BF16 => &[0x80, 0x3e],
                    _ => &[3],
                };
                let (x, mut c) = (element.repeat(n * n), vec![0f32; n * n]);
                let (x, size) = (x.as_ptr() as u64, n as u64);
                let args = [x, x, c.as_mut_ptr() as u64, size, size, size];
                let time = best(|| call(kernel, &args, &mut scratch));
                let rate = 2.0 * (n * n * n) as f64 / time;
                let several = target.integer_pairs;
                println!("{elem} {n}, B^T {transposed}, several steps {several}: {:.1} G/s", rate * 1e-9);
            }
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn gemm_rates() {
    let target = Target::host();
    let peak = peak();
    println!("peak {:.1} GF/s", peak * 1e-9);
    for transposed in [false, true] {
        let module = product(target, Elem::F32, transposed);
        let image = compile(&module, if transposed { "gemm B^T" } else { "gemm" });
        let kernel = image.kernel("k").unwrap();
        let mut scratch = vec![0u64; scratch_bytes(target, None, None) / 8 + 8];
        for [m, n, k] in [
            [64, 64, 64],
            [64, 64, 256],
            [128, 128, 128],
            [256, 256, 256],
            [512, 512, 512],
            [1024, 1024, 1024],
            [17, 384, 384],
            [1, 1024, 1024],
            [4, 1024, 1024],
        ] {
            let (a, b) = (vec![0.5f32; m * k], vec![0.25f32; k * n]);
            let mut c = vec![0f32; m * n];
            let args = [a.as_ptr() as u64, b.as_ptr() as u64, c.as_mut_ptr() as u64, m as u64, n as u64, k as u64];
            let time = best(|| call(kernel, &args, &mut scratch));
            let rate = 2.0 * (m * n * k) as f64 / time;
            println!("{m}x{n}x{k} B^T {transposed}: {:.1} GF/s, {:.0} % of peak", rate * 1e-9, rate / peak * 100.0);
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn function_cycles() {
    let target = Target::host();
    let clock = peak() / (2.0 * 2.0 * target.lanes as f64);
    println!("clock {:.2} GHz if two multiply-adds are done per cycle", clock * 1e-9);
    for function in MathFn::ALL {
        let mut module = Module::new(target);
        module.kernel("k", |b| {
            let (x, y, n) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_i64(2));
            let zero = b.index(0);
            b.lanes_loop(zero, n, 1, &[vec![]], |b, i, tail, _| {
                let v = b.load_vec(Elem::F32, x, i, None, tail.mask());
                let v = b.math(function, v);
                b.store_vec(v, y, i, None, tail.mask());
                vec![]
            });
        });
        let image = compile(&module, "function");
        let kernel = image.kernel("k").unwrap();
        let x: Vec<f32> = (0..2048).map(|i| i as f32 * 0.003 + 0.1).collect();
        let mut y = vec![0f32; 2048];
        let time = best(|| call(kernel, &[x.as_ptr() as u64, y.as_mut_ptr() as u64, 2048], &mut []));
        let mut z = x.clone();
        let scalar = best(|| {
            z.copy_from_slice(&x);
            function.eval_slice(&mut z);
        });
        let per = |t: f64| t / 2048.0 * clock;
        println!("{function:?}: {:.2} cycles per element, {:.2} as Rust slice", per(time), per(scalar));
    }
}

#[test]
#[ignore = "a measurement"]
fn small_kernel_compile_time() {
    for _ in 0..5 {
        let mut module = Module::new(Target::host());
        module.kernel("k", |b| {
            let (x, y, n) = (b.arg_ptr(0), b.arg_ptr(1), b.arg_i64(2));
            let zero = b.index(0);
            b.lanes_loop(zero, n, 4, &[vec![], vec![], vec![], vec![]], |b, i, tail, _| {
                let v = b.load_vec(Elem::F32, x, i, None, tail.mask());
                let w = b.add(v, v);
                b.store_vec(w, y, i, None, tail.mask());
                vec![]
            });
            let v = b.load(Type::F32, x, zero);
            b.store(v, y, zero);
        });
        compile(&module, "add");
    }
}
