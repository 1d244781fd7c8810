//! Writing instructions: names, constants, tiles.

use super::{Lowering, Outcome};
use crate::codegen::ascend::dialect::types::Order;
use crate::codegen::ascend::dialect::{Alias, Inst, Kind, Literal, TileAttr, TileOp, TileTy, Ty, Value};
use crate::ir::DType;

/// Lines of tiles are multiples of this many elements: whole blocks of 32 bytes for every element type, so that a tile,
/// its conversions and its masks have the same extents.
pub(super) const LINE: i64 = 32;

/// The smallest multiple of `unit` that is at least `n`.
pub(super) fn round_up(n: i64, unit: i64) -> i64 {
    (n + unit - 1) / unit * unit
}

impl Lowering<'_> {
    /// A value with a name that no other has.
    pub(super) fn fresh(&mut self, hint: &str, ty: Ty) -> Value {
        let mut name: String =
            hint.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, '_');
        }
        let count = self.names.entry(name.clone()).or_insert(0);
        *count += 1;
        let unique = if *count == 1 { name } else { format!("{name}.{}", *count - 1) };
        self.function.add(unique, ty)
    }

    pub(super) fn push(&mut self, kind: Kind) {
        let place = self.place;
        if let Some(body) = self.bodies.last_mut() {
            body.push(Inst { kind, place });
        }
    }

    /// A constant of type `index`.
    pub(super) fn index(&mut self, n: i64) -> Value {
        self.int(n, Ty::Index)
    }

    /// An integer constant.
    pub(super) fn int(&mut self, n: i64, ty: Ty) -> Value {
        let suffix = crate::codegen::ascend::dialect::print::type_text(&ty);
        let hint = if n < 0 { format!("cn{}_{suffix}", n.unsigned_abs()) } else { format!("c{n}_{suffix}") };
        self.constant(n as u64, hint, ty, Literal::Int(n))
    }

    /// A float constant, rounded to its type.
    pub(super) fn float(&mut self, x: f64, dtype: DType) -> Value {
        let x = match dtype {
            DType::F16 => half::f16::from_f64(x).to_f64(),
            DType::BF16 => half::bf16::from_f64(x).to_f64(),
            _ => f64::from(x as f32),
        };
        self.constant(x.to_bits(), format!("cst_{}", dtype.name()), Ty::Scalar(dtype), Literal::Float(x))
    }

    /// A number constant of any element type.
    pub(super) fn number(&mut self, x: f64, dtype: DType) -> Value {
        if dtype.is_float() { self.float(x, dtype) } else { self.int(x as i64, Ty::Scalar(dtype)) }
    }

    fn constant(&mut self, bits: u64, hint: String, ty: Ty, literal: Literal) -> Value {
        let key = (bits, hint.clone());
        if let Some(known) = self.constants.get(&key) {
            return *known;
        }
        let result = self.fresh(&hint, ty);
        self.constants.insert(key, result);
        self.prologue.push(Inst { kind: Kind::Constant { result, literal }, place: None });
        result
    }

    /// The integer of a constant.
    pub(super) fn known(&self, value: Value) -> Option<i64> {
        self.prologue.iter().find_map(|inst| match inst.kind {
            Kind::Constant { result, literal: Literal::Int(n) } if result == value => Some(n),
            _ => None,
        })
    }

    /// `arith.op`, whose result has the type of the operands.
    pub(super) fn arith(&mut self, op: &'static str, operands: &[Value]) -> Value {
        let ty = self.ty(operands[operands.len() - 1]).clone();
        self.arith_to(op, None, operands, ty)
    }

    pub(super) fn arith_to(
        &mut self,
        op: &'static str,
        predicate: Option<&'static str>,
        operands: &[Value],
        ty: Ty,
    ) -> Value {
        let result = self.fresh("s", ty);
        self.push(Kind::Arith { result, op, predicate, operands: operands.to_vec() });
        result
    }

    /// Index arithmetic, folded where both operands are known.
    pub(super) fn index_op(&mut self, op: &'static str, a: Value, b: Value) -> Value {
        let (x, y) = (self.known(a), self.known(b));
        let folded = match (op, x, y) {
            ("addi", Some(x), Some(y)) => x.checked_add(y),
            ("subi", Some(x), Some(y)) => x.checked_sub(y),
            ("muli", Some(x), Some(y)) => x.checked_mul(y),
            ("minsi", Some(x), Some(y)) => Some(x.min(y)),
            ("maxsi", Some(x), Some(y)) => Some(x.max(y)),
            ("divsi", Some(x), Some(y)) if y > 0 => Some(x / y),
            ("remsi", Some(x), Some(y)) if y > 0 => Some(x % y),
            _ => None,
        };
        match (op, x, y) {
            _ if folded.is_some() => self.index(folded.unwrap_or(0)),
            ("addi", Some(0), _) | ("muli", Some(1), _) => b,
            ("addi" | "subi", _, Some(0)) | ("muli" | "divsi", _, Some(1)) => a,
            _ => self.arith(op, &[a, b]),
        }
    }

    /// A tile of the given type, valid as far as stated.
    pub(super) fn alloc(&mut self, hint: &str, ty: TileTy, valid: [Value; 2]) -> Value {
        let result = self.fresh(hint, Ty::Tile(ty));
        self.push(Kind::Alloc { result, address: None, valid });
        self.valid_of.insert(result, valid);
        result
    }

    /// A row-major vector tile with lines of whole 32-byte blocks.
    pub(super) fn alloc_rows(&mut self, hint: &str, dtype: DType, rows: i64, cols: i64, valid: [Value; 2]) -> Value {
        let cols = round_up(cols, LINE);
        self.alloc(hint, TileTy::vector(dtype, rows, cols, Order::Row), valid)
    }

    /// A tile of one column.
    pub(super) fn alloc_column(&mut self, hint: &str, dtype: DType, rows: i64, valid_rows: Value) -> Value {
        let rows = round_up(rows, LINE);
        let one = self.index(1);
        self.alloc(hint, TileTy::vector(dtype, rows, 1, Order::Column), [valid_rows, one])
    }

    pub(super) fn tile_op(&mut self, op: TileOp, ins: &[Value], out: Value) {
        self.push(Kind::Tile { op, ins: ins.to_vec(), attr: TileAttr::None, out });
    }

    pub(super) fn tile_op_with(&mut self, op: TileOp, ins: &[Value], attr: TileAttr, out: Value) {
        self.push(Kind::Tile { op, ins: ins.to_vec(), attr, out });
    }

    /// Another handle on the bytes of a tile.
    pub(super) fn alias(&mut self, hint: &str, source: Value, ty: TileTy, alias: Alias) -> Value {
        let result = self.fresh(hint, Ty::Tile(ty));
        self.push(Kind::Alias { result, source, alias });
        result
    }

    pub(super) fn tile_ty(&self, value: Value) -> Outcome<TileTy> {
        self.function.tile(value).cloned().ok_or_else(|| self.internal("a tile is missing"))
    }
}
