//! Reads instructions.

use super::lexer::TokenKind;
use super::print::is_cast;
use super::read::{Read, Reader};
use super::types::{TileTy, Ty};
use super::{Alias, COMPARISONS, Carried, GlobalLayout, Kind, Literal, ROUNDINGS, Region, TileAttr, TileOp, Value};
use crate::ir::DType;

/// The arithmetic that is known, by name.
pub const ARITHMETIC: [&str; 36] = [
    "addi",
    "subi",
    "muli",
    "divsi",
    "remsi",
    "minsi",
    "maxsi",
    "andi",
    "ori",
    "xori",
    "shli",
    "shrsi",
    "addf",
    "subf",
    "mulf",
    "divf",
    "minimumf",
    "maximumf",
    "negf",
    "cmpi",
    "cmpf",
    "select",
    "index_cast",
    "extsi",
    "extui",
    "trunci",
    "extf",
    "truncf",
    "sitofp",
    "fptosi",
    "remf",
    "ceildivsi",
    "shrui",
    "minui",
    "maxui",
    "absi",
];

/// Predicates of comparisons.
pub const PREDICATES: [&str; 12] = ["eq", "ne", "slt", "sle", "sgt", "sge", "oeq", "une", "olt", "ole", "ogt", "oge"];

impl Reader {
    /// An instruction.
    pub(super) fn inst(&mut self) -> Read<Kind> {
        if let TokenKind::Word(word) = self.peek().clone() {
            self.next();
            return match word.as_str() {
                "scf.for" => self.for_loop(Vec::new()),
                "scf.if" => self.branch(Vec::new()),
                "pto.store_scalar" => self.store_scalar(),
                "report" => self.report(),
                _ => self.tile_op(&word),
            };
        }
        let mut names = vec![self.name()?];
        while self.skip_symbol(',') {
            names.push(self.name()?);
        }
        self.symbol('=')?;
        let word = self.word("an operation")?;
        match word.as_str() {
            "scf.for" => return self.for_loop(names),
            "scf.if" => return self.branch(names),
            _ => {}
        }
        let [name] = <[String; 1]>::try_from(names).map_err(|_| self.error(&format!("`{word}` gives one value")))?;
        match word.as_str() {
            "arith.constant" => self.constant(name),
            "pto.make_tensor_view" => self.tensor_view(name),
            "pto.partition_view" => self.partition(name),
            "pto.alloc_tile" => self.alloc(name),
            "pto.treshape" => self.alias(name, Alias::Reshape),
            "pto.bitcast" => self.alias(name, Alias::Bitcast),
            "pto.subview" => self.subview(name),
            "pto.tgetval" => self.get_element(name),
            "pto.load_scalar" => self.load_scalar(name),
            other => match other.strip_prefix("arith.") {
                Some(op) => self.arith(name, op),
                None => Err(self.error(&format!("`{other}` is no operation"))),
            },
        }
    }

    fn constant(&mut self, name: String) -> Read<Kind> {
        let TokenKind::Number(text) = self.next() else { return Err(self.error("a constant is a number")) };
        self.symbol(':')?;
        let ty = self.ty()?;
        let literal = match &ty {
            Ty::Scalar(dtype) if dtype.is_float() => Literal::Float(self.float_of(&text, *dtype)?),
            Ty::Scalar(_) | Ty::Index => Literal::Int(self.integer_of(&text)?),
            _ => return Err(self.error("a constant is a number")),
        };
        let result = self.define(name, ty)?;
        Ok(Kind::Constant { result, literal })
    }

    fn float_of(&self, text: &str, dtype: DType) -> Read<f64> {
        let Some(digits) = text.strip_prefix("0x") else {
            return text.parse().map_err(|_| self.error(&format!("`{text}` is no number")));
        };
        let bits = u32::from_str_radix(digits, 16).map_err(|_| self.error(&format!("`{text}` is no number")))?;
        Ok(match dtype {
            DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
            DType::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
            _ => f64::from(f32::from_bits(bits)),
        })
    }

