//! The macros never panic, whatever the tokens: on mutated kernels they give an expansion or errors.

use std::time::{Duration, Instant};

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::args;
use crate::expand::{self, Form};
use crate::program;

const SEEDS: [&str; 6] = [
    "pub fn softmax<T: Element>(#[shape(M, 128, dyn B, _)] x: &Tensor<T, 4>, #[out] y: &mut Tensor<T, 2>, #[spec] n: i64)
     -> Tensor<f32, 2> where T: Copy {
        for at in tiles([M, N], [TM, N]) {
            let t = x.load(at);
            let e = (t - t.row_max()).exp().cast::<f16>();
            y.store(at, e / e.row_sum());
        }
    }",
    "fn f(n: i64, t: Tile<f32>) -> (i64, f32) {
        let mut a: i32 = -1; let (b, (_, c)) = (1.5, (n as f32, f32::MAX));
        while a < 3 && !(b > c) { a += [1, 2][0]; if a == 2 { continue; } c[a] += 1; (a, _) = (comptime!(f(M) + 1), 2); assert!(a > 0, \"text\"); }
        #[task(t1, after = [t0])] g::<f16>(&x.rows(0, 1), &mut y);
        let z = if a == 1 { 0..2 } else { { 1..2 } };
        return (a, b);
    }",
    "fn g() { match x { 1 | 2 => {} -3..=K => break, LOW if a => { continue } b => {} } let f = |a| a?; loop { break; } 'a: for i in 0..1 { loop { if a { continue 'a } while b { break 'a; } break } } unsafe { async {} } }",
    "mod m { #[pypto::function] fn f() {} #[pypto::jit(meta(A = 1))] fn g() { f() } }",
    "incore, meta(TM = 64, TN = -1), host, check(x = [4, 8], n = 1, T = f32)",
    "pub struct Layer<'a, T: Element> where T: Copy { #[shape(M, 4)] x: &'a Tensor<T, 2>, #[out] y: &'a mut Tensor<f32, 1>,
        #[spec] n: i64, inner: Other<'a>, owned: Tensor<f16, 3> }",
];

/// A small generator of pseudo-random numbers, so that failures repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// The tokens with a few of them removed, doubled, swapped, or replaced by tokens of `pool`.
fn mutate(tokens: TokenStream, pool: &[TokenTree], random: &mut Random) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    for tree in &mut trees {
        if let TokenTree::Group(group) = tree
            && random.below(3) > 0
        {
            *tree = TokenTree::Group(Group::new(group.delimiter(), mutate(group.stream(), pool, random)));
        }
    }
    if trees.is_empty() || random.below(2) == 0 {
        return trees.into_iter().collect();
    }
    let (at, other) = (random.below(trees.len()), random.below(trees.len()));
    match random.below(5) {
        0 => drop(trees.remove(at)),
        1 => trees.insert(at, trees[other].clone()),
        2 => trees.swap(at, other),
        3 => trees[at] = pool[random.below(pool.len())].clone(),
        _ => trees.insert(at, pool[random.below(pool.len())].clone()),
    }
    trees.into_iter().collect()
}

fn flatten(tokens: TokenStream, pool: &mut Vec<TokenTree>) {
    for tree in tokens {
        if let TokenTree::Group(group) = &tree {
            flatten(group.stream(), pool);
        }
        pool.push(tree);
    }
}

fn pool(seeds: &[TokenStream]) -> Vec<TokenTree> {
    let mut pool = vec![
        TokenTree::Punct(Punct::new('#', Spacing::Alone)),
        TokenTree::Punct(Punct::new('\'', Spacing::Joint)),
        TokenTree::Ident(Ident::new("self", Span::call_site())),
        TokenTree::Ident(Ident::new("r#fn".trim_start_matches("r#"), Span::call_site())),
        TokenTree::Ident(Ident::new_raw("match", Span::call_site())),
        TokenTree::Literal(Literal::u128_suffixed(u128::MAX)),
        TokenTree::Literal(Literal::string("\" \\ \u{1f600} %")),
        TokenTree::Group(Group::new(Delimiter::None, TokenStream::new())),
        TokenTree::Group(Group::new(Delimiter::Bracket, TokenStream::new())),
    ];
    seeds.iter().for_each(|seed| flatten(seed.clone(), &mut pool));
    pool
}

#[test]
fn mutated_kernels_never_panic() {
    let seeds: Vec<TokenStream> = SEEDS.iter().map(|seed| seed.parse().expect("seeds are tokens")).collect();
    let pool = pool(&seeds);
    let seconds = std::env::var("PYPTO_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    while Instant::now() < end {
        let which = random.below(seeds.len());
        let mut item = seeds[which].clone();
        for _ in 0..=random.below(3) {
            item = mutate(item, &pool, &mut random);
        }
        let attribute = mutate(seeds[4].clone(), &pool, &mut random);
        let form = if random.below(2) == 0 { Form::Jit } else { Form::Function };
        expand::function(form, attribute.clone(), item.clone());
        args::expand(item.clone());
        program::expand(if random.below(2) == 0 { attribute } else { TokenStream::new() }, item);
    }
}
