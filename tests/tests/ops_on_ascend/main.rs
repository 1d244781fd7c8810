//! Every operation of the op table on every element type, on both Ascend targets: it is emitted, reads back, and gives in the
//! simulator what the interpreter gives, or it is refused with a message that names operation, element type and the
//! targets that have it.

#[path = "../ops_differential/data.rs"]
#[allow(dead_code, reason = "the other test uses all of it")]
mod data;
#[path = "../op_catalogue/probe.rs"]
#[allow(dead_code, reason = "the other test uses all of it")]
mod probe;

use data::{Fill, element};
use half::{bf16, f16};
use pypto::config::{CompileOptions, Platform, VerificationLevel};
use pypto::golden::{NanPolicy, Tolerance, compare};
use pypto::ir::{DType, Direction, Function, Program, Type};
use pypto::jit::Argument;
use pypto::language::DynamicTensor;
use pypto::language::argument::ScalarArgument;
use pypto::ops::{Class, OpKind};

const TARGETS: [(Platform, &str); 2] = [(Platform::A2a3Sim, "a2a3"), (Platform::A5Sim, "a5")];

/// An operation on an element type, for conversions with the type of the result.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: OpKind,
    dtype: DType,
    to: DType,
}

/// What became of a case on a platform.
enum Outcome {
    /// What is written, by parameter.
    Ran(Vec<DynamicTensor>),
    Refused(String),
}

impl Case {
    /// Whether the last bits may differ: functions that are written out, and sums of products.
    fn is_inexact(self) -> bool {
        use OpKind::{Cos, Erf, Exp2, Expm1, Log1p, Log2, Pow, Sigmoid, Sin, Tanh};
        let written_out = [Cos, Erf, Exp2, Expm1, Log1p, Log2, Pow, Sigmoid, Sin, Tanh];
        written_out.contains(&self.kind) || self.kind.class() == Class::Matmul
    }

    fn fill(self, parameter: &str) -> Fill {
        match parameter {
            "index" => Fill::Index(64),
            _ if self.is_inexact() => Fill::Tame,
            "y" if matches!(self.kind, OpKind::Div | OpKind::Rem) => Fill::Divisor,
            "y" | "source" | "rows" => Fill::Paired,
            _ => Fill::Special,
        }
    }

    fn tensor(self, name: &str, dtype: DType, dims: &[i64]) -> DynamicTensor {
        let bits = |i: usize| element(i, dtype, self.fill(name));
        let count = dims.iter().product::<i64>() as usize;
        macro_rules! filled {
            ($ty:ty, $from:expr) => {
                DynamicTensor::from_vec((0..count).map(|i| $from(bits(i))).collect::<Vec<$ty>>(), dims).unwrap()
            };
        }
        match dtype {
            DType::F32 => filled!(f32, |b| f32::from_bits(b as u32)),
            DType::F16 => filled!(f16, |b| f16::from_bits(b as u16)),
            DType::BF16 => filled!(bf16, |b| bf16::from_bits(b as u16)),
            DType::I8 => filled!(i8, |b| b as i8),
            DType::I16 => filled!(i16, |b| b as i16),
            DType::I32 => filled!(i32, |b| b as i32),
            DType::I64 => filled!(i64, |b| b as i64),
            DType::U8 => filled!(u8, |b| b as u8),
            DType::U16 => filled!(u16, |b| b as u16),
            DType::U32 => filled!(u32, |b| b as u32),
            DType::Bool => filled!(bool, |b| b != 0),
        }
    }

    fn run(self, function: &Function, platform: Platform) -> Outcome {
        let program = Program { name: "case".into(), functions: vec![function.clone()], entry: 0 };
        let options = CompileOptions {
            platform: Some(platform),
            cache: Some(false),
            verification_level: Some(VerificationLevel::Basic),
            ..CompileOptions::default()
        };
        let compiled = match pypto::compile(&program, &options) {
            Ok(compiled) => compiled,
            Err(error) => return Outcome::Refused(error.to_string()),
        };
        let mut tensors = Vec::new();
        for param in &function.params {
            if let Type::Tensor(ty) = function.ty(param.value) {
                let dims: Vec<i64> = ty.dims.iter().filter_map(|d| d.constant()).collect();
                tensors.push((self.tensor(&param.name, ty.dtype, &dims), param.direction));
            }
        }
        let mut next = tensors.iter_mut();
        let arguments: Vec<Argument<'_>> = function
            .params
            .iter()
            .map(|param| match function.ty(param.value) {
                Type::Tensor(_) => match next.next().unwrap() {
                    (tensor, Direction::In) => tensor.as_argument(),
                    (tensor, _) => tensor.as_argument_mut(),
                },
                other => {
                    let dtype = other.dtype().unwrap();
                    Argument::Scalar(ScalarArgument { dtype, bits: element(1, dtype, Fill::Divisor) })
                }
            })
            .collect();
        if let Err(error) = compiled.call(arguments) {
            return Outcome::Refused(format!("{self:?} on {platform} stops: {error}"));
        }
        Outcome::Ran(tensors.into_iter().filter(|(_, d)| *d != Direction::In).map(|(tensor, _)| tensor).collect())
    }

