//! Reads types. Keys of a tile's type stand in their fixed order.

use super::lexer::{ReadError, TokenKind};
use super::read::Reader;
use super::types::{Order, TileTy, Ty, element_named};
use crate::ir::DType;
use crate::target::Space;

type Read<T> = Result<T, ReadError>;

impl Reader {
    /// A type.
    pub(super) fn ty(&mut self) -> Read<Ty> {
        let word = self.word("a type")?;
        match word.as_str() {
            "index" => Ok(Ty::Index),
            "!pto.ptr" => {
                self.symbol('<')?;
                let dtype = self.element()?;
                self.symbol('>')?;
                Ok(Ty::Pointer(dtype))
            }
            "!pto.tensor_view" => {
                let (dims, dtype) = self.extents()?;
                if dims.iter().any(Option::is_some) {
                    return Err(self.error("extents of a tensor view are `?`"));
                }
                Ok(Ty::View { rank: dims.len(), dtype })
            }
            "!pto.partition_tensor_view" => {
                let (dims, dtype) = self.extents()?;
                Ok(Ty::Partition { dims, dtype })
            }
            "!pto.tile_buf" => self.tile().map(Ty::Tile),
            other => match element_named(other) {
                Some(dtype) => Ok(Ty::Scalar(dtype)),
                None => Err(self.error(&format!("`{other}` is no type"))),
            },
        }
    }

    fn element(&mut self) -> Read<DType> {
        let word = self.word("an element type")?;
        element_named(&word).ok_or_else(|| self.error(&format!("`{word}` is no element type")))
    }

    /// `<?x64xf32>`: the lexer gives `?`, `64` and words that begin with the separating `x`.
    fn extents(&mut self) -> Read<(Vec<Option<i64>>, DType)> {
        self.symbol('<')?;
        let mut dims = Vec::new();
        let mut rest = String::new();
        loop {
            if let Some(text) = rest.strip_prefix('x').map(str::to_owned) {
                if text.is_empty() {
                    rest = String::new();
                    continue;
                }
                let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                if digits > 0 && text[digits..].starts_with('x') {
                    dims.push(Some(self.integer_of(&text[..digits])?));
                    rest = text[digits..].to_owned();
                    continue;
                }
                let dtype = element_named(&text).ok_or_else(|| self.error(&format!("`{text}` is no element type")))?;
                self.symbol('>')?;
                return Ok((dims, dtype));
            }
            match self.next() {
                TokenKind::Symbol('?') => dims.push(None),
                TokenKind::Number(n) => dims.push(Some(self.integer_of(&n)?)),
                TokenKind::Word(word) if word.starts_with('x') => rest = word,
                other => return Err(self.error(&format!("`{other}` where an extent stands"))),
            }
        }
    }

    fn tile(&mut self) -> Read<TileTy> {
        self.symbol('<')?;
        let space = self.key("loc", false)?;
        let space = Space::named(&space).ok_or_else(|| self.error(&format!("`{space}` is no memory space")))?;
        let dtype = self.key("dtype", true)?;
        let dtype = element_named(&dtype).ok_or_else(|| self.error(&format!("`{dtype}` is no element type")))?;
        let (rows, cols) = (self.key("rows", true)?, self.key("cols", true)?);
        let (rows, cols) = (self.integer_of(&rows)?, self.integer_of(&cols)?);
        let valid = [self.key("v_row", true)?, self.key("v_col", true)?];
        let valid = [self.valid(&valid[0], rows)?, self.valid(&valid[1], cols)?];
        let outer = self.order("blayout")?;
        let inner = self.order("slayout")?;
        let fractal = self.key("fractal", true)?;
        let fractal = self.integer_of(&fractal)?;
        let pad = self.key("pad", true)?;
        if !matches!(pad.as_str(), "0" | "1" | "2" | "3") {
            return Err(self.error(&format!("`pad={pad}`: 0 to 3 are known")));
        }
        self.symbol('>')?;
        Ok(TileTy { space, dtype, rows, cols, valid, outer, inner, fractal })
    }

    fn valid(&self, text: &str, extent: i64) -> Read<Option<i64>> {
        if text == "?" {
            return Ok(None);
        }
        let n = self.integer_of(text)?;
        if !(0..=extent).contains(&n) {
            return Err(self.error(&format!("a valid extent of {n} in an extent of {extent}")));
        }
        Ok(Some(n))
    }

    fn order(&mut self, key: &str) -> Read<Order> {
        let name = self.key(key, true)?;
        let orders = [Order::None, Order::Row, Order::Column];
        let found = orders.into_iter().find(|order| order.name() == name);
        found.ok_or_else(|| self.error(&format!("`{key}={name}`: not an order")))
    }

    /// `, name=value`; the value as it stands.
    fn key(&mut self, name: &str, comma: bool) -> Read<String> {
        if comma {
            self.symbol(',')?;
        }
        let found = self.word("a key of a tile type")?;
        if found != name {
            return Err(self.error(&format!("`{found}` where `{name}` stands in a tile type")));
        }
        self.symbol('=')?;
        match self.next() {
            TokenKind::Word(word) => Ok(word),
            TokenKind::Number(n) => Ok(n),
            TokenKind::Symbol('?') => Ok("?".to_owned()),
            other => Err(self.error(&format!("`{other}` as the value of `{name}`"))),
        }
    }
}
