//! `validate_ir`: every dumped state of a program computes what is expected.

use super::*;
use pypto::golden::{Comparison, NanPolicy, Tolerance};
use pypto::language::DynamicTensor;
use pypto::runtime::validate::{DynamicArgument, PassCheck};

fn input() -> [DynamicArgument; 1] {
    [DynamicArgument::Tensor(DynamicTensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap())]
}

fn tensor(values: &[f32]) -> DynamicTensor {
    DynamicTensor::from_vec(values.to_vec(), &[values.len() as i64]).unwrap()
}

/// The comparison of the one output.
fn only(check: &PassCheck) -> &Comparison {
    assert_eq!(check.comparisons.len(), 1, "{check:?}");
    &check.comparisons[0]
}

#[test]
fn every_pass_keeps_the_meaning() {
    let place = tempfile::tempdir().unwrap();
    written(&program("scale", "2.0"), &place.path().join("a"));
    let compiled = CompiledProgram::from_dir(place.path().join("a")).unwrap();
    let checks = compiled.validate_ir(&input(), &[tensor(&[2.0, 4.0, 6.0, 8.0])], None).unwrap();
    assert_eq!(checks[0].pass, "00_frontend");
    let names: Vec<&str> = checks.iter().map(|check| check.pass.as_str()).collect();
    assert_eq!(names, ["00_frontend", "13_after_tensor_tiling", "19_after_outline"], "those that change it");
    assert!(checks.iter().all(|check| check.passed() && only(check).elements == 4), "{checks:?}");
    let checks = compiled.validate_ir(&input(), &[tensor(&[2.0, 4.0, 6.5, f32::NAN])], None).unwrap();
    assert!(checks.iter().all(|check| !check.passed() && only(check).mismatches == 2), "{checks:?}");
    let wide = Some(Tolerance { rtol: 0.1, atol: 0.0, nan: NanPolicy::Equal });
    let checks = compiled.validate_ir(&input(), &[tensor(&[2.0, 4.0, 6.5, 8.0])], wide).unwrap();
    assert!(checks.iter().all(|check| check.passed() && only(check).max_error == 0.5), "{checks:?}");
}

#[test]
fn what_cannot_be_validated_is_told() {
    let place = tempfile::tempdir().unwrap();
    let plain = pypto::compile(&program("scale", "2.0"), &CompileOptions::default()).unwrap();
    let error = plain.validate_ir(&input(), &[tensor(&[0.0; 4])], None).unwrap_err();
    assert!(error.to_string().contains("interprets the dumps of passes"), "{error}");
    let compiled = written(&program("scale", "2.0"), &place.path().join("a"));
    let error = compiled.validate_ir(&input(), &[], None).unwrap_err();
    assert!(error.to_string().contains("1 tensors, one for each parameter that is written"), "{error}");
    let error = compiled.validate_ir(&[], &[tensor(&[0.0; 4])], None).unwrap_err();
    assert!(error.to_string().contains("`inputs` is `0`: expected 1 arguments, those that are not outputs"), "{error}");
    let error = compiled.validate_ir(&input(), &[tensor(&[0.0; 5])], None).unwrap_err();
    assert!(error.to_string().contains("argument `y` of `scale` has extents [5]"), "{error}");
}
