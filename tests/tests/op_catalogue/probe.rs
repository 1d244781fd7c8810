//! Which element types a target takes for an operation: asked of the lowering, with the smallest kernel that has the
//! operation, and not told by a list.

use pypto::codegen::ascend::lower::lower;
use pypto::ir::builder::{Builder, ForLoop};
use pypto::ir::*;
use pypto::ops::rules::RuleError;
use pypto::ops::{Class, OpKind};
use pypto::target::Target;

/// Extents of the tiles: both sides are multiples of the target's lines.
const SIDE: i64 = 64;

/// How much of an operation a target has on an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// Some of the conversions to other types.
    Partly,
    No,
}

/// Whether the operation is one of kernels: allocations and calls belong to orchestration.
pub fn is_in_kernels(kind: OpKind) -> bool {
    !matches!(kind, OpKind::Alloc | OpKind::Call)
}

/// What `target` says to the operation on tiles of `dtype`.
pub fn ask(kind: OpKind, dtype: DType, target: &'static Target) -> Answer {
    let targets: Vec<DType> = match kind.class() {
        // Of the types that the target has at all.
        Class::Cast if kind == OpKind::Bitcast => {
            let is_other = |to: &DType| *to != dtype && *to != DType::Bool && to.size() == dtype.size();
            DType::ALL.into_iter().filter(is_other).collect()
        }
        Class::Cast => {
            let is_stored = |to: &DType| ask(OpKind::Load, *to, target) == Answer::Yes;
            DType::ALL.into_iter().filter(|to| *to != dtype).filter(is_stored).collect()
        }
        _ => vec![dtype],
    };
    let count = targets.len();
    let taken = targets.into_iter().filter(|to| {
        let function = kernel(kind, dtype, *to).unwrap_or_else(|e| panic!("{} on {dtype}: {e:?}", kind.name()));
        lower(&function, target).is_ok()
    });
    match taken.count() {
        0 => Answer::No,
        n if n == count => Answer::Yes,
        _ => Answer::Partly,
    }
}

fn loc() -> Loc {
    Loc::new(FileId::intern("probe.rs"), 1, 1, 1, 2)
}

/// A kernel under construction, and the value whose store ends it.
struct Kernel {
    b: Builder,
    zero: ValueId,
}

type Built<T> = Result<T, RuleError>;

impl Kernel {
    fn tensor(&mut self, name: &str, dtype: DType, dims: &[i64], direction: Direction) -> Built<ValueId> {
        let dims: Vec<Extent> = dims.iter().map(|n| Extent::Const(*n)).collect();
        let strides = self.b.row_major_strides(&dims, loc())?;
        let ty = Type::Tensor(TensorType { dtype, dims, strides });
        Ok(self.b.param(name, ty, direction, ParamRole::Tensor, loc()))
    }

    fn tile(&mut self, name: &str, dtype: DType, dims: [i64; 2]) -> Built<ValueId> {
        let tensor = self.tensor(name, dtype, &dims, Direction::In)?;
        self.b.load_all(tensor, loc())
    }

    fn scalar(&mut self, name: &str, dtype: DType) -> ValueId {
        self.b.param(name, Type::Scalar(dtype), Direction::In, ParamRole::Scalar, loc())
    }

    fn store(&mut self, value: ValueId) -> Built<()> {
        let Some(ty) = self.b.tile_type(value).cloned() else { return Ok(()) };
        let dims: Vec<i64> = ty.dims.iter().filter_map(|d| d.constant()).collect();
        let out = self.tensor("out", ty.dtype, &dims, Direction::InOut)?;
        self.b.store(value, out, &[self.zero, self.zero], None, loc())
    }
}

/// A kernel with one operation of that kind whose operands are of that type.
pub fn kernel(kind: OpKind, dtype: DType, to: DType) -> Built<Function> {
    let mut b = Builder::new("probe", FunctionKind::InCore, loc());
    let zero = b.index(0, loc());
    let mut kernel = Kernel { b, zero };
    match kind.class() {
        Class::Create | Class::Layout => rearranged(&mut kernel, kind, dtype)?,
        Class::Permute => permuted(&mut kernel, kind, dtype)?,
        Class::Matmul => product(&mut kernel, kind, dtype)?,
        Class::Transfer | Class::Element | Class::Tensor => memory(&mut kernel, kind, dtype)?,
        Class::Control | Class::Check | Class::Constant | Class::Call => structure(&mut kernel, kind)?,
        Class::Report => reported(&mut kernel, kind, dtype)?,
        _ => elementwise(&mut kernel, kind, dtype, to)?,
    }
    kernel.b.finish(Vec::new())
}

