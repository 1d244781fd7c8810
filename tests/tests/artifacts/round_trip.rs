//! What is written is what is read.

use super::*;
use pypto::ir::DType;
use pypto::language::DynamicTensor;

#[test]
fn an_artifact_comes_back_from_its_directory() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let source = program("scale", "3.0");
    let compiled = written(&source, &directory);
    assert_eq!(compiled.output_dir(), Some(directory.as_path()));
    let before = files(&directory);
    let again = CompiledProgram::from_dir(&directory).unwrap();
    assert_eq!(results(&compiled), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!(results(&again), results(&compiled));
    assert_eq!(again.params(), compiled.params());
    assert_eq!((again.name(), again.platform(), again.machine()), ("scale", compiled.platform(), compiled.machine()));
    assert_eq!((again.param_names(), again.output_indices()), (vec!["x", "y"], vec![1]));
    assert_eq!((again.has_return(), again.orchestration_names()), (false, vec!["scale"]));
    assert_eq!(again.output_dir(), Some(directory.as_path()));
    assert_eq!(again.interpreted_kernels(), compiled.interpreted_kernels());
    // The program is read on request.
    assert_eq!(again.program(), None);
    let read = again.read_program().unwrap().cloned();
    assert_eq!(read.map(|p| p.to_string()), Some(source.to_string()));
    assert!(again.program().is_some());
    assert_eq!(files(&directory), before, "reading writes nothing");
    // An artifact that was read can be written elsewhere.
    let moved = again.save(place.path().join("b")).unwrap();
    assert_eq!(results(&CompiledProgram::from_dir(moved.output_dir().unwrap()).unwrap()), results(&compiled));
}

#[pypto::jit]
fn joined(#[shape(dyn M, 4)] x: &Tensor<f32, 2>, #[spec] n: i64, factor: f32) -> Tensor<f32, 2> {
    let mut y = Tensor::<f32, 2>::zeros([M, 4]);
    y.set((x * factor) + (n as f32));
    y
}

#[test]
fn kernels_with_dynamic_extents_and_results_come_back() {
    let place = tempfile::tempdir().unwrap();
    let config = RunConfig::new().with_output_dir(place.path().join("joined"));
    let x = Tensor::<f32, 2>::from_fn([3, 4], |[i, j]| (i * 4 + j) as f32);
    let compiled = joined.compile(&(&x, 7i64, 2.0f32), &config).unwrap();
    let typed = compiled.call((&x, 7i64, 2.0f32)).unwrap();
    let again = CompiledProgram::from_dir(place.path().join("joined")).unwrap();
    assert!(again.has_return());
    assert_eq!(again.params(), compiled.artifact().params());
    for rows in [0, 1, 3, 1000] {
        let x = Tensor::<f32, 2>::from_fn([rows, 4], |[i, j]| (i * 4 + j) as f32);
        let returned: Vec<DynamicTensor> = again.call((&x, 7i64, 2.0f32)).unwrap();
        assert_eq!((returned.len(), returned[0].dtype(), returned[0].dims()), (1, DType::F32, &[rows, 4][..]));
        let expected = compiled.call((&x, 7i64, 2.0f32)).unwrap();
        assert_eq!(returned[0].elements::<f32>(), Some(expected.as_slice()));
    }
    assert_eq!(typed.as_slice()[0], 7.0);
    // The value that it was specialized on is part of the artifact.
    let error = again.call((&x, 8i64, 2.0f32)).unwrap_err();
    assert!(error.to_string().contains("`n` of `joined` is not the value that it was compiled for"), "{error}");
}

#[test]
fn reading_needs_no_llvm() {
    let place = tempfile::tempdir().unwrap();
    if !written(&program("scale", "2.0"), &place.path().join("a")).interpreted_kernels().is_empty() {
        // Without machine code in the artifact there is nothing to show.
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "round_trip::child_without_llvm", "--ignored"])
        .env("PYPTO_LLVM", "/nowhere")
        .env("PYPTO_CACHE", "off")
        .env("PYPTO_TESTS_DIRECTORY", place.path().join("a"))
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[test]
#[ignore = "the part of `reading_needs_no_llvm` that runs without LLVM"]
fn child_without_llvm() {
    let Some(directory) = std::env::var_os("PYPTO_TESTS_DIRECTORY") else { return };
    let compiled = CompiledProgram::from_dir(directory).unwrap();
    assert!(compiled.interpreted_kernels().is_empty());
    assert_eq!(results(&compiled), [2.0, 4.0, 6.0, 8.0]);
}
