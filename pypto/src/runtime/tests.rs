//! Whole programs with kernels written in Rust.

use std::sync::Arc;

use super::dfx::dump_args::{ArgumentsDump, Stage, Whose};
use super::kernel::{Code, Failure, Interpreted, Kernel};
use super::program::HostProgram;
use super::recording::{Detail, Execution, PhaseKind, Recording};
use crate::artifact::Site;
use crate::ir::builder::ForLoop;
use crate::ir::report::Report;
use crate::ir::{
    Builder, DType, Direction, Extent, FileId, Function, FunctionKind, IndexExpr, Loc, LoopKind, ParamRole, Program,
    TensorType, Type, ValueId,
};
use crate::language::argument::{Argument, TensorArgument};
use crate::ops::OpKind;
use crate::ops::rules::Request;

fn loc() -> Loc {
    Loc::new(FileId::intern("orchestration.rs"), 1, 1, 1, 2)
}

fn tensor(dims: &[Extent]) -> Type {
    let strides = vec![Extent::Const(8), Extent::Const(1)];
    Type::Tensor(TensorType { dtype: DType::F32, dims: dims.to_vec(), strides })
}

/// A kernel over two f32 tensors of `count` elements: `f` reads the first and writes the second.
struct Mock(usize, fn(&[f32], &mut [f32]));

impl Interpreted for Mock {
    unsafe fn run(&self, words: &[u64], _: &mut Vec<Report>) -> Result<(), Failure> {
        // SAFETY: the tests' schedules pass tensors of at least `count` elements.
        let (from, to) = unsafe {
            let from = std::slice::from_raw_parts(words[0] as *const f32, self.0);
            (from, std::slice::from_raw_parts_mut(words[1] as *mut f32, self.0))
        };
        (self.1)(from, to);
        if from[0] == 1000.0 {
            return Err(Failure::Stopped(Site { loc: loc(), message: "too much".into(), values: Vec::new() }));
        }
        Ok(())
    }
}

fn kernel(name: &str, count: usize, f: fn(&[f32], &mut [f32])) -> Kernel {
    Kernel {
        name: name.into(),
        code: Code::Interpreted(Box::new(Mock(count, f))),
        iterations: IndexExpr::Const(1),
        scratch: IndexExpr::Const(0),
        sites: Vec::new(),
        reports: Vec::new(),
        panels: Vec::new(),
        cost: 15_000.0,
    }
}

fn kernels() -> Vec<Kernel> {
    vec![
        kernel("increment", 32, |from, to| from.iter().zip(to).for_each(|(a, b)| *b = a + 1.0)),
        kernel("double", 32, |from, to| from.iter().zip(to).for_each(|(a, b)| *b = a * 2.0)),
    ]
}

fn signature(name: &str, dims: &[Extent]) -> Function {
    let mut b = Builder::new(name, FunctionKind::InCore, loc());
    b.param("from", tensor(dims), Direction::In, ParamRole::Tensor, loc());
    b.param("to", tensor(dims), Direction::Out, ParamRole::Tensor, loc());
    b.finish(Vec::new()).unwrap()
}

fn argument(data: &mut [f32]) -> Argument<'_> {
    let dims = [data.len() as i64 / 8, 8];
    // SAFETY: the argument borrows the elements.
    Argument::Tensor(unsafe { TensorArgument::new(DType::F32, &dims, &[8, 1], data.as_mut_ptr().cast(), true) })
}