fn elementwise(k: &mut Kernel, kind: OpKind, dtype: DType, to: DType) -> Built<()> {
    let mask = match kind.class() {
        Class::Select => Some(k.tile("mask", DType::Bool, [SIDE, SIDE])?),
        _ => None,
    };
    let x = k.tile("x", dtype, [SIDE, SIDE])?;
    let value = match (kind.class(), mask) {
        (Class::Binary | Class::Compare, _) => {
            let y = k.tile("y", dtype, [SIDE, SIDE])?;
            k.b.binary(kind, x, y, loc())?
        }
        (_, Some(mask)) => {
            let y = k.tile("y", dtype, [SIDE, SIDE])?;
            k.b.select(mask, x, y, loc())?
        }
        (Class::Cast, _) if kind == OpKind::Bitcast => {
            let attrs = Attrs::new().with(AttrKey::DType, Attr::DType(to));
            k.b.emit(kind, &[x], attrs, &pypto::ops::rules::Request::none(), loc())?
        }
        (Class::Cast, _) => k.b.cast(x, to, Round::None, loc())?,
        _ => k.b.unary(kind, x, loc())?,
    };
    k.store(value)
}

fn rearranged(k: &mut Kernel, kind: OpKind, dtype: DType) -> Built<()> {
    let (half, zero) = (SIDE / 2, k.zero);
    let whole = [Extent::Const(SIDE), Extent::Const(SIDE)];
    let part = [Extent::Const(half), Extent::Const(half)];
    let value = match kind {
        OpKind::Full | OpKind::Iota => {
            let number = k.scalar("number", dtype);
            if kind == OpKind::Full { k.b.full(number, &whole, loc())? } else { k.b.iota(number, 1, &whole, loc())? }
        }
        OpKind::Broadcast => {
            let x = k.tile("x", dtype, [SIDE, 1])?;
            k.b.with_dims(kind, x, &whole, loc())?
        }
        OpKind::Assemble => {
            let (x, y) = (k.tile("x", dtype, [SIDE, SIDE])?, k.tile("y", dtype, [half, half])?);
            k.b.assemble(x, y, &[zero, zero], loc())?
        }
        OpKind::Concat => {
            let (x, y) = (k.tile("x", dtype, [SIDE, half])?, k.tile("y", dtype, [SIDE, half])?);
            k.b.concat(x, y, 1, loc())?
        }
        OpKind::Slice => {
            let x = k.tile("x", dtype, [SIDE, SIDE])?;
            k.b.slice(x, &[zero, zero], &part, loc())?
        }
        OpKind::Reshape => {
            let x = k.tile("x", dtype, [SIDE, SIDE])?;
            k.b.with_dims(kind, x, &[Extent::Const(half), Extent::Const(2 * SIDE)], loc())?
        }
        OpKind::Transpose => {
            let x = k.tile("x", dtype, [SIDE, SIDE])?;
            k.b.unary(kind, x, loc())?
        }
        OpKind::SetValid => {
            let x = k.tile("x", dtype, [SIDE, SIDE])?;
            k.b.set_valid(x, &part, loc())?
        }
        OpKind::Fillpad => {
            let tensor = k.tensor("x", dtype, &[SIDE, SIDE], Direction::In)?;
            let x = k.b.load(tensor, &[zero, zero], &whole, Some(&part), loc())?;
            let number = k.scalar("number", dtype);
            k.b.fillpad(x, number, loc())?
        }
        other => panic!("no kernel for `{}`", other.name()),
    };
    k.store(value)
}

fn permuted(k: &mut Kernel, kind: OpKind, dtype: DType) -> Built<()> {
    let (x, index) = (k.tile("x", dtype, [SIDE, SIDE])?, k.tile("index", DType::I32, [SIDE, SIDE])?);
    let operands = match kind {
        OpKind::Gather => vec![x, index],
        OpKind::Scatter => vec![x, index, k.tile("source", dtype, [SIDE, SIDE])?],
        _ => vec![x],
    };
    let value = k.b.emit(kind, &operands, Attrs::new(), &pypto::ops::rules::Request::none(), loc())?;
    k.store(value)
}

fn product(k: &mut Kernel, kind: OpKind, dtype: DType) -> Built<()> {
    let (x, y) = (k.tile("x", dtype, [SIDE, SIDE])?, k.tile("y", dtype, [SIDE, SIDE])?);
    let operands = match kind {
        OpKind::MatmulAcc => {
            let zero = match dtype.accumulator().is_float() {
                true => pypto::ops::fold::Literal::Float(0.0),
                false => pypto::ops::fold::Literal::Int(0),
            };
            let zero = k.b.literal_of(zero, dtype.accumulator(), loc())?;
            let acc = k.b.full(zero, &[Extent::Const(SIDE), Extent::Const(SIDE)], loc())?;
            vec![acc, x, y]
        }
        OpKind::MatmulBias => {
            let bias = k.tile("bias", dtype.accumulator(), [1, SIDE])?;
            vec![x, y, bias]
        }
        _ => vec![x, y],
    };
    let value = k.b.matmul(kind, &operands, false, false, loc())?;
    k.store(value)
}

