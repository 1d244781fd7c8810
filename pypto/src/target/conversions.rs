//! Conversions between element types: which ones an instruction does, and how the others are reached.

use crate::ir::DType;

/// From and to.
pub type Conversion = (DType, DType);

use DType::{BF16, F16, F32, I8, I16, I32, U8};

/// What both accelerators convert. Rounding an f32 to an integral f32 counts as a conversion too.
const SHARED: [Conversion; 18] = [
    (F32, F32),
    (F32, F16),
    (F32, BF16),
    (F32, I32),
    (F32, I16),
    (F16, F32),
    (F16, I32),
    (F16, I16),
    (F16, I8),
    (F16, U8),
    (BF16, F32),
    (BF16, I32),
    (I32, F32),
    (I32, I16),
    (I16, F16),
    (I16, F32),
    (I8, F16),
    (U8, F16),
];

/// What only the later one converts.
const ADDED: [Conversion; 4] = [(BF16, F16), (I16, I32), (I8, I16), (I8, I32)];

pub(super) static A2A3: &[Conversion] = &SHARED;

pub(super) static A5: &[Conversion] = &{
    let mut all = [(F32, F32); SHARED.len() + ADDED.len()];
    let (shared, added) = all.split_at_mut(SHARED.len());
    shared.copy_from_slice(&SHARED);
    added.copy_from_slice(&ADDED);
    all
};

/// The shortest chain of conversions from one type to another that goes through types which hold every value of the
/// source, so that only the last step may round; the types after the first. `None` where there is none.
pub fn chain(conversions: &[Conversion], from: DType, to: DType) -> Option<Vec<DType>> {
    let mut paths: Vec<Vec<DType>> = vec![vec![from]];
    for _ in 0..3 {
        let mut longer = Vec::new();
        for path in &paths {
            let last = path[path.len() - 1];
            for (_, next) in conversions.iter().filter(|(source, _)| *source == last) {
                let extended: Vec<DType> = path.iter().copied().chain([*next]).collect();
                if *next == to {
                    return Some(extended[1..].to_vec());
                }
                if holds_every(*next, from) && !path.contains(next) {
                    longer.push(extended);
                }
            }
        }
        paths = longer;
    }
    None
}

/// Whether `wide` represents every value of `narrow` exactly.
fn holds_every(wide: DType, narrow: DType) -> bool {
    let mantissa = |d: DType| match d {
        F32 => 24,
        F16 => 11,
        BF16 => 8,
        other => other.bits(),
    };
    let range = |d: DType| match d {
        F32 | BF16 => 128,
        F16 => 16,
        other => other.bits(),
    };
    let signs = wide.is_float() || !narrow.is_float();
    signs && mantissa(wide) >= mantissa(narrow) && range(wide) >= range(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_round_once() {
        assert_eq!(chain(A2A3, F32, F16), Some(vec![F16]));
        assert_eq!(chain(A2A3, F16, BF16), Some(vec![F32, BF16]));
        assert_eq!(chain(A2A3, I8, F32), Some(vec![F16, F32]));
        // f16 does not hold every f32: there is no way that rounds once.
        assert_eq!(chain(A2A3, F32, I8), None);
        assert_eq!(chain(A2A3, DType::I64, F32), None);
    }
}
