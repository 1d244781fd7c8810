//! Random numbers and buffers of any element type for the tests.

use half::{bf16, f16};

use crate::ir::DType;

/// A small generator of random numbers (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| {
            dice.next();
        });
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() >> 11) as usize % n }
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Elements in 8-byte words, so that every type is aligned.
pub(crate) struct Buffer {
    dtype: DType,
    count: usize,
    words: Vec<u64>,
}

impl Buffer {
    /// Ordinary numbers, and a few special ones.
    pub fn random(dtype: DType, count: usize, dice: &mut Dice) -> Buffer {
        let mut buffer = Buffer { dtype, count, words: vec![0; (count * dtype.size()).div_ceil(8) + 1] };
        for i in 0..count {
            let bits = element(dtype, dice);
            buffer.bytes_mut(i).copy_from_slice(&bits.to_le_bytes()[..dtype.size()]);
        }
        buffer
    }

    pub fn address(&mut self) -> u64 {
        self.words.as_mut_ptr() as u64
    }

    fn bytes_mut(&mut self, i: usize) -> &mut [u8] {
        let size = self.dtype.size();
        &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.words)[i * size..(i + 1) * size]
    }

    fn bits(&self, i: usize) -> u64 {
        let size = self.dtype.size();
        let mut word = [0u8; 8];
        word[..size].copy_from_slice(&bytemuck::cast_slice::<u64, u8>(&self.words)[i * size..(i + 1) * size]);
        u64::from_le_bytes(word)
    }

    /// The first element that differs, NaN payloads aside.
    pub fn first_difference(&self, other: &Buffer) -> Option<usize> {
        (0..self.count).find(|&i| {
            let (a, b) = (self.bits(i), other.bits(i));
            a != b && !(self.is_nan(a) && self.is_nan(b))
        })
    }

    fn is_nan(&self, bits: u64) -> bool {
        match self.dtype {
            DType::F32 => f32::from_bits(bits as u32).is_nan(),
            DType::F16 => f16::from_bits(bits as u16).is_nan(),
            DType::BF16 => bf16::from_bits(bits as u16).is_nan(),
            _ => false,
        }
    }

    pub fn show(&self, i: usize) -> String {
        if i >= self.count {
            return "-".to_owned();
        }
        let bits = self.bits(i);
        match self.dtype {
            DType::F32 => format!("{:?} ({bits:#x})", f32::from_bits(bits as u32)),
            DType::F16 => format!("{:?} ({bits:#x})", f16::from_bits(bits as u16)),
            DType::BF16 => format!("{:?} ({bits:#x})", bf16::from_bits(bits as u16)),
            _ => format!("{bits:#x}"),
        }
    }
}

fn element(dtype: DType, dice: &mut Dice) -> u64 {
    let special = dice.below(40) == 0;
    let x = (dice.below(4001) as f32 - 2000.0) / 500.0;
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, 1e-41, -60000.0];
    let x = if special { dice.pick(&odd) } else { x };
    match dtype {
        DType::F32 => u64::from(x.to_bits()),
        DType::F16 => u64::from(f16::from_f32(x).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(x).to_bits()),
        DType::Bool => dice.next() & 1,
        _ if special => dice.next(),
        _ if dtype.is_unsigned_integer() => dice.below(20) as u64,
        _ => (dice.below(41) as i64 - 20) as u64,
    }
}
