//! Random numbers by counting: the number of an element and a seed give its bits, whatever computes it, in whatever order.

use crate::prelude::*;

/// The bits of the product of each element with `factor`: the high and the low half.
#[pypto::function(inline)]
fn multiplied(x: Tile<u32>, factor: i64) -> (Tile<u32>, Tile<u32>) {
    let product = x.cast::<i64>() * factor;
    ((product >> 32).cast::<u32>(), product.cast::<u32>())
}

/// Philox 4x32 with 10 rounds: four words for each counter of four words, `[M, N]` each, under a key of two words, whose
/// tiles broadcast.
///
/// ```
/// use pypto::prelude::*;
/// let zero = Tile::full([1, 1], 0u32);
/// let (a, b, c, d) = pypto::kernels::inline::philox(zero, zero, zero, zero, zero, zero);
/// let words = [a, b, c, d].map(|word| word.get([0, 0]));
/// assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[pypto::function(inline)]
pub fn philox(
    counter0: Tile<u32>,
    counter1: Tile<u32>,
    counter2: Tile<u32>,
    counter3: Tile<u32>,
    key0: Tile<u32>,
    key1: Tile<u32>,
) -> (Tile<u32>, Tile<u32>, Tile<u32>, Tile<u32>) {
    let (mut c0, mut c1, mut c2, mut c3) = (counter0, counter1, counter2, counter3);
    let (mut k0, mut k1) = (key0, key1);
    for _ in unroll(0..10) {
        let (high0, low0) = multiplied(c0, 0xD251_1F53);
        let (high1, low1) = multiplied(c2, 0xCD9E_8D57);
        (c0, c1, c2, c3) = (high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0);
        k0 += 0x9E37_79B9u32;
        k1 += 0xBB67_AE85u32;
    }
    (c0, c1, c2, c3)
}

/// Random words, `[rows, columns]`. Elements are numbered row by row from `first`; number `n` is word `n % 4` of Philox
/// counter `n / 4` under the key `seed`, so that blocks of one stream may be made anywhere.
///
/// ```
/// use pypto::kernels::inline::random_bits;
/// use pypto::prelude::*;
/// let whole = random_bits(2, 8, 42, 0).to_vec();
/// assert_eq!(random_bits(1, 8, 42, 8).to_vec(), whole[8..]);
/// ```
#[pypto::function(inline)]
pub fn random_bits(rows: i64, columns: i64, seed: i64, first: i64) -> Tile<u32> {
    let row = Tile::<i64>::iota([rows, 1], 0, 0);
    let number = row * columns + Tile::<i64>::iota([1, columns], 1, first);
    let counter = number >> 2;
    let word = number & 3;
    let zero = Tile::<u32>::full([1, 1], 0u32);
    let key0 = Tile::<i64>::full([1, 1], seed).cast::<u32>();
    let key1 = (Tile::<i64>::full([1, 1], seed) >> 32).cast::<u32>();
    let (a, b, c, d) = philox(counter.cast::<u32>(), (counter >> 32).cast::<u32>(), zero, zero, key0, key1);
    select(word.eq(0), a, select(word.eq(1), b, select(word.eq(2), c, d)))
}

/// Random numbers in [0, 1), `[rows, columns]`: the upper 24 bits of [`random_bits`], times 2^-24.
///
/// ```
/// use pypto::prelude::*;
/// let x = pypto::kernels::inline::random_uniform(8, 128, 1, 0).to_vec();
/// assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
/// assert!((x.iter().sum::<f32>() / 1024.0 - 0.5).abs() < 0.05);
/// ```
#[pypto::function(inline)]
pub fn random_uniform(rows: i64, columns: i64, seed: i64, first: i64) -> Tile<f32> {
    (random_bits(rows, columns, seed, first) >> 8u32).cast::<f32>() * (1.0 / 16_777_216.0)
}
