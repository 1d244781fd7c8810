//! Programs for the tests of passes, built as the front end builds them.

use crate::ir::builder::ForLoop;
use crate::ir::*;
use crate::ops::OpKind;
use crate::ops::rules::RuleError;

/// A place in a file that does not exist.
pub fn at(line: u32) -> Loc {
    Loc::new(FileId::intern("kernel.rs"), line, 5, line, 20)
}

/// A tensor parameter's declaration: name, extents, direction. Extents of -1 are run-time parameters.
pub type Declared<'a> = (&'a str, &'a [i64], Direction);

/// A function of the given kind with parameters of element type `f32`.
pub fn function(
    name: &str,
    kind: FunctionKind,
    params: &[Declared<'_>],
    body: impl FnOnce(&mut Builder, &[ValueId]) -> Result<(), RuleError>,
) -> Function {
    let mut b = Builder::new(name, kind, at(1));
    let mut tensors = Vec::new();
    let mut dynamic = None;
    for (position, (name, dims, direction)) in params.iter().enumerate() {
        let mut extents: Vec<Extent> = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let role = ParamRole::Extent { param: position + 1, axis };
            extents.push(match dim {
                -1 => (*dynamic.get_or_insert_with(|| b.param("M", Type::INDEX, Direction::In, role, at(1)))).into(),
                n => Extent::Const(*n),
            });
        }
        let strides = b.row_major_strides(&extents, at(1)).unwrap();
        let ty = Type::Tensor(TensorType { dtype: DType::F32, dims: extents, strides });
        tensors.push(b.param(name, ty, *direction, ParamRole::Tensor, at(1)));
    }
    body(&mut b, &tensors).unwrap();
    b.finish(Vec::new()).unwrap()
}

/// A program whose entry is the first function.
pub fn program(functions: Vec<Function>) -> Program {
    Program { name: functions[0].name.clone(), functions, entry: 0 }
}

/// A loop without carried values over `0..upper`.
pub fn each(
    b: &mut Builder,
    kind: LoopKind,
    upper: ValueId,
    step: i64,
    mut body: impl FnMut(&mut Builder, ValueId) -> Result<(), RuleError>,
) -> Result<(), RuleError> {
    let (lower, step) = (b.index(0, at(2)), b.index(step, at(2)));
    let head = ForLoop {
        kind,
        lower,
        upper,
        step,
        initial: Vec::new(),
        index_name: Some("i".to_owned()),
        names: Vec::new(),
        loc: at(2),
    };
    b.for_loop(&head, |b, i, _| body(b, i).map(|()| Vec::new())).map(|_| ())
}

/// Row-wise softmax over blocks of `tile` rows.
pub fn softmax(rows: i64, columns: i64, tile: i64) -> Program {
    let dims = [rows, columns];
    let params: [Declared<'_>; 2] = [("x", &dims, Direction::In), ("y", &dims, Direction::InOut)];
    program(vec![function("softmax", FunctionKind::Opaque, &params, |b, t| {
        let Type::Tensor(ty) = b.ty(t[0]).clone() else { return Ok(()) };
        let upper = b.extent_value(ty.dims[0], at(1));
        each(b, LoopKind::Auto, upper, tile, |b, i| {
            let zero = b.index(0, at(3));
            let x = b.load(t[0], &[i, zero], &[tile.into(), ty.dims[1]], None, at(3))?;
            let max = b.unary(OpKind::RowMax, x, at(4))?;
            let shifted = b.binary(OpKind::Sub, x, max, at(4))?;
            let e = b.unary(OpKind::Exp, shifted, at(4))?;
            let sum = b.unary(OpKind::RowSum, e, at(5))?;
            let y = b.binary(OpKind::Div, e, sum, at(5))?;
            b.store(y, t[1], &[i, zero], None, at(5))
        })
    })])
}

/// `y.set(value)` with the value of a closure over whole tensors.
pub fn tensor_level(
    params: &[Declared<'_>],
    value: impl Fn(&mut Builder, &[ValueId]) -> Result<ValueId, RuleError>,
) -> Program {
    program(vec![function("whole", FunctionKind::Opaque, params, |b, t| {
        let mut tiles = Vec::new();
        for tensor in &t[..t.len() - 1] {
            tiles.push(b.load_all(*tensor, at(2))?);
        }
        let value = value(b, &tiles)?;
        let zeros = vec![b.index(0, at(3)); b.tile_type(value).map_or(0, |t| t.rank())];
        b.store(value, t[t.len() - 1], &zeros, None, at(3))
    })])
}