    fn arith(&mut self, name: String, op: &str) -> Read<Kind> {
        let op = *ARITHMETIC
            .iter()
            .find(|known| **known == op)
            .ok_or_else(|| self.error(&format!("`arith.{op}` is no operation")))?;
        let mut predicate = None;
        if matches!(op, "cmpi" | "cmpf") {
            let word = self.word("a predicate")?;
            let known = PREDICATES.iter().find(|p| **p == word);
            predicate = Some(*known.ok_or_else(|| self.error(&format!("`{word}` is no predicate")))?);
            self.symbol(',')?;
        }
        let mut operands = vec![self.use_value()?];
        while self.skip_symbol(',') {
            operands.push(self.use_value()?);
        }
        self.typed(&operands[operands.len() - 1..])?;
        let ty = if is_cast(op) {
            self.expect(&["to"])?;
            self.ty()?
        } else if predicate.is_some() {
            Ty::Scalar(DType::Bool)
        } else {
            self.function.ty(operands[operands.len() - 1]).clone()
        };
        let result = self.define(name, ty)?;
        Ok(Kind::Arith { result, op, predicate, operands })
    }

    fn tensor_view(&mut self, name: String) -> Read<Kind> {
        let pointer = self.use_value()?;
        self.symbol(',')?;
        self.expect(&["shape"])?;
        self.symbol('=')?;
        let shape = self.values('[', ']')?;
        self.symbol(',')?;
        self.expect(&["strides"])?;
        self.symbol('=')?;
        let strides = self.values('[', ']')?;
        self.symbol('{')?;
        self.expect(&["layout"])?;
        self.symbol('=')?;
        self.expect(&["#pto.layout"])?;
        self.symbol('<')?;
        let layout = match self.word("a layout")?.as_str() {
            "nd" => GlobalLayout::Nd,
            "dn" => GlobalLayout::Dn,
            other => return Err(self.error(&format!("`{other}` is no layout"))),
        };
        self.symbol('>')?;
        self.symbol('}')?;
        self.symbol(':')?;
        let ty = self.ty()?;
        let result = self.define(name, ty)?;
        Ok(Kind::TensorView { result, pointer, shape, strides, layout })
    }

    fn partition(&mut self, name: String) -> Read<Kind> {
        let view = self.use_value()?;
        self.symbol(',')?;
        self.expect(&["offsets"])?;
        self.symbol('=')?;
        let offsets = self.values('[', ']')?;
        self.symbol(',')?;
        self.expect(&["sizes"])?;
        self.symbol('=')?;
        let sizes = self.values('[', ']')?;
        self.typed(&[view])?;
        self.arrow()?;
        let ty = self.ty()?;
        let result = self.define(name, ty)?;
        Ok(Kind::Partition { result, view, offsets, sizes })
    }

    fn arrow(&mut self) -> Read<()> {
        match self.next() {
            TokenKind::Arrow => Ok(()),
            other => Err(self.error(&format!("`{other}` where `->` stands"))),
        }
    }

    fn alloc(&mut self, name: String) -> Read<Kind> {
        let named = |reader: &mut Reader, wanted: &str| -> Read<Option<Value>> {
            if !reader.is_word(wanted) {
                return Ok(None);
            }
            reader.next();
            reader.symbol('=')?;
            reader.use_value().map(Some)
        };
        let address = named(self, "addr")?;
        let valid = [named(self, "valid_row")?, named(self, "valid_col")?];
        self.symbol(':')?;
        let ty = self.ty()?;
        let [Some(row), Some(column)] = valid else {
            return Err(self.error("a tile type with `?` needs `valid_row` and `valid_col`"));
        };
        let result = self.define(name, ty)?;
        Ok(Kind::Alloc { result, address, valid: [row, column] })
    }

