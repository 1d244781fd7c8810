//! Families of instruction sets: what kernels on the host are compiled for.

/// A family, from the widest vectors to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// x86-64 with AVX-512 F, BW, DQ, VL.
    Avx512,
    /// x86-64 with AVX2, FMA and F16C (x86-64-v3).
    Avx2,
    /// AArch64.
    Neon,
    /// Plain x86-64.
    Sse2,
    /// Anything else: four lanes that LLVM breaks down as needed.
    Generic,
}

impl Isa {
    /// Every family, for tests that emit for each.
    pub const ALL: [Isa; 5] = [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Sse2, Isa::Generic];

    /// The name in LIR text and reports.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Neon => "neon",
            Isa::Sse2 => "sse2",
            Isa::Generic => "generic",
        }
    }

    /// The best that this CPU can run.
    pub fn of_this_cpu() -> Isa {
        Isa::ALL.into_iter().find(|isa| isa.runs_here()).unwrap_or(Isa::Generic)
    }

    /// Whether this CPU can run code of the family.
    pub fn runs_here(self) -> bool {
        runs_here(self)
    }

    /// The family of that name.
    pub fn from_name(name: &str) -> Option<Isa> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name)
    }
}

#[cfg(target_arch = "x86_64")]
fn runs_here(isa: Isa) -> bool {
    let avx2 =
        || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
    let avx512 = || {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    };
    match isa {
        Isa::Avx512 => avx512() && avx2(),
        Isa::Avx2 => avx2(),
        Isa::Sse2 => true,
        Isa::Neon | Isa::Generic => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_here(isa: Isa) -> bool {
    match isa {
        Isa::Neon => cfg!(target_arch = "aarch64"),
        Isa::Generic => true,
        _ => false,
    }
}
