//! Expansions of the attribute macros, used as users do: where kernels may stand, what their handles give, and what is
//! captured.

#![allow(
    clippy::assign_op_pattern,
    clippy::nonminimal_bool,
    clippy::needless_return,
    clippy::eq_op,
    clippy::precedence,
    clippy::identity_op,
    reason = "one kernel holds every form that the subset accepts"
)]

use pypto::frontend::generic::{Callable, Callee, ExprKind, StatementKind, ValueType};
use pypto::ir::{DType, Direction, FunctionKind};
use pypto::prelude::*;

/// Softmax over the rows.
#[pypto::jit(meta(TM = 64))]
pub fn softmax(
    #[shape(M, N)] x: &Tensor<f32, 2>,
    #[out]
    #[shape(M, N)]
    y: &mut Tensor<f32, 2>,
) {
    for at in tiles([M, N], [TM, N]) {
        let t = x.load(at);
        let e = (t - t.row_max()).exp();
        y.store(at, e / e.row_sum());
    }
}

mod helpers {
    use super::*;

    pub mod inner {
        use super::*;

        /// Called through a re-export under another name.
        #[pypto::function(inline)]
        pub fn shifted(t: Tile<f32>, by: f32) -> Tile<f32> {
            t + by
        }
    }

    pub use inner::shifted as moved;

    pub const OFFSET: f32 = 0.5;
}

#[pypto::jit]
fn calls(#[shape(M, 2)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
    use_helper(x, y);
    let t = helpers::moved(x.load_all(), helpers::OFFSET);
    y.set(t);
}

#[pypto::function(inline)]
fn use_helper(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    y.set(x.load_all());
}

/// Generic over the element type.
#[pypto::jit]
fn doubled<T: Element>(x: &Tensor<T, 2>, #[out] y: &mut Tensor<T, 2>) {
    let t = x.load_all();
    y.set(t.max(t));
}

fn generic_of<K: Callable>() -> &'static pypto::frontend::generic::Function {
    match K::callee() {
        Callee::Function(function) => function,
        Callee::Intrinsic(name) => panic!("{name} is an intrinsic"),
    }
}

#[test]
fn signature_and_source_are_captured() {
    let function = softmax.ir();
    assert_eq!((function.name.name, function.module, function.kind), ("softmax", "expansion", FunctionKind::Opaque));
    assert!(function.source.starts_with("pub fn softmax("), "{}", function.source);
    assert!(function.source.ends_with("}\n}"), "{}", function.source);
    assert!(function.file.ends_with("expansion.rs"));
    let directions: Vec<Direction> = function.params.iter().map(|p| p.direction).collect();
    assert_eq!(directions, [Direction::In, Direction::Out]);
    assert!(matches!(function.params[0].ty, ValueType::Tensor { rank: 2, .. }));
    assert_eq!((function.metas[0].name.name, function.metas[0].default), ("TM", 64));
}

#[test]
fn places_are_those_of_the_source() {
    let function = softmax.ir();
    let line = |number: u32| {
        function.source.lines().nth((number - function.source_line) as usize).expect("a line of the function")
    };
    let at =
        |span: pypto::frontend::generic::Span| &line(span.line)[span.column as usize - 1..span.end_column as usize - 1];
    assert_eq!(at(function.name.span), "softmax");
    assert_eq!(at(function.params[1].ty_span), "&mut Tensor<f32, 2>");
    let StatementKind::For { iterator, body, .. } = &function.body.statements[0].kind else { panic!("not a loop") };
    assert_eq!(at(iterator.span), "tiles([M, N], [TM, N])");
    assert_eq!(at(body.statements[1].span), "let e = (t - t.row_max()).exp();");
}

#[test]
fn callees_are_resolved_through_reexports() {
    let function = calls.ir();
    let StatementKind::Let { init: Some(init), .. } = &function.body.statements[1].kind else { panic!("not a let") };
    let ExprKind::Call { name, callee, args, .. } = &init.kind else { panic!("not a call") };
    assert_eq!(name.name, "moved");
    let Callee::Function(callee) = callee() else { panic!("not a function") };
    assert_eq!((callee.name.name, callee.module), ("shifted", "expansion::helpers::inner"));
    let ExprKind::Constant { name, value } = &args[1].kind else { panic!("not a constant") };
    assert_eq!((*name, value()), ("helpers::OFFSET", pypto::frontend::generic::ConstantValue::Float(0.5, DType::F32)));
}

#[test]
fn bodies_run_as_plain_rust() {
    let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    let mut y = Tensor::<f32, 2>::zeros([2, 2]);
    softmax.eager((&x, &mut y));
    let sums: Vec<f32> = y.as_slice().chunks(2).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
    calls.eager((&x, &mut y));
    assert_eq!(y.as_slice(), [1.5, 2.5, 3.5, 4.5]);
    calls::eager(&x, &mut y);
    assert_eq!(y.as_slice(), [1.5, 2.5, 3.5, 4.5]);
    doubled::<f32>.eager((&x, &mut y));
    assert_eq!(y.as_slice(), x.as_slice());
}

#[test]
fn kernels_inside_functions_see_what_is_beside_them() {
    const HALF: f32 = 0.5;
    #[pypto::function(inline)]
    fn halved(t: Tile<f32>) -> Tile<f32> {
        t * HALF
    }
    #[pypto::jit]
    fn local(x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
        y.set(halved(x.load_all()));
    }
    let x = Tensor::from_vec(vec![2.0f32, 4.0], [1, 2]);
    let mut y = Tensor::<f32, 2>::zeros([1, 2]);
    local.eager((&x, &mut y));
    assert_eq!(y.as_slice(), [1.0, 2.0]);
    // The handle does not reserve the name.
    let local = 3;
    assert_eq!(local, 3);
}

