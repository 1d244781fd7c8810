//! Products several steps at a time: every layout, steps that do not fill words, numbers at the limits of their types.

use super::super::words::Step;
use super::*;
use half::bf16;

/// Sizes of blocks and not, most with enough rows that both factors are packed whatever is known of them.
const BLOCKS: [[usize; 3]; 15] = [
    [5, 40, 13],
    [9, 33, 70],
    [17, 5, 1],
    [17, 33, 2],
    [24, 32, 3],
    [20, 31, 31],
    [36, 64, 32],
    [29, 65, 33],
    [40, 48, 255],
    [41, 600, 7],
    [18, 70, 257],
    [410, 35, 12],
    [19, 20, 515],
    [18, 33, 1030],
    [17, 20, 2049],
];

/// Every target that runs here, and the widest without what this CPU adds to its family.
fn targets() -> Vec<Target> {
    let (host, plain) = (Target::host(), Target::of(Target::host().isa));
    runnable().into_iter().chain((plain != host).then_some(plain)).collect()
}

/// Elements of one distribution after the other, in every layout and with these initial values, on these targets.
fn check_blocks<T: Copy>(
    targets: &[Target],
    elem: (Elem, bool),
    random: &[&dyn Fn(&mut Random) -> T],
    value: impl Fn(T) -> f64,
    inits: &[usize],
) {
    for &target in targets {
        for lies in LIES.iter().flat_map(|&a| LIES.map(|b| [a, b])) {
            for &init in inits {
                let image = load(&module(target, [elem; 2], lies, init, None, [None; 3], false));
                for shape in BLOCKS {
                    random.iter().for_each(|random| {
                        check_shape(&image, target, elem, lies, init, shape, [shape[0], shape[1]], random, &value)
                    });
                }
            }
        }
    }
}

fn brain(bits: u32) -> bf16 {
    bf16::from_bits(bits as u16)
}

fn bits(r: &mut Random) -> u32 {
    r.next() ^ r.next() << 8
}

const BRAIN: (Elem, bool) = (Elem::BF16, true);

#[test]
fn bf16_in_every_layout() {
    check_blocks(&targets(), BRAIN, &[&|r| bf16::from_f32(r.float())], |x| x.to_f64(), &[0]);
    check_blocks(&[Target::host()], BRAIN, &[&|r| bf16::from_f32(r.float())], |x| x.to_f64(), &[1, 2]);
}

/// Among them the one sum of a pair that does not fit.
#[test]
fn integers_in_every_layout() {
    check_blocks(&targets(), (Elem::I8, true), &[&|r| bits(r) as i8, &|_| i8::MIN], |x| x as f64, &[0, 1]);
    check_blocks(&runnable(), (Elem::I8, false), &[&|r| bits(r) as u8, &|_| u8::MAX], |x| x as f64, &[0]);
    check_blocks(&runnable(), (Elem::I16, true), &[&|r| bits(r) as i16, &|_| i16::MIN], |x| x as f64, &[0]);
    check_blocks(&[Target::host()], (Elem::I16, false), &[&|r| bits(r) as u16], |x| x as f64, &[0]);
}

/// The instruction takes subnormal numbers as zero; products count them.
#[test]
fn bf16_of_all_magnitudes() {
    // Around 2^-63, so that products are around the smallest normal number.
    let small = |r: &mut Random| brain(bits(r) & 0x83ff | 0x1f00);
    // Few of these among others.
    let few = |r: &mut Random| if bits(r).is_multiple_of(97) { small(r) } else { bf16::from_f32(r.float()) };
    // Products that are just large enough, and not.
    let enough = |r: &mut Random| brain(bits(r) & 0x80ff | 0x2380);
    let too_small = |r: &mut Random| brain(bits(r) & 0x807f | 0x2300);
    // Subnormal elements and zeros of both signs, with large ones too.
    let subnormal = |r: &mut Random| brain(bits(r) & 0x803f);
    let large = |r: &mut Random| brain(if bits(r) & 1 == 0 { bits(r) & 0x807f } else { bits(r) & 0x80ff | 0x7000 });
    let zeros = |r: &mut Random| brain(bits(r) & 0x8000);
    // Finite ones whose products overflow; any bits, among them what is not a number.
    let overflowing = |r: &mut Random| brain(bits(r) & 0x80ff | 0x5f00);
    let any = |r: &mut Random| brain(bits(r));
    let random: [&dyn Fn(&mut Random) -> bf16; 9] =
        [&small, &few, &enough, &too_small, &subnormal, &large, &zeros, &overflowing, &any];
    check_blocks(&[Target::host()], BRAIN, &random, |x| x.to_f64(), &[0, 1]);
}

