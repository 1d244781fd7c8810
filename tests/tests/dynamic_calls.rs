//! The rules of a call whose types are known at run time only: each is told by the name of the parameter, nothing runs, and
//! nothing is written.

use pypto::CompiledProgram;
use pypto::config::CompileOptions;
use pypto::diagnostics::codes;
use pypto::ir::DType;
use pypto::jit::{Argument, ErrorKind};
use pypto::language::DynamicTensor;
use pypto::prelude::*;

#[pypto::jit]
fn axpy(
    #[shape(dyn M, 4)] x: &Tensor<f32, 2>,
    factor: f32,
    #[shape(dyn M, 4)] sum: &mut Tensor<f32, 2>,
    #[out]
    #[shape(dyn M, 4)]
    y: &mut Tensor<f32, 2>,
) -> Tensor<f32, 2> {
    let scaled = x * factor;
    sum.set(sum.load_all() + scaled);
    y.set(scaled);
    let mut negated = Tensor::<f32, 2>::zeros([M, 4]);
    negated.set(x * -1.0);
    negated
}

/// The artifact, its types forgotten.
fn compiled() -> CompiledProgram {
    let spec = || pypto::jit::TensorSpec::new(DType::F32, [3, 4]);
    axpy.compile(&(spec(), 1.0f32, spec(), spec()), &RunConfig::new()).unwrap().artifact().clone()
}

fn ones(dims: &[i64]) -> DynamicTensor {
    let count = dims.iter().product::<i64>() as usize;
    DynamicTensor::from_vec(vec![1.0f32; count], dims).unwrap()
}

fn scalar(value: f32) -> Argument<'static> {
    Argument::Scalar(pypto::language::argument::ScalarArgument { dtype: DType::F32, bits: u64::from(value.to_bits()) })
}

/// The message of a call with these arguments, in place.
#[track_caller]
fn refused(x: &DynamicTensor, factor: Argument<'_>, sum: &mut DynamicTensor, y: &mut DynamicTensor) -> pypto::Error {
    let before = (sum.clone(), y.clone());
    let mut result = ones(&[3, 4]);
    let arguments = vec![x.as_argument(), factor, sum.as_argument_mut(), y.as_argument_mut(), result.as_argument_mut()];
    let error = compiled().call(arguments).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Call(_)), "{error}");
    assert_eq!((sum.clone(), y.clone()), before, "something was written");
    assert!(error.to_string().contains("dynamic_calls.rs"), "{error}");
    error
}

#[test]
fn three_styles_give_the_same() {
    let compiled = compiled();
    assert_eq!(compiled.output_indices(), [3, 4]);
    assert!(compiled.has_return());
    let (x, mut sum, mut y, mut result) = (ones(&[2, 4]), ones(&[2, 4]), ones(&[2, 4]), ones(&[2, 4]));
    assert!(compiled.call((&x, 3.0f32, &mut sum, &mut y, &mut result)).unwrap().is_empty());
    let values = |t: &DynamicTensor| t.elements::<f32>().unwrap()[7];
    assert_eq!((values(&sum), values(&y), values(&result)), (4.0, 3.0, -1.0));
    let (mut sum, mut y) = (ones(&[2, 4]), ones(&[2, 4]));
    let declared = compiled.call((&x, 3.0f32, &mut sum, &mut y)).unwrap();
    assert_eq!((declared.len(), values(&sum), values(&y), values(&declared[0])), (1, 4.0, 3.0, -1.0));
    let mut sum = ones(&[2, 4]);
    let returned = compiled.call((&x, 3.0f32, &mut sum)).unwrap();
    assert_eq!((returned.len(), values(&sum)), (2, 4.0));
    assert_eq!((values(&returned[0]), values(&returned[1])), (3.0, -1.0));
    let tensor: Tensor<f32, 2> = returned[1].clone().into_tensor().unwrap();
    assert_eq!(tensor.dims(), [2, 4]);
    assert!(returned[1].clone().into_tensor::<f32, 1>().is_err());
    assert!(returned[1].clone().into_tensor::<i32, 2>().is_err());
}

