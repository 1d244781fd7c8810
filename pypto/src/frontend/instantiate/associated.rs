//! Associated functions: `Tile::zeros`, `Tensor::temp`, `f32::from`, ...

use super::coerce::Operand;
use super::value::{Tensor, Value};
use super::{Flow, Site, Walker};
use crate::diagnostics::{Diagnostic, codes};
use crate::frontend::generic::{ElementType, Expr, Ident};
use crate::frontend::suggest;
use crate::ir::{DType, Extent, FunctionKind, Loc, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;

/// The largest value that a kernel may make: 1 TiB.
const MAX_BYTES: i64 = 1 << 40;

impl Walker<'_> {
    /// `ty::name::<type_args>(args)`.
    pub fn associated(
        &mut self,
        ty: &'static str,
        name: Ident,
        type_args: &'static [ElementType],
        args: &'static [Expr],
        loc: Loc,
    ) -> Flow<Value> {
        let args = self.operands(args)?;
        let dtype = type_args.first().map(|element| self.frame().dtype(*element));
        match (ty, name.name) {
            ("Tile" | "Acc", "zeros") => {
                let [shape] = self.exactly("zeros", args, loc)?;
                self.create(&shape, None, dtype, loc)
            }
            ("Tile" | "Acc", "full") => {
                let [shape, value] = self.exactly("full", args, loc)?;
                self.create(&shape, Some(&value), dtype, loc)
            }
            ("Tile", "iota") => {
                let args: [Operand; 3] = self.exactly("iota", args, loc)?;
                self.iota(&args, dtype, loc)
            }
            ("Tensor", "temp") => {
                let [shape] = self.exactly("temp", args, loc)?;
                self.allocate(&shape, dtype, loc).map(Value::Tensor)
            }
            ("Tensor", "zeros") => {
                let [shape] = self.exactly("zeros", args, loc)?;
                self.filled_tensor(&shape, None, dtype, loc)
            }
            ("Tensor", "full") => {
                let [shape, value] = self.exactly("full", args, loc)?;
                self.filled_tensor(&shape, Some(&value), dtype, loc)
            }
            _ => self.element_function(ty, name, args, loc),
        }
    }

    /// `f32::from(x)`, `f16::from_f32(x)`, `T::from(x)`: conversions of scalars.
    fn element_function(&mut self, ty: &'static str, name: Ident, args: Vec<Operand>, loc: Loc) -> Flow<Value> {
        let frame = self.frame();
        let param = frame.function.type_params.iter().position(|p| p.name == ty);
        let dtype = param.map(|i| frame.dtype(ElementType::Param(i))).or_else(|| ty.parse().ok());
        match (dtype, name.name) {
            (Some(dtype), "from" | "from_f32" | "from_f64" | "from_i64") => {
                let [x] = self.exactly(name.name, args, loc)?;
                self.converted(&x, dtype, loc)
            }
            (Some(dtype), "zero" | "one") => {
                let n = i64::from(name.name == "one");
                let literal = if dtype == DType::Bool { Literal::Bool(n == 1) } else { Literal::Int(n) };
                self.literal(literal, dtype, loc).map(Value::Scalar)
            }
            (Some(dtype), "DTYPE") if args.is_empty() => Ok(Value::DType(dtype)),
            (Some(dtype), _) if !args.is_empty() => self.method_by_path(dtype, name, args, loc),
            _ => {
                let title = format!("`{ty}::{}` is not available in kernels", name.name);
                let place = self.loc(name.span);
                let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, place, title, "");
                if let Some(similar) = suggest::closest(name.name, ["zeros", "full", "iota", "temp", "from"]) {
                    diagnostic = diagnostic.help(format!("did you mean `{similar}`?"));
                }
                Err(self.report(diagnostic))
            }
        }
    }

    /// A scalar converted as Rust's `as` does.
    pub fn converted(&mut self, x: &Operand, dtype: DType, loc: Loc) -> Flow<Value> {
        if matches!(x.value, Value::Float(_) | Value::Int(_)) {
            return self.scalar_of(x, Some(dtype)).map(Value::Scalar);
        }
        let value = self.scalar_of(x, None)?;
        if self.builder.ty(value).dtype() == Some(dtype) {
            return Ok(Value::Scalar(value));
        }
        let cast = self.builder.cast(value, dtype, Round::None, loc);
        self.check(cast, &Site::new("from", loc)).map(Value::Scalar)
    }

    /// `zeros` and `full` of tiles.
    fn create(&mut self, shape: &Operand, value: Option<&Operand>, dtype: Option<DType>, loc: Loc) -> Flow<Value> {
        let extents = self.known_extents(shape, "a tile extent");
        let (value, guess) = self.fill_value(value, dtype, loc)?;
        let extents: Vec<Extent> = extents?.into_iter().map(Extent::Const).collect();
        self.check_size(&extents, self.builder.ty(value).dtype(), shape.loc)?;
        let tile = self.builder.full(value, &extents, loc);
        let tile = self.check(tile, &Site::new("full", loc))?;
        self.shapes.insert(tile, shape.loc);
        if guess {
            self.guessed(tile, loc);
        }
        Ok(Value::Tile(tile))
    }

    /// The scalar to fill with, and whether its type is a guess.
    fn fill_value(&mut self, value: Option<&Operand>, dtype: Option<DType>, loc: Loc) -> Flow<(ValueId, bool)> {
        let known = dtype.or_else(|| value.and_then(|v| self.dtype_of(&v.value)));
        let default = match value.map(|v| &v.value) {
            Some(Value::Int(_)) => DType::I32,
            _ => DType::F32,
        };
        let dtype = known.unwrap_or_else(|| self.unit.inference.dtype(loc, default));
        let value = match value {
            Some(value) => self.scalar_of(value, Some(dtype))?,
            None if dtype == DType::Bool => self.literal(Literal::Bool(false), dtype, loc)?,
            None => self.literal(Literal::Int(0), dtype, loc)?,
        };
        Ok((value, known.is_none()))
    }

    /// `Tile::iota(shape, axis, start)`.
    fn iota(&mut self, [shape, axis, start]: &[Operand; 3], dtype: Option<DType>, loc: Loc) -> Flow<Value> {
        let extents = self.known_extents(shape, "a tile extent");
        let axis = self.constant_of(axis, "an axis")?;
        let known = dtype.or_else(|| self.dtype_of(&start.value));
        let dtype = known.unwrap_or_else(|| self.unit.inference.dtype(loc, DType::I32));
        let start = self.scalar_of(start, Some(dtype))?;
        let extents: Vec<Extent> = extents?.into_iter().map(Extent::Const).collect();
        self.check_size(&extents, Some(dtype), shape.loc)?;
        let tile = self.builder.iota(start, axis, &extents, loc);
        let tile = self.check(tile, &Site::new("iota", loc))?;
        self.shapes.insert(tile, shape.loc);
        if known.is_none() {
            self.guessed(tile, loc);
        }
        Ok(Value::Tile(tile))
    }

    /// Reports a value that no memory holds, where it is written: a call would only find that there is not enough.
    fn check_size(&mut self, extents: &[Extent], dtype: Option<DType>, loc: Loc) -> Flow<()> {
        let known: Vec<i64> = extents.iter().filter_map(|extent| extent.constant()).collect();
        let element = dtype.map_or(1, |dtype| dtype.size() as i64);
        let bytes = known.iter().try_fold(element, |bytes, extent| bytes.checked_mul(*extent));
        if known.contains(&0) || bytes.is_some_and(|bytes| bytes <= MAX_BYTES) {
            return Ok(());
        }
        let size = bytes.map_or("more than 2^63 bytes".to_owned(), |bytes| format!("{} GiB", bytes >> 30));
        let title = format!("a value of extents {known:?} takes {size}");
        let label = format!("the limit is {} GiB", MAX_BYTES >> 30);
        Err(self.error(codes::ARGUMENT_SIZE, loc, title, label))
    }

    /// A new tensor with unspecified contents.
    fn allocate(&mut self, shape: &Operand, dtype: Option<DType>, loc: Loc) -> Flow<Tensor> {
        if self.builder.function().kind == FunctionKind::InCore {
            let title = "an in-core function cannot allocate tensors";
            let diagnostic = Diagnostic::error(codes::FUNCTION_KIND, loc, title, "memory belongs to the caller")
                .help("use a tile (`Tile::zeros`), or pass the tensor as a parameter");
            return Err(self.report(diagnostic));
        }
        let extents = self.extents(shape)?;
        let settled = dtype.unwrap_or_else(|| self.unit.inference.dtype(loc, DType::F32));
        self.check_size(&extents, Some(settled), shape.loc)?;
        let tensor = self.builder.alloc(settled, &extents, loc);
        let value = self.check(tensor, &Site::new("temp", loc))?;
        self.shapes.insert(value, shape.loc);
        if dtype.is_none() {
            self.guessed(value, loc);
        }
        Ok(Tensor { value, root: "" })
    }

    /// A new tensor with every element equal to a scalar.
    fn filled_tensor(
        &mut self,
        shape: &Operand,
        value: Option<&Operand>,
        dtype: Option<DType>,
        loc: Loc,
    ) -> Flow<Value> {
        let (value, guess) = self.fill_value(value, dtype, loc)?;
        let dtype = self.builder.ty(value).dtype();
        let tensor = self.allocate(shape, dtype, loc)?;
        if guess {
            self.guessed(tensor.value, loc);
        }
        self.fill_tensor(tensor.value, value, loc)?;
        Ok(Value::Tensor(tensor))
    }

    /// Stores a scalar to every element of a tensor.
    pub fn fill_tensor(&mut self, tensor: ValueId, value: ValueId, loc: Loc) -> Flow<()> {
        let dims = self.builder.tensor_type(tensor).map_or(Vec::new(), |t| t.dims.clone());
        let zeros = vec![self.builder.index(0, loc); dims.len()];
        let stored =
            (self.builder.full(value, &dims, loc)).and_then(|tile| self.builder.store(tile, tensor, &zeros, None, loc));
        self.check(stored, &Site::new(OpKind::Full.name(), loc))
    }
}