/// One factor signed, the other not.
#[test]
fn integers_of_both_signs() {
    let values: [&dyn Fn(u8) -> f64; 2] = [&|x| f64::from(x), &|x| f64::from(x as i8)];
    for target in runnable() {
        for (elems, values) in [([false, true], values), ([true, false], [values[1], values[0]])] {
            let image = load(&module(
                target,
                elems.map(|signed| (Elem::I8, signed)),
                [Lie::Rows; 2],
                0,
                None,
                [None; 3],
                false,
            ));
            for random in [&bits as &dyn Fn(&mut Random) -> u32, &|_| 0x80, &|_| 0xff] {
                for shape in BLOCKS {
                    let byte = |r: &mut Random| random(r) as u8;
                    check_factors(
                        &image,
                        target,
                        (Elem::I8, true),
                        [Lie::Rows; 2],
                        0,
                        shape,
                        [shape[0], shape[1]],
                        &byte,
                        values,
                    );
                }
            }
        }
    }
}

/// Those of the instructions for several steps at a time.
#[test]
fn micro_kernels_keep_their_sums_in_registers() {
    for target in targets() {
        let integers = if target.byte_quads { Step::Quad { raised: true } } else { Step::Pair(Elem::I32) };
        let cases = [(Elem::I8, integers), (Elem::BF16, Step::Pair(Elem::F32))];
        for (elem, step) in cases.into_iter().filter(|case| case.0 == Elem::I8 || target.bf16_pairs) {
            let module = module(target, [(elem, true); 2], [Lie::Rows; 2], 0, None, [None; 3], false);
            let assembly = compile_assembly(&module).unwrap();
            let lines = function_lines(&assembly, &kernel::name(step));
            let steps = kernel::STEPS as usize + 1;
            let names = ["vdpbf16ps", "vpdpbusd", "vpdpwssd", "vpmaddwd", "pmaddwd"];
            let count = lines.iter().filter(|l| names.iter().any(|name| l.starts_with(name))).count();
            assert_eq!(count, target.mr * target.nr_vectors * steps, "{} {elem}", target.isa.name());
            let is_vector = |l: &&&str| ["xmm", "ymm", "zmm"].iter().any(|name| l.contains(name));
            let spills = lines.iter().filter(|l| is_vector(l) && l.contains("(%rsp)")).count();
            // Instructions of SSE2 overwrite a factor, for whose copies registers are few.
            assert!(spills == 0 || target.isa == Isa::Sse2, "{} {elem}: {spills}", target.isa.name());
        }
    }
}

/// What is known of extents is left out of pairs too.
#[test]
fn known_extents() {
    for target in targets() {
        for lies in LIES.iter().flat_map(|&a| LIES.map(|b| [a, b])) {
            for [m, n, k] in [[48, 64, 512], [48, 70, 263], [24, 544, 25], [50, 64, 1], [5, 40, 9], [9, 64, 41]] {
                let (a, b) = (strides(lies[0], m, k).0, strides(lies[1], k, n).0);
                let known = Some([m, n, k, a[0], a[1], b[0], b[1]]);
                let image = |elem| load(&module(target, [elem; 2], lies, 0, known, [None; 3], false));
                let (float, int) = ((Elem::BF16, true), (Elem::I8, true));
                let random = |r: &mut Random| bf16::from_f32(r.float());
                check_shape(&image(float), target, float, lies, 0, [m, n, k], [m, n], &random, &|x| x.to_f64());
                check_shape(&image(int), target, int, lies, 0, [m, n, k], [m, n], &|r| r.next() as i8, &|x| {
                    f64::from(x)
                });
            }
        }
    }
}
