//! Products, alone and inside attention.

use super::kernels::{flash, matmul};
use super::run::{cpu_seconds, prepare};

fn values(n: i64, scale: f32) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 % 1009) as f32 - 500.0) * scale).collect()
}

#[test]
fn products_are_close_to_f64() {
    for (m, n, k, tile) in
        [(5, 7, 3, (4, 8, 2)), (64, 64, 64, (32, 32, 64)), (33, 65, 300, (16, 64, 300)), (1, 1, 1, (8, 8, 8))]
    {
        let kernel = prepare(&matmul(m, n, k, tile));
        let (x, y) = (values(m * k, 0.01), values(k * n, 0.02));
        let mut z = vec![0f32; (m * n) as usize];
        let status = kernel.call(&[x.as_ptr() as u64, y.as_ptr() as u64, z.as_mut_ptr() as u64], &mut Vec::new());
        assert_eq!(status, 0);
        for i in 0..m {
            for j in 0..n {
                let want: f64 =
                    (0..k).map(|l| f64::from(x[(i * k + l) as usize]) * f64::from(y[(l * n + j) as usize])).sum();
                let got = f64::from(z[(i * n + j) as usize]);
                assert!((got - want).abs() <= 1e-3, "{m}x{n}x{k} at {i},{j}: {got} instead of {want}");
            }
        }
    }
}

fn attention(heads: usize, s: usize, d: usize, q: &[f32], k: &[f32], v: &[f32]) -> Vec<f32> {
    let mut out = vec![0f32; heads * s * d];
    for h in 0..heads {
        for i in h * s..(h + 1) * s {
            let scores: Vec<f64> = (h * s..(h + 1) * s)
                .map(|j| {
                    (0..d).map(|l| f64::from(q[i * d + l]) * f64::from(k[j * d + l])).sum::<f64>() / (d as f64).sqrt()
                })
                .collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let e: Vec<f64> = scores.iter().map(|x| (x - max).exp()).collect();
            let sum: f64 = e.iter().sum();
            for l in 0..d {
                let x: f64 = e.iter().enumerate().map(|(j, e)| e * f64::from(v[(h * s + j) * d + l])).sum();
                out[i * d + l] = (x / sum) as f32;
            }
        }
    }
    out
}

#[test]
fn attention_is_close_to_f64() {
    for (heads, s, d, blocks) in [(2, 64, 64, (64, 64)), (1, 50, 16, (16, 25)), (2, 32, 8, (32, 8))] {
        let kernel = prepare(&flash(heads, s, d, blocks));
        let n = heads * s * d;
        let (q, k, v) = (values(n, 0.003), values(n, 0.002), values(n, 0.004));
        let mut o = vec![0f32; n as usize];
        let args = [q.as_ptr() as u64, k.as_ptr() as u64, v.as_ptr() as u64, o.as_mut_ptr() as u64];
        assert_eq!(kernel.call(&args, &mut Vec::new()), 0);
        let want = attention(heads as usize, s as usize, d as usize, &q, &k, &v);
        for i in 0..o.len() {
            assert!((o[i] - want[i]).abs() < 1e-5, "{heads}x{s}x{d} at {i}: {} instead of {}", o[i], want[i]);
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn product_speed() {
    for (n, tile) in [
        (64, (64, 64, 64)),
        (1024, (512, 1024, 1024)),
        (1024, (256, 1024, 1024)),
        (1024, (384, 512, 1024)),
        (512, (256, 512, 512)),
        (512, (192, 512, 512)),
        (1024, (192, 512, 1024)),
        (512, (64, 64, 64)),
        (256, (64, 64, 256)),
        (512, (128, 256, 512)),
        (512, (512, 512, 512)),
        (1024, (128, 256, 1024)),
        (1024, (1024, 1024, 1024)),
    ] {
        let start = cpu_seconds();
        let kernel = prepare(&matmul(n, n, n, tile));
        let compile = (cpu_seconds() - start) * 1e3;
        let (x, y, mut z) = (values(n * n, 0.01), values(n * n, 0.02), vec![0f32; (n * n) as usize]);
        let time = kernel.best(&[x.as_ptr() as u64, y.as_ptr() as u64, z.as_mut_ptr() as u64], 20);
        println!(
            "matmul {n} {tile:?}: {:.1} GF/s, compiled in {compile:.1} ms",
            2.0 * (n as f64).powi(3) / time * 1e-9
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn flash_speed() {
    for blocks in [(64, 64), (64, 128), (32, 64)] {
        let start = cpu_seconds();
        let (heads, s, d) = (8, 1024, 64);
        let kernel = prepare(&flash(heads, s, d, blocks));
        let compile = (cpu_seconds() - start) * 1e3;
        let n = heads * s * d;
        let (q, k, v, mut o) = (values(n, 0.003), values(n, 0.002), values(n, 0.004), vec![0f32; n as usize]);
        let args = [q.as_ptr() as u64, k.as_ptr() as u64, v.as_ptr() as u64, o.as_mut_ptr() as u64];
        let time = kernel.best(&args, 10);
        println!(
            "flash {blocks:?}: {:.1} GF/s, compiled in {compile:.1} ms",
            4.0 * (heads * s * s * d) as f64 / time * 1e-9
        );
    }
}