    fn alias(&mut self, name: String, alias: Alias) -> Read<Kind> {
        let source = self.use_value()?;
        self.typed(&[source])?;
        self.arrow()?;
        let ty = self.ty()?;
        let result = self.define(name, ty)?;
        Ok(Kind::Alias { result, source, alias })
    }

    fn pair(&mut self) -> Read<[Value; 2]> {
        let values = self.values('[', ']')?;
        <[Value; 2]>::try_from(values).map_err(|_| self.error("two values stand here"))
    }

    fn subview(&mut self, name: String) -> Read<Kind> {
        let source = self.use_value()?;
        let offset = self.pair()?;
        self.expect(&["sizes"])?;
        self.symbol('[')?;
        let rows = self.integer()?;
        self.symbol(',')?;
        let cols = self.integer()?;
        self.symbol(']')?;
        let valid = if self.is_word("valid") {
            self.next();
            Some(self.pair()?)
        } else {
            None
        };
        self.typed(&[source])?;
        self.arrow()?;
        let ty = self.ty()?;
        if !matches!(&ty, Ty::Tile(TileTy { rows: r, cols: c, .. }) if (*r, *c) == (rows, cols)) {
            return Err(self.error("the sizes of a window are not those of its type"));
        }
        let result = self.define(name, ty)?;
        Ok(Kind::Alias { result, source, alias: Alias::Subview { offset, valid } })
    }

    fn get_element(&mut self, name: String) -> Read<Kind> {
        self.expect(&["ins"])?;
        self.symbol('(')?;
        let tile = self.use_value()?;
        self.symbol(',')?;
        let position = self.use_value()?;
        self.typed(&[tile, position])?;
        self.symbol(')')?;
        self.expect(&["outs"])?;
        self.symbol(':')?;
        let ty = self.ty()?;
        let result = self.define(name, ty)?;
        Ok(Kind::GetElement { result, tile, position })
    }

    fn element_address(&mut self) -> Read<(Value, Value)> {
        let pointer = self.use_value()?;
        let offset = self.values('[', ']')?;
        let [offset] = offset[..] else { return Err(self.error("a scalar is at one offset")) };
        Ok((pointer, offset))
    }

    fn load_scalar(&mut self, name: String) -> Read<Kind> {
        let (pointer, offset) = self.element_address()?;
        self.typed(&[pointer])?;
        self.arrow()?;
        let ty = self.ty()?;
        let result = self.define(name, ty)?;
        Ok(Kind::LoadScalar { result, pointer, offset })
    }

    fn store_scalar(&mut self) -> Read<Kind> {
        let value = self.use_value()?;
        self.symbol(',')?;
        let (pointer, offset) = self.element_address()?;
        self.typed(&[pointer, value])?;
        Ok(Kind::StoreScalar { value, pointer, offset })
    }

    fn report(&mut self) -> Read<Kind> {
        let TokenKind::Number(text) = self.next() else { return Err(self.error("a report has a number")) };
        let site = text.parse().map_err(|_| self.error(&format!("`{text}` is no number of a report")))?;
        self.expect(&["ins"])?;
        self.symbol('(')?;
        let mut values = Vec::new();
        while !self.is_symbol(':') {
            if !values.is_empty() {
                self.symbol(',')?;
            }
            values.push(self.use_value()?);
        }
        if values.is_empty() {
            self.symbol(':')?;
        } else {
            self.typed(&values)?;
        }
        self.symbol(')')?;
        Ok(Kind::Report { site, values })
    }

    fn tile_op(&mut self, word: &str) -> Read<Kind> {
        let op = word.strip_prefix("pto.").and_then(TileOp::named);
        let op = op.ok_or_else(|| self.error(&format!("`{word}` is no operation")))?;
        self.expect(&["ins"])?;
        self.symbol('(')?;
        let mut ins = vec![self.use_value()?];
        while self.skip_symbol(',') {
            ins.push(self.use_value()?);
        }
        let attr = if self.is_symbol('{') { self.attribute()? } else { TileAttr::None };
        self.typed(&ins)?;
        self.symbol(')')?;
        self.expect(&["outs"])?;
        self.symbol('(')?;
        let out = self.use_value()?;
        self.typed(&[out])?;
        self.symbol(')')?;
        Ok(Kind::Tile { op, ins, attr, out })
    }