#[test]
fn kernels_come_from_macros() {
    macro_rules! scaled {
        ($name:ident, $factor:expr) => {
            #[pypto::jit]
            fn $name(#[shape(M, N)] x: &Tensor<f32, 2>, #[out] y: &mut Tensor<f32, 2>) {
                let factor = $factor;
                y.set(x.load_all() * factor * (M as f32));
            }
        };
    }
    scaled!(twice, 2.0);
    scaled!(thrice, 3.0);
    let x = Tensor::from_vec(vec![1.0f32, 2.0], [1, 2]);
    let mut y = Tensor::<f32, 2>::zeros([1, 2]);
    twice.eager((&x, &mut y));
    assert_eq!(y.as_slice(), [2.0, 4.0]);
    thrice.eager((&x, &mut y));
    assert_eq!(y.as_slice(), [3.0, 6.0]);
    assert_ne!(twice.ir().hash, thrice.ir().hash);
}

#[test]
#[should_panic(expected = "dimension 1 of `y` is 3, but its `#[shape]` says `N`, which is 2")]
fn eager_checks_shared_extents() {
    let x = Tensor::<f32, 2>::zeros([1, 2]);
    let mut y = Tensor::<f32, 2>::zeros([1, 3]);
    softmax.eager((&x, &mut y));
}

#[test]
fn attributes_pass_through() {
    #[pypto::jit]
    #[cfg(any())]
    fn absent(x: &Tensor<f32, 2>) {
        nothing(x);
    }
    #[pypto::function(incore)]
    #[allow(clippy::needless_pass_by_value)]
    fn plain() {}
    plain();
    assert_eq!(generic_of::<plain>().kind, FunctionKind::InCore);
}

#[test]
fn tasks_do_not_reach_rustc_and_printing_does() {
    #[pypto::function(incore)]
    fn step(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
        y.set(x.load_all() + 1.0);
    }
    #[pypto::jit(orchestration)]
    fn graph(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>, z: &mut Tensor<f32, 2>) {
        println!("two steps");
        #[task(first)]
        step(x, y);
        #[task(second, after = [first])]
        step(x, z);
    }
    let statements = graph.ir().body.statements;
    assert_eq!(statements.len(), 3);
    let StatementKind::Task { name: Some(name), after, .. } = &statements[2].kind else { panic!("not a task") };
    assert_eq!((name.name, after[0].name), ("second", "first"));
    let x = Tensor::<f32, 2>::zeros([1, 1]);
    let (mut y, mut z) = (x.clone(), x.clone());
    graph.eager((&x, &mut y, &mut z));
    assert_eq!((y.as_slice(), z.as_slice()), ([1.0].as_slice(), [1.0].as_slice()));
}

/// Most constructs of the subset in one body.
#[pypto::function(inline)]
fn constructs(x: &Tensor<f32, 2>, #[spec] n: i64, s: f32, flag: bool) -> (i64, f32) {
    assert!(n > -5, "n is \"large\" – 100 %");
    debug_assert_eq!(n, n);
    let (mut a, (b, _)): (i64, (f32, bool)) = (n, (s, flag));
    let c: i32 = -7;
    let late;
    if a > 0 && flag || !(a <= -1) {
        late = 0x1f;
    } else if a != 2 {
        late = i64::MIN;
    } else {
        late = -9223372036854775808;
    }
    for i in (0..4).step_by(2) {
        a += i * [1, 2][0] - (i / 3) % 2;
    }
    while a < 10 {
        a = a + 1;
        a |= (a ^ 1 & 1 | 2) << 1 >> 1;
    }
    let d = {
        let e = if flag { b } else { 1e-3f32.max(f32::NEG_INFINITY) };
        -e * std::f32::consts::PI + c as f32
    };
    let t: Tile<f32, 2> =
        Tile::full([2; 2], d) + Tile::<f32>::zeros([2, 2]).cast::<f16>().cast_with::<f32>(Round::Floor);
    let pair = (a, late);
    let _ = (x.dim(0), t);
    return (pair.0, d);
}

#[test]
fn every_construct_is_decoded() {
    let function = generic_of::<constructs>();
    let StatementKind::Assert { text, .. } = &function.body.statements[0].kind else { panic!("no assertion") };
    assert_eq!(*text, "n is \"large\" – 100 %");
    assert!(function.params[1].spec);
    assert!(matches!(function.output, Some(ValueType::Tuple(items)) if items.len() == 2));
    let text = format!("{function:?}");
    for part in ["While", "Range(", "Index(", "TupleField(", "Cast(", "Int(-9223372036854775808", "Shl", "Return(Some"]
    {
        assert!(text.contains(part), "{part} is missing");
    }
    let x = Tensor::<f32, 2>::zeros([2, 2]);
    assert_eq!(scope(|| constructs(&x, 1, 0.5, true)).1, -0.5 * std::f32::consts::PI - 7.0);
}

#[pypto::program]
mod grouped {
    use super::*;

    #[pypto::function(inline)]
    pub fn inverse(t: Tile<f32>) -> Tile<f32> {
        t.recip()
    }

    #[pypto::jit]
    pub fn entry(
        #[shape(4, 8)] x: &Tensor<f32, 2>,
        #[out]
        #[shape(4, 8)]
        y: &mut Tensor<f32, 2>,
    ) {
        y.set(inverse(x.load_all()));
    }
}

#[test]
fn a_module_is_a_program() {
    assert!(grouped::program().is_ok(), "{:?}", grouped::program());
    assert!(grouped::program_for(&(TensorSpec::new(DType::F32, [4, 8]), TensorSpec::new(DType::F32, [4, 8]))).is_ok());
}