/// `temp = x + 1` by blocks of four rows in a loop, then `y = 2 * temp` likewise; `M` rows.
fn blocks() -> HostProgram {
    let block = [Extent::Const(4), Extent::Const(8)];
    let mut b = Builder::new("main", FunctionKind::Orchestration, loc());
    let rows = b.param("M", Type::INDEX, Direction::In, ParamRole::Extent { param: 1, axis: 0 }, loc());
    let dims = [Extent::Value(rows), Extent::Const(8)];
    let x = b.param("x", tensor(&dims), Direction::In, ParamRole::Tensor, loc());
    let y = b.param("y", tensor(&dims), Direction::Out, ParamRole::Tensor, loc());
    let temp = b.alloc(DType::F32, &dims, loc()).unwrap();
    for (kernel, from, to) in [("increment", x, temp), ("double", temp, y)] {
        let (zero, four) = (b.index(0, loc()), b.index(4, loc()));
        let head = ForLoop {
            kind: LoopKind::Sequential,
            lower: zero,
            upper: rows,
            step: four,
            initial: vec![],
            index_name: None,
            names: vec![],
            loc: loc(),
        };
        let (i, _) = b.begin_for(&head, &[]).unwrap();
        let part = |b: &mut Builder, t: ValueId| b.view(t, &[i, zero], &block, loc()).unwrap();
        let operands = [part(&mut b, from), part(&mut b, to)];
        b.call(kernel, &operands, &[], Vec::new(), false, loc());
        b.end_for(&[]).unwrap();
    }
    let entry = b.finish(Vec::new()).unwrap();
    let functions = vec![entry, signature("increment", &block), signature("double", &block)];
    HostProgram::of_kernels(Arc::new(Program { name: "main".into(), functions, entry: 0 }), kernels())
}

#[test]
fn tasks_wait_for_what_they_read() {
    let program = blocks();
    for round in 0..50 {
        let rows = 4 * (1 + round % 7);
        let mut x: Vec<f32> = (0..rows * 8).map(|i| i as f32).collect();
        let mut y = vec![0.0; rows * 8];
        // SAFETY: two separate tensors of equal extents.
        unsafe { program.call(&[argument(&mut x), argument(&mut y)], Execution::on(2)) }.unwrap();
        assert!(x.iter().zip(&y).all(|(x, y)| *y == (x + 1.0) * 2.0));
    }
}

#[test]
fn a_failing_task_ends_the_call_and_a_bad_view_starts_none() {
    let program = blocks();
    let (mut x, mut y) = (vec![1000.0; 64], vec![0.0; 64]);
    // SAFETY: as above.
    let stop = unsafe { program.call(&[argument(&mut x), argument(&mut y)], Execution::on(2)) }.unwrap_err();
    assert!(format!("{stop:?}").contains("too much"));
    let (mut x, mut y) = (vec![0.0; 48], vec![7.0; 48]);
    // SAFETY: as above; six rows are not a multiple of four.
    let stop = unsafe { program.call(&[argument(&mut x), argument(&mut y)], Execution::on(1)) }.unwrap_err();
    assert!(format!("{stop:?}").contains("the view [4, 8] at [4, 0] exceeds the tensor [6, 8]"));
    assert!(y.iter().all(|y| *y == 7.0));
}

#[test]
fn reading_an_element_runs_the_tasks_before() {
    let dims = [Extent::Const(4), Extent::Const(8)];
    let mut b = Builder::new("main", FunctionKind::Orchestration, loc());
    let x = b.param("x", tensor(&dims), Direction::In, ParamRole::Tensor, loc());
    let y = b.param("y", tensor(&dims), Direction::InOut, ParamRole::Tensor, loc());
    let zero = b.index(0, loc());
    b.call("increment", &[x, y], &[], Vec::new(), false, loc());
    let first = b.element(y, &[zero, zero], loc()).unwrap();
    let one = b.literal_of(crate::ops::fold::Literal::Float(1.0), DType::F32, loc()).unwrap();
    let is_one = b.emit(OpKind::CmpEq, &[first, one], Default::default(), &Request::none(), loc()).unwrap();
    b.begin_if(is_one, loc()).unwrap();
    b.call("double", &[x, y], &[], Vec::new(), false, loc());
    b.begin_else(&[]).unwrap();
    b.end_if(&[]).unwrap();
    let functions = vec![b.finish(Vec::new()).unwrap(), signature("increment", &dims), signature("double", &dims)];
    let kernels = kernels();
    let program = HostProgram::of_kernels(Arc::new(Program { name: "main".into(), functions, entry: 0 }), kernels);
    for (start, expected) in [(0.0, 0.0), (5.0, 6.0)] {
        let (mut x, mut y) = (vec![start; 32], vec![0.0; 32]);
        // SAFETY: two separate tensors of the declared extents.
        unsafe { program.call(&[argument(&mut x), argument(&mut y)], Execution::on(2)) }.unwrap();
        assert!(y.iter().all(|y| *y == expected));
    }
}