fn memory(k: &mut Kernel, kind: OpKind, dtype: DType) -> Built<()> {
    let zero = k.zero;
    let x = k.tensor("x", dtype, &[SIDE, SIDE], Direction::InOut)?;
    match kind {
        OpKind::GatherRows => {
            let index = k.tile("index", DType::I32, [SIDE, 1])?;
            let request = pypto::ops::rules::Request::none();
            let value = k.b.emit(kind, &[x, index], Attrs::new(), &request, loc())?;
            k.store(value)
        }
        OpKind::ScatterRows => {
            let (index, rows) = (k.tile("index", DType::I32, [SIDE, 1])?, k.tile("rows", dtype, [SIDE, SIDE])?);
            k.b.emit_effect(kind, &[rows, x, index], Attrs::new(), loc())
        }
        OpKind::Read => {
            let value = k.b.element(x, &[zero, zero], loc())?;
            let out = k.tensor("out", dtype, &[SIDE, SIDE], Direction::InOut)?;
            k.b.write(value, out, &[zero, zero], loc())
        }
        OpKind::Write => {
            let number = k.scalar("number", dtype);
            k.b.write(number, x, &[zero, zero], loc())
        }
        OpKind::Extract => {
            let tile = k.b.load_all(x, loc())?;
            let value = k.b.element(tile, &[zero, zero], loc())?;
            let out = k.tensor("out", dtype, &[SIDE, SIDE], Direction::InOut)?;
            k.b.write(value, out, &[zero, zero], loc())
        }
        OpKind::View => {
            let part = k.b.view(x, &[zero, zero], &[Extent::Const(SIDE / 2), Extent::Const(SIDE)], loc())?;
            let tile = k.b.load_all(part, loc())?;
            k.store(tile)
        }
        // Of the two, one never occurs without the other.
        OpKind::Load | OpKind::Store => {
            let tile = k.b.load_all(x, loc())?;
            k.store(tile)
        }
        other => panic!("no kernel for `{}`", other.name()),
    }
}

fn reported(k: &mut Kernel, kind: OpKind, dtype: DType) -> Built<()> {
    let tile = k.tile("x", dtype, [SIDE, SIDE])?;
    let attrs = Attrs::new().with(pypto::ir::AttrKey::Message, pypto::ir::Attr::Text("{:?}".to_owned()));
    k.b.emit_effect(kind, &[tile], attrs, loc())?;
    k.store(tile)
}

fn structure(k: &mut Kernel, kind: OpKind) -> Built<()> {
    let n = k.scalar("n", DType::I64);
    let (zero, one) = (k.zero, k.b.index(1, loc()));
    let y = k.tensor("y", DType::F32, &[SIDE], Direction::InOut)?;
    let condition = k.b.binary(OpKind::CmpGt, n, zero, loc())?;
    let number = k.b.literal_of(pypto::ops::fold::Literal::Float(1.0), DType::F32, loc())?;
    match kind {
        OpKind::For => {
            let (initial, names) = (Vec::new(), Vec::new());
            let kind = LoopKind::Sequential;
            let head = ForLoop { kind, lower: zero, upper: n, step: one, initial, index_name: None, names, loc: loc() };
            k.b.begin_for(&head, &[])?;
            k.b.write(number, y, &[zero], loc())?;
            k.b.end_for(&[]).map(drop)
        }
        OpKind::If => {
            k.b.begin_if(condition, loc())?;
            k.b.write(number, y, &[zero], loc())?;
            k.b.begin_else(&[])?;
            k.b.end_if(&[]).map(drop)
        }
        OpKind::While => {
            let body =
                |b: &mut Builder, carried: &[ValueId]| b.binary(OpKind::Add, carried[0], one, loc()).map(|v| vec![v]);
            let goes_on = |b: &mut Builder, carried: &[ValueId]| b.binary(OpKind::CmpLt, carried[0], n, loc());
            k.b.while_loop(&[zero], &[None], loc(), goes_on, body).map(drop)
        }
        OpKind::Assert => k.b.assert(condition, "n is positive", loc()),
        _ => k.b.write(number, y, &[zero], loc()),
    }
}