    fn differs(self, actual: &[DynamicTensor], expected: &[DynamicTensor]) -> Option<String> {
        actual.iter().zip(expected).find_map(|(actual, expected)| {
            let exact = Tolerance { rtol: 0.0, atol: 0.0, nan: NanPolicy::Equal };
            let tolerance = if self.is_inexact() { Tolerance::of(expected.dtype()) } else { exact };
            let found = compare("out", actual, expected, tolerance).unwrap();
            (!found.passed()).then(|| format!("{found}"))
        })
    }

    /// What is wrong with the message of a refusal.
    fn misses(self, message: &str, target: &str, others: &[(&str, bool)]) -> Option<String> {
        let mut words = vec!["PTO0219".to_owned(), format!("target `{target}`"), "`host`".to_owned()];
        // Tiles of i64 do not get as far as the operation, and sums of products are refused as the product they begin with.
        let transferred = ["load", "store"].map(|op| format!("has no `{op}` of tiles of `i64`"));
        let is_met = !transferred.iter().any(|sentence| message.contains(sentence.as_str()));
        let product = self.kind.class() == Class::Matmul && message.contains("`matmul`");
        words.extend((is_met && !product).then(|| format!("`{}`", self.kind.name())));
        if !matches!(self.kind.class(), Class::Control | Class::Check | Class::Constant) {
            words.push(format!("`{}`", self.dtype));
        }
        words.extend(others.iter().filter(|(_, has)| *has).map(|(name, _)| format!("`{name}`")));
        let missing: Vec<&String> = words.iter().filter(|word| !message.contains(word.as_str())).collect();
        if let Some((name, _)) =
            others.iter().find(|(name, has)| !has && message.contains(&format!("targets `{name}`")))
        {
            return Some(format!("names `{name}`, which refuses it too: {message}"));
        }
        (!missing.is_empty()).then(|| format!("does not name {missing:?}: {message}"))
    }

    fn check(self, counts: &mut [usize; 2]) -> Vec<String> {
        let function = probe::kernel(self.kind, self.dtype, self.to).unwrap();
        let Outcome::Ran(expected) = self.run(&function, Platform::Interpreter) else {
            return vec![format!("{self:?} does not run in the interpreter")];
        };
        let outcomes = TARGETS.map(|(platform, name)| (name, self.run(&function, platform)));
        let has: Vec<(&str, bool)> =
            outcomes.iter().map(|(name, outcome)| (*name, matches!(outcome, Outcome::Ran(_)))).collect();
        let mut problems = Vec::new();
        for (name, outcome) in &outcomes {
            let wrong = match outcome {
                Outcome::Ran(actual) => {
                    counts[0] += 1;
                    self.differs(actual, &expected)
                }
                Outcome::Refused(message) => {
                    counts[1] += 1;
                    let others: Vec<_> = has.iter().copied().filter(|(other, _)| other != name).collect();
                    self.misses(message, name, &others)
                }
            };
            problems.extend(wrong.map(|wrong| format!("{self:?} on {name}: {wrong}")));
        }
        problems
    }
}

/// Every case of an operation.
fn cases(kind: OpKind) -> Vec<Case> {
    if matches!(kind.class(), Class::Control | Class::Check | Class::Constant) {
        return vec![Case { kind, dtype: DType::I64, to: DType::I64 }];
    }
    let to = |dtype: DType| -> Vec<DType> {
        let fits = |to: &DType| match kind {
            OpKind::Bitcast => *to != dtype && *to != DType::Bool && to.size() == dtype.size(),
            OpKind::Cast => *to != dtype,
            _ => *to == dtype,
        };
        DType::ALL.into_iter().filter(fits).collect()
    };
    let of = |dtype: DType| to(dtype).into_iter().map(move |to| Case { kind, dtype, to });
    kind.info().dtypes.members().flat_map(of).collect()
}

#[test]
fn every_operation_is_emitted_or_refused_by_name() {
    let mut problems = Vec::new();
    let mut counts = [0, 0];
    for kind in OpKind::ALL.iter().copied().filter(|kind| probe::is_in_kernels(*kind)) {
        problems.extend(cases(kind).into_iter().flat_map(|case| case.check(&mut counts)));
    }
    println!("{} cases are emitted, {} refused", counts[0], counts[1]);
    let shown: Vec<&str> = problems.iter().map(String::as_str).take(25).collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), shown.join("\n"));
    assert!(counts[0] > 3 * counts[1], "{counts:?}");
}
