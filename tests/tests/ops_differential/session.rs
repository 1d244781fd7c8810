//! Builds a program of many operations on tiles of the same tensors, each with an output of its own, in one of three forms.

use pypto::ir::builder::ForLoop;
use pypto::ir::*;
use pypto::ops::OpKind;
use pypto::ops::rules::RuleError;

use super::data::Fill;

/// How the tiles come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Whole tensors.
    Whole,
    /// One tile that is larger than the tensors: its valid extents are known constants.
    Padded,
    /// A loop over blocks of rows, the last one ragged: its valid extents are known at run time.
    Blocks,
}

impl Form {
    pub const ALL: [Form; 3] = [Form::Whole, Form::Padded, Form::Blocks];
}

/// Rows of a block.
const BLOCK: i64 = 4;

/// A dimension of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Extent 1, which broadcasts.
    One,
    /// The extent of the session.
    All,
}

/// An input of the session's extents: element type, rows and columns, contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand(pub DType, pub Span, pub Span, pub Fill);

/// A tensor parameter of the program.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<i64>,
    pub fill: Fill,
    pub written: bool,
}

/// A program under construction.
pub struct Session {
    pub b: Builder,
    pub form: Form,
    /// Extents of the tensors.
    pub rows: i64,
    pub columns: i64,
    parameters: Vec<Parameter>,
    loaded: Vec<(Operand, ValueId)>,
    /// First row of the block.
    row: ValueId,
    zero: ValueId,
}

/// A place in a file that does not exist.
pub fn loc() -> Loc {
    Loc::new(FileId::intern("kernel.rs"), 1, 1, 1, 2)
}

impl Session {
    /// An empty program over tensors of the given extents.
    pub fn new(form: Form, [rows, columns]: [i64; 2]) -> Session {
        let mut b = Builder::new("ops", FunctionKind::Opaque, loc());
        let zero = b.index(0, loc());
        let mut row = zero;
        if form == Form::Blocks {
            let (upper, step) = (b.index(rows, loc()), b.index(BLOCK, loc()));
            let (initial, names) = (Vec::new(), Vec::new());
            let kind = LoopKind::Auto;
            let head = ForLoop { kind, lower: zero, upper, step, initial, index_name: None, names, loc: loc() };
            row = b.begin_for(&head, &[]).expect("a loop over rows").0;
        }
        Session { b, form, rows, columns, parameters: Vec::new(), loaded: Vec::new(), row, zero }
    }

    /// Extents of a tile of the operand.
    pub fn tile_dims(&self) -> [i64; 2] {
        match self.form {
            Form::Whole => [self.rows, self.columns],
            Form::Padded => [self.rows + 2, self.columns + 3],
            Form::Blocks => [BLOCK, self.columns + 3],
        }
    }

    fn parameter(&mut self, parameter: Parameter) -> ValueId {
        let dims: Vec<Extent> = parameter.dims.iter().map(|n| Extent::Const(*n)).collect();
        let strides = self.b.row_major_strides(&dims, loc()).expect("strides of constants");
        let ty = Type::Tensor(TensorType { dtype: parameter.dtype, dims, strides });
        let direction = if parameter.written { Direction::InOut } else { Direction::In };
        let value = self.b.param(&parameter.name, ty, direction, ParamRole::Tensor, loc());
        self.parameters.push(parameter);
        value
    }

    /// An input tensor of any extents.
    pub fn tensor(&mut self, dtype: DType, dims: &[i64], fill: Fill) -> ValueId {
        let name = format!("input{}", self.parameters.len());
        self.parameter(Parameter { name, dtype, dims: dims.to_vec(), fill, written: false })
    }

    /// A tensor that the program writes.
    pub fn output_tensor(&mut self, name: &str, dtype: DType, dims: &[i64]) -> ValueId {
        self.parameter(Parameter { name: name.to_owned(), dtype, dims: dims.to_vec(), fill: Fill::Tame, written: true })
    }

    /// A tile of an input.
    pub fn tile(&mut self, operand: Operand) -> ValueId {
        if let Some((_, value)) = self.loaded.iter().find(|(o, _)| *o == operand) {
            return *value;
        }
        let Operand(dtype, rows, columns, fill) = operand;
        let [tile_rows, tile_columns] = self.tile_dims();
        let (m, p, row) = match rows {
            Span::One => (1, 1, self.zero),
            Span::All => (self.rows, tile_rows, self.row),
        };
        let (n, q) = if columns == Span::One { (1, 1) } else { (self.columns, tile_columns) };
        let tensor = self.tensor(dtype, &[m, n], fill);
        let value = self.b.load(tensor, &[row, self.zero], &[p.into(), q.into()], None, loc()).expect("a load");
        self.loaded.push((operand, value));
        value
    }

    /// A whole tensor as a tile.
    pub fn whole(&mut self, dtype: DType, dims: &[i64], fill: Fill) -> ValueId {
        let tensor = self.tensor(dtype, dims, fill);
        self.b.load_all(tensor, loc()).expect("a load")
    }

    /// Stores a result to an output of its own; `false` where the rules do not allow the operation on partly valid tiles.
    pub fn output(&mut self, name: &str, value: Result<ValueId, RuleError>) -> bool {
        let value = match value {
            Ok(value) => value,
            Err(RuleError::NotFull { .. }) => return false,
            Err(error) => panic!("{name}: {error:?}"),
        };
        let tile = self.b.tile_type(value).unwrap_or_else(|| panic!("{name}: no tile")).clone();
        // A valid extent that is not constant is what is left of the tensor's rows in the block.
        let moving = tile.valid.iter().position(|v| v.value().is_some());
        let mut dims: Vec<i64> = tile.valid.iter().map(|v| v.constant().unwrap_or(self.rows)).collect();
        let mut offsets = vec![self.zero; dims.len()];
        match (self.form, moving) {
            (Form::Blocks, Some(axis)) => offsets[axis] = self.row,
            (Form::Blocks, None) => {
                offsets[0] = self.block_offset(dims[0]);
                dims[0] *= (self.rows + BLOCK - 1) / BLOCK;
            }
            _ => {}
        }
        let tensor = self.output_tensor(name, tile.dtype, &dims);
        self.b.store(value, tensor, &offsets, None, loc()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        true
    }

    /// The block's number times `rows`.
    fn block_offset(&mut self, rows: i64) -> ValueId {
        let (block, rows) = (self.b.index(BLOCK, loc()), self.b.index(rows, loc()));
        let number = self.b.binary(OpKind::Div, self.row, block, loc()).expect("a quotient");
        self.b.binary(OpKind::Mul, number, rows, loc()).expect("a product")
    }

    /// The program and its parameters.
    pub fn finish(mut self) -> (Program, Vec<Parameter>) {
        if self.form == Form::Blocks {
            self.b.end_for(&[]).expect("the end of the loop");
        }
        let function = self.b.finish(Vec::new()).expect("a function");
        (Program { name: "ops".into(), functions: vec![function], entry: 0 }, self.parameters)
    }
}