#[test]
fn a_recording_has_every_task_once_and_in_the_order_of_the_edges() {
    let program = blocks();
    for (threads, detail) in [(1, Detail::Kernels), (2, Detail::Dispatch), (2, Detail::Orchestration)] {
        let (mut x, mut y) = (vec![1.0; 16 * 8], vec![0.0; 16 * 8]);
        let recording = Recording::new(detail);
        let execution = Execution { recording: Some(&recording), ..Execution::on(threads) };
        // SAFETY: two separate tensors of equal extents.
        unsafe { program.call(&[argument(&mut x), argument(&mut y)], execution) }.unwrap();
        let log = recording.into_log();
        assert_eq!(
            log.tasks.iter().map(|t| &*t.kernel).collect::<Vec<_>>(),
            [["increment"; 4], ["double"; 4]].concat()
        );
        assert_eq!(log.edges, [(0, 4), (1, 5), (2, 6), (3, 7)]);
        let span = |task| *log.spans.iter().find(|span| span.task == task).expect("every task ran");
        assert_eq!(log.spans.len(), 8);
        assert!(log.spans.iter().all(|span| span.started <= span.finished && (span.begin, span.end) == (0, 1)));
        assert!(log.edges.iter().all(|(from, to)| span(*from).finished <= span(*to).started));
        assert!(log.tasks.iter().all(|task| task.ready.is_some() == (detail >= Detail::Dispatch)));
        let kinds: Vec<PhaseKind> = log.phases.iter().map(|phase| phase.kind).collect();
        let orchestration = [PhaseKind::Bind, PhaseKind::Schedule, PhaseKind::Workspace];
        assert_eq!(orchestration.iter().all(|kind| kinds.contains(kind)), detail == Detail::Orchestration);
    }
}

#[test]
fn dumped_arguments_are_those_before_and_after_each_task() {
    let program = blocks();
    let (mut x, mut y) = (vec![1.0; 4 * 8], vec![0.0; 4 * 8]);
    let dump = ArgumentsDump::new(Whose::Tasks, 3 * 128);
    let execution = Execution { arguments: Some(&dump), ..Execution::on(2) };
    // SAFETY: two separate tensors of equal extents.
    unsafe { program.call(&[argument(&mut x), argument(&mut y)], execution) }.unwrap();
    let content = dump.into_content();
    let entry = |e: &super::dfx::dump_args::Entry| (e.task, e.parameter.clone(), e.stage, e.offset);
    let of = |task, name: &str, stage, offset| (task, name.to_owned(), stage, offset);
    assert_eq!(
        content.entries.iter().map(entry).collect::<Vec<_>>(),
        [
            of(None, "x", Stage::Before, Some(0)),
            of(Some(0), "from", Stage::Before, Some(128)),
            of(Some(0), "to", Stage::After, Some(256)),
            of(Some(1), "from", Stage::Before, None),
            of(Some(1), "to", Stage::After, None),
            of(None, "y", Stage::After, None),
        ]
    );
    let values: Vec<f32> = content.payload.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(values, [[1.0; 32], [1.0; 32], [2.0; 32]].concat());
    assert!(content.entries[0].extents == Some(vec![4, 8]) && content.entries[0].dtype == "f32");
    assert!(y.iter().all(|y| *y == 4.0));
}