    /// `{cmpMode = #pto<cmp lt>}` or `{rmode = #pto<round_mode RINT>}`.
    fn attribute(&mut self) -> Read<TileAttr> {
        self.symbol('{')?;
        let key = self.word("an attribute")?;
        self.symbol('=')?;
        self.expect(&["#pto"])?;
        self.symbol('<')?;
        let (family, mode) = (self.word("an attribute")?, self.word("an attribute's value")?);
        self.symbol('>')?;
        self.symbol('}')?;
        let known = |table: &[&'static str]| table.iter().copied().find(|m| *m == mode);
        let attr = match (key.as_str(), family.as_str()) {
            ("cmpMode", "cmp") => known(&COMPARISONS).map(TileAttr::Compare),
            ("rmode", "round_mode") => known(&ROUNDINGS).map(TileAttr::Round),
            _ => None,
        };
        attr.ok_or_else(|| self.error(&format!("`{key} = #pto<{family} {mode}>` is no attribute")))
    }

    fn for_loop(&mut self, names: Vec<String>) -> Read<Kind> {
        let outer = self.scope.clone();
        let index = self.name()?;
        self.symbol('=')?;
        let lower = self.use_value()?;
        self.expect(&["to"])?;
        let upper = self.use_value()?;
        self.expect(&["step"])?;
        let step = self.use_value()?;
        let mut arguments = Vec::new();
        let mut types = Vec::new();
        if self.is_word("iter_args") {
            self.next();
            self.symbol('(')?;
            while !self.is_symbol(')') {
                if !arguments.is_empty() {
                    self.symbol(',')?;
                }
                let name = self.name()?;
                self.symbol('=')?;
                arguments.push((name, self.use_value()?));
            }
            self.symbol(')')?;
            types = self.result_types()?;
        }
        if types.len() != arguments.len() || names.len() != arguments.len() {
            return Err(self.error("a loop gives a value for each that it carries"));
        }
        let index = self.define(index, Ty::Index)?;
        let mut carried = Vec::new();
        for ((name, initial), ty) in arguments.into_iter().zip(&types) {
            carried.push((self.define(name, ty.clone())?, initial));
        }
        let Region { body, yields } = self.region()?;
        self.scope = outer;
        let mut all = Vec::new();
        for ((argument, initial), (name, ty)) in carried.into_iter().zip(names.into_iter().zip(types)) {
            all.push(Carried { result: self.define(name, ty)?, argument, initial });
        }
        Ok(Kind::For { index, lower, upper, step, carried: all, body, yields })
    }

    /// `-> (T, T)`.
    fn result_types(&mut self) -> Read<Vec<Ty>> {
        self.arrow()?;
        self.symbol('(')?;
        let mut types = vec![self.ty()?];
        while self.skip_symbol(',') {
            types.push(self.ty()?);
        }
        self.symbol(')')?;
        Ok(types)
    }

    fn branch(&mut self, names: Vec<String>) -> Read<Kind> {
        let condition = self.use_value()?;
        let types = if *self.peek() == TokenKind::Arrow { self.result_types()? } else { Vec::new() };
        if types.len() != names.len() {
            return Err(self.error("a branch gives a value for each type"));
        }
        let then = self.region()?;
        let mut otherwise = Region::default();
        if self.is_word("else") {
            self.next();
            otherwise = self.region()?;
        }
        let mut results = Vec::new();
        for (name, ty) in names.into_iter().zip(types) {
            results.push(self.define(name, ty)?);
        }
        Ok(Kind::If { condition, results, then, otherwise })
    }
}