#[test]
fn counts() {
    let x = ones(&[3, 4]);
    for count in [0usize, 1, 2, 6] {
        let arguments = vec![x.as_argument(); count];
        let error = compiled().call(arguments).unwrap_err();
        assert_eq!(error.code(), Some(codes::ARGUMENT_COUNT));
        let text = error.to_string();
        assert!(text.contains(&format!("`axpy` takes 3 or 4 or 5 arguments, and {count}")), "{text}");
        assert!(text.contains("with outputs allocated and returned: `x`, `factor`, `sum`"), "{text}");
    }
}

#[test]
fn kinds() {
    let (x, mut sum, mut y) = (ones(&[3, 4]), ones(&[3, 4]), ones(&[3, 4]));
    let other = ones(&[3, 4]);
    let text = refused(&x, other.as_argument(), &mut sum, &mut y).to_string();
    assert!(
        text.contains("argument `factor` of `axpy` is a tensor") && text.contains("expected a scalar of type f32"),
        "{text}"
    );
    let error = compiled().call((1.0f32, 1.0f32, &mut sum)).unwrap_err().to_string();
    assert!(error.contains("argument `x` of `axpy` is a scalar"), "{error}");
    assert!(error.contains("expected a tensor of f32[M, 4]"), "{error}");
}

#[test]
fn element_types_and_ranks() {
    let (x, mut sum, mut y) = (ones(&[3, 4]), ones(&[3, 4]), ones(&[3, 4]));
    let integers = DynamicTensor::zeros(DType::I32, &[3, 4]).unwrap();
    let text = refused(&integers, scalar(1.0), &mut sum, &mut y).to_string();
    assert!(
        text.contains("argument `x` of `axpy` has elements of type i32") && text.contains("expected f32"),
        "{text}"
    );
    let text = refused(&ones(&[12]), scalar(1.0), &mut sum, &mut y).to_string();
    assert!(text.contains("argument `x` of `axpy` has 1 dimensions") && text.contains("expected 2: [M, 4]"), "{text}");
    let wrong = compiled().call((&x, 1i32, &mut sum)).unwrap_err().to_string();
    assert!(
        wrong.contains("argument `factor` of `axpy` is a scalar of type i32") && wrong.contains("expected f32"),
        "{wrong}"
    );
}

#[test]
fn extents() {
    let (x, mut sum, mut y) = (ones(&[3, 4]), ones(&[3, 4]), ones(&[3, 4]));
    let error = refused(&ones(&[3, 5]), scalar(1.0), &mut sum, &mut y);
    assert_eq!(error.code(), Some(codes::ARGUMENT_EXTENT));
    let text = error.to_string();
    assert!(
        text.contains("argument `x` of `axpy` has extents [3, 5]") && text.contains("compiled for [M, 4]"),
        "{text}"
    );
    let text = refused(&x, scalar(1.0), &mut ones(&[2, 4]), &mut y).to_string();
    assert!(text.contains("`M` is 3 in `x` and 2 in `sum`"), "{text}");
    // Every wrong argument is told at once.
    let error = refused(&ones(&[3, 5]), scalar(1.0), &mut ones(&[4]), &mut y);
    assert_eq!(error.diagnostics().len(), 2, "{error}");
}

#[test]
fn layout() {
    let mut sum = Tensor::<f32, 2>::zeros([4, 4]);
    let square = Tensor::<f32, 2>::from_fn([4, 4], |[i, j]| (4 * i + j) as f32);
    let error = compiled().call((&*square.transposed(), 1.0f32, &mut sum)).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_LAYOUT));
    let text = error.to_string();
    assert!(text.contains("argument `x` of `axpy` is not contiguous: extents [4, 4], strides [1, 4]"), "{text}");
    let error = compiled().call((&Tensor::<f32, 2>::meta([4, 4]), 1.0f32, &mut sum)).unwrap_err();
    assert!(error.to_string().contains("argument `x` of `axpy` is a meta tensor"), "{error}");
}

