//! What the code generator needs to know of a CPU: lane count, registers, instructions, micro-kernel shape.
//!
//! Kernels are written for a symbolic lane count; everything that depends on the machine is in this table.

use std::sync::OnceLock;

use crate::config::environment::Environment;

pub use crate::config::Isa;

/// How a partial vector is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskStrategy {
    /// The hardware masks 32-bit lanes.
    Masked,
    /// LLVM breaks a masked access into guarded scalar ones: right, but slow, so use it for tails only.
    Scalarized,
}

/// A row of the target table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The family.
    pub isa: Isa,
    /// 32-bit lanes of a vector: `W`.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Fused multiply-add in hardware. Without it `fma` is a multiplication and an addition with two roundings, and results may differ
    /// from the interpreter's in the last bit.
    pub fma: bool,
    /// Conversions between f16 and f32 in hardware.
    pub f16_conversion: bool,
    /// Rounding to integral in hardware (SSE4.1 `roundps` and its like).
    pub round: bool,
    /// Products of pairs of 16-bit integers with their sum in hardware.
    pub integer_pairs: bool,
    /// Products of pairs of bf16, added to f32, in hardware: beyond what its family promises, see [`Target::host`].
    pub bf16_pairs: bool,
    /// Products of four unsigned with four signed bytes, added to 32 bits, in hardware: beyond what its family promises as well.
    pub byte_quads: bool,
    /// Products of f32 with powers of two in one operation on vectors.
    pub scales: bool,
    /// How tails are done.
    pub masks: MaskStrategy,
    /// Rows of the matrix-multiply micro-kernel.
    pub mr: usize,
    /// The same for products of few rows that it divides better.
    pub few_rows_mr: usize,
    /// Columns of the micro-kernel, in vectors.
    pub nr_vectors: usize,
}

impl Target {
    /// The table row of a family.
    pub fn of(isa: Isa) -> Target {
        let sse2 = Target {
            isa: Isa::Sse2,
            lanes: 4,
            registers: 16,
            fma: false,
            f16_conversion: false,
            round: false,
            integer_pairs: true,
            bf16_pairs: false,
            byte_quads: false,
            scales: false,
            masks: MaskStrategy::Scalarized,
            mr: 4,
            few_rows_mr: 4,
            nr_vectors: 2,
        };
        match isa {
            Isa::Avx512 => Target {
                isa,
                lanes: 16,
                registers: 32,
                fma: true,
                f16_conversion: true,
                round: true,
                integer_pairs: true,
                bf16_pairs: false,
                byte_quads: false,
                scales: true,
                masks: MaskStrategy::Masked,
                mr: 8,
                few_rows_mr: 12,
                nr_vectors: 2,
            },
            Isa::Avx2 => Target {
                isa,
                lanes: 8,
                registers: 16,
                fma: true,
                f16_conversion: true,
                round: true,
                integer_pairs: true,
                bf16_pairs: false,
                byte_quads: false,
                scales: false,
                masks: MaskStrategy::Masked,
                mr: 6,
                few_rows_mr: 6,
                nr_vectors: 2,
            },
            Isa::Neon => Target {
                isa,
                lanes: 4,
                registers: 32,
                fma: true,
                f16_conversion: true,
                round: true,
                integer_pairs: false,
                bf16_pairs: false,
                byte_quads: false,
                scales: false,
                masks: MaskStrategy::Scalarized,
                mr: 6,
                few_rows_mr: 6,
                nr_vectors: 4,
            },
            Isa::Sse2 => sse2,
            Isa::Generic => Target { isa, integer_pairs: false, ..sse2 },
        }
    }

    /// The row that kernels of this process are compiled for: the best that this CPU can run with all that it has, or the one that
    /// `PYPTO_ISA` names. Only code of the best is compiled for the CPU itself, so only that may use more than the family.
    pub fn host() -> Target {
        let own = Isa::of_this_cpu();
        let isa = Environment::process_or_default().isa.unwrap_or(own);
        match isa {
            Isa::Avx512 if isa == own => with_extensions(Target::of(isa)),
            _ => Target::of(isa),
        }
    }

    /// Columns of the micro-kernel.
    pub fn nr(&self) -> usize {
        self.nr_vectors * self.lanes
    }
}

/// A text that differs between CPUs whose code may differ; part of every key under which machine code is stored. It is found without LLVM,
/// because a process that finds its code in the cache must not open LLVM.
///
/// Asked once a process: a virtual machine's CPU answers only after its host was asked, which takes microseconds.
pub fn host_identity() -> &'static str {
    static IDENTITY: OnceLock<String> = OnceLock::new();
    IDENTITY.get_or_init(|| format!("{}-{}", std::env::consts::ARCH, cpu_model()))
}

/// AVX-512 with what this CPU has of the extensions that are used.
#[cfg(target_arch = "x86_64")]
fn with_extensions(target: Target) -> Target {
    let (bf16_pairs, byte_quads) = (is_x86_feature_detected!("avx512bf16"), is_x86_feature_detected!("avx512vnni"));
    Target { bf16_pairs, byte_quads, ..target }
}

#[cfg(not(target_arch = "x86_64"))]
fn with_extensions(target: Target) -> Target {
    target
}

#[cfg(target_arch = "x86_64")]
fn cpu_model() -> String {
    use std::arch::x86_64::__cpuid_count;
    // Leaf 0 names the vendor, leaf 1 family, model, stepping and features (EBX holds the core number, so it is left out), leaf 7 features,
    // of which there may be a second part: a machine without it says zero.
    let (vendor, family, features) = (__cpuid_count(0, 0), __cpuid_count(1, 0), __cpuid_count(7, 0));
    let more = if features.eax > 0 { __cpuid_count(7, 1).eax } else { 0 };
    let words = [vendor.ebx, vendor.edx, vendor.ecx, family.eax, family.ecx, family.edx];
    let words = words.into_iter().chain([features.ebx, features.ecx, features.edx, more]);
    words.map(|w| format!("{w:08x}")).collect::<Vec<_>>().join(".")
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_model() -> String {
    "generic".into()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Code that is stored must not meet a CPU without the instructions that it uses.
    #[test]
    fn what_goes_beyond_a_family_is_in_the_identity() {
        const BF16: u32 = 1 << 5;
        let more = host_identity().rsplit('.').next().and_then(|word| u32::from_str_radix(word, 16).ok()).unwrap();
        assert!(more & BF16 != 0 || !Target::host().bf16_pairs);
        assert!(Isa::ALL.iter().map(|&isa| Target::of(isa)).all(|target| !target.bf16_pairs && !target.byte_quads));
    }
}