#[test]
fn directions() {
    let (x, sum) = (ones(&[3, 4]), ones(&[3, 4]));
    let error = compiled().call((&x, 1.0f32, &sum)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("argument `sum` of `axpy` is a shared reference, but the program writes it"), "{text}");
    assert!(text.contains("pass `&mut sum`"), "{text}");
}

#[test]
fn aliasing() {
    let (x, mut sum) = (ones(&[3, 4]), ones(&[3, 4]));
    let written = sum.as_argument_mut();
    let error = compiled().call(vec![x.as_argument(), scalar(1.0), written, written]).unwrap_err();
    assert_eq!(error.code(), Some(codes::ARGUMENT_ALIAS));
    let text = error.to_string();
    assert!(text.contains("arguments `sum` and `y` of `axpy` share memory, and `sum` is written"), "{text}");
    let error = compiled().call(vec![written, scalar(1.0), written]).unwrap_err();
    assert!(error.to_string().contains("arguments `sum` and `x` of `axpy` share memory"), "{error}");
}

#[pypto::program]
mod grouped {
    use super::*;

    #[pypto::function(incore)]
    fn twice(
        #[shape(8, 8)] x: &Tensor<f32, 2>,
        #[out]
        #[shape(8, 8)]
        y: &mut Tensor<f32, 2>,
    ) {
        y.set(x + x);
    }

    #[pypto::function(orchestration)]
    pub fn run(
        #[shape(8, 8)] x: &Tensor<f32, 2>,
        #[out]
        #[shape(8, 8)]
        y: &mut Tensor<f32, 2>,
    ) {
        twice(x, y);
    }
}

#[test]
fn grouped_functions_are_one_program_to_compile() {
    let program = grouped::program().unwrap();
    // The function stays one to call.
    let (x, mut y) = (Tensor::<f32, 2>::full([8, 8], 1.0), Tensor::<f32, 2>::zeros([8, 8]));
    grouped::run(&x, &mut y);
    assert_eq!(y.as_slice()[63], 2.0);
    let names: Vec<&str> = program.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["run", "twice"], "the program is as written, before the passes");
    let compiled = pypto::compile(&program, &CompileOptions::default()).unwrap();
    assert_eq!(compiled.orchestration_names(), ["run"]);
    let (x, mut y) = (ones(&[8, 8]), ones(&[8, 8]));
    compiled.call((&x, &mut y)).unwrap();
    assert_eq!(y.elements::<f32>().unwrap()[63], 2.0);
    // What passed the passes already can be compiled, too.
    let again = pypto::compile(&compiled.executable().program, &CompileOptions::default()).unwrap();
    let returned = again.call((&x,)).unwrap();
    assert_eq!(returned, [y]);
}

#[test]
fn programs_with_several_roots_are_compiled_by_name() {
    let program = pypto_tests::two_roots::two_roots(["double", "triple"]);
    let error = pypto::compile(&program, &CompileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("several functions that a call may start at: double, triple"), "{error}");
    for (name, factor) in [("double", 2.0f32), ("triple", 3.0)] {
        let one = program.rooted_at(name).unwrap();
        let compiled = pypto::compile(&one, &CompileOptions::default()).unwrap();
        assert_eq!(compiled.orchestration_names(), [name]);
        let (x, mut y) = (Tensor::<f32, 1>::full([4], 1.5), Tensor::<f32, 1>::zeros([4]));
        compiled.call((&x, &mut y)).unwrap();
        assert_eq!(y.as_slice(), [1.5 * factor; 4]);
    }
    assert!(program.rooted_at("nobody").is_none());
}
