//! Methods that are a few operations each, after their definitions in Rust's standard library. Integers wrap, as everywhere in
//! compiled code.

use super::super::method::MethodCall;
use super::super::{Flow, Walker};
use crate::diagnostics::codes;
use crate::ir::builder::ForLoop;
use crate::ir::{DType, Loc, LoopKind, Round, ValueId};
use crate::ops::OpKind;
use crate::ops::fold::Literal;
use crate::ops::rules::RuleError;

/// Bits of the exponent of `pow`, which is a `u32`.
const EXPONENT_BITS: i64 = 32;

/// As the standard library has it: not what `180.0 / PI` is in f32.
const DEGREES_IN_RADIAN: f32 = 57.295_78;

impl Walker<'_> {
    /// Methods of floats.
    pub(super) fn float_method(&mut self, x: ValueId, call: &MethodCall) -> Flow<Option<ValueId>> {
        let loc = call.loc;
        let value = match call.name {
            "is_nan" => self.step(call, OpKind::CmpNe, &[x, x])?,
            "is_finite" | "is_infinite" => {
                let kind = if call.name == "is_finite" { OpKind::CmpLt } else { OpKind::CmpEq };
                let (size, infinity) = (self.step(call, OpKind::Abs, &[x])?, self.number(f64::INFINITY, x, loc)?);
                self.step(call, kind, &[size, infinity])?
            }
            "fract" => {
                let whole = self.step(call, OpKind::Trunc, &[x])?;
                self.step(call, OpKind::Sub, &[x, whole])?
            }
            "signum" => self.float_sign(x, call)?,
            "to_degrees" => self.scaled(x, DEGREES_IN_RADIAN, call)?,
            "to_radians" => self.scaled(x, std::f32::consts::PI / 180.0, call)?,
            "rem_euclid" | "div_euclid" => {
                let y = self.second(call, x)?;
                self.float_euclid(x, y, call)?
            }
            "powi" => self.power_of_known(x, call)?,
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// Methods of integers.
    pub(super) fn integer_method(&mut self, x: ValueId, dtype: DType, call: &MethodCall) -> Flow<Option<ValueId>> {
        let value = match call.name {
            "signum" => self.integer_sign(x, call)?,
            "is_positive" | "is_negative" => {
                let kind = if call.name == "is_positive" { OpKind::CmpGt } else { OpKind::CmpLt };
                let zero = self.number(0.0, x, call.loc)?;
                self.step(call, kind, &[x, zero])?
            }
            "pow" => self.power(x, call)?,
            "wrapping_add" => self.wrapping(OpKind::Add, x, call)?,
            "wrapping_sub" => self.wrapping(OpKind::Sub, x, call)?,
            "wrapping_mul" => self.wrapping(OpKind::Mul, x, call)?,
            "abs_diff" if dtype.is_unsigned_integer() => {
                let y = self.second(call, x)?;
                let (more, less) = (self.step(call, OpKind::Max, &[x, y])?, self.step(call, OpKind::Min, &[x, y])?);
                self.step(call, OpKind::Sub, &[more, less])?
            }
            "div_ceil" | "next_multiple_of" if !dtype.is_unsigned_integer() => return Ok(None),
            "rem_euclid" | "div_euclid" | "div_ceil" | "next_multiple_of" => {
                let y = self.second(call, x)?;
                self.integer_quotient(x, y, dtype, call)?
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// The only argument, of the receiver's type.
    fn second(&mut self, call: &MethodCall, x: ValueId) -> Flow<ValueId> {
        let [other] = self.exactly(call.name, call.args.clone(), call.loc)?;
        let dtype = self.builder.ty(x).dtype();
        self.scalar_of(&other, dtype)
    }

    /// One operation of a formula.
    fn step(&mut self, call: &MethodCall, kind: OpKind, operands: &[ValueId]) -> Flow<ValueId> {
        let site = self.site(call.name, call.loc, &[]);
        let outcome = match *operands {
            [x] => self.builder.unary(kind, x, call.loc),
            [a, b] => self.builder.binary(kind, a, b, call.loc),
            [mask, a, b] => self.builder.select(mask, a, b, call.loc),
            _ => return Err(super::super::Reported),
        };
        self.check(outcome, &site)
    }

    /// A constant of the type that `like` has.
    fn number(&mut self, value: f64, like: ValueId, loc: Loc) -> Flow<ValueId> {
        let dtype = self.builder.ty(like).dtype().unwrap_or(DType::F32);
        let literal = if dtype.is_float() { Literal::Float(value) } else { Literal::Int(value as i64) };
        self.literal(literal, dtype, loc)
    }

    fn scaled(&mut self, x: ValueId, factor: f32, call: &MethodCall) -> Flow<ValueId> {
        let factor = self.number(f64::from(factor), x, call.loc)?;
        self.step(call, OpKind::Mul, &[x, factor])
    }

    /// NaN for NaN, else 1 with the sign of x: that of its reciprocal where x is zero.
    fn float_sign(&mut self, x: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (zero, one) = (self.number(0.0, x, call.loc)?, self.number(1.0, x, call.loc)?);
        let minus = self.number(-1.0, x, call.loc)?;
        let is_zero = self.step(call, OpKind::CmpEq, &[x, zero])?;
        let reciprocal = self.step(call, OpKind::Recip, &[x])?;
        let signed = self.step(call, OpKind::Select, &[is_zero, reciprocal, x])?;
        let negative = self.step(call, OpKind::CmpLt, &[signed, zero])?;
        let unit = self.step(call, OpKind::Select, &[negative, minus, one])?;
        let nan = self.step(call, OpKind::CmpNe, &[x, x])?;
        self.step(call, OpKind::Select, &[nan, x, unit])
    }

    fn integer_sign(&mut self, x: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (zero, one) = (self.number(0.0, x, call.loc)?, self.number(1.0, x, call.loc)?);
        let minus = self.number(-1.0, x, call.loc)?;
        let (more, less) = (self.step(call, OpKind::CmpGt, &[x, zero])?, self.step(call, OpKind::CmpLt, &[x, zero])?);
        let unit = self.step(call, OpKind::Select, &[less, minus, zero])?;
        self.step(call, OpKind::Select, &[more, one, unit])
    }

    fn float_euclid(&mut self, x: ValueId, y: ValueId, call: &MethodCall) -> Flow<ValueId> {
        if call.name == "rem_euclid" {
            return self.remainder_not_below_zero(x, y, call);
        }
        let zero = self.number(0.0, x, call.loc)?;
        let rest = self.step(call, OpKind::Rem, &[x, y])?;
        let below = self.step(call, OpKind::CmpLt, &[rest, zero])?;
        let quotient = self.step(call, OpKind::Div, &[x, y])?;
        let whole = self.step(call, OpKind::Trunc, &[quotient])?;
        let further = self.away_from(whole, y, call)?;
        self.step(call, OpKind::Select, &[below, further, whole])
    }

    /// `quotient - 1` where the divisor is positive, else `quotient + 1`.
    fn away_from(&mut self, quotient: ValueId, divisor: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (zero, one) = (self.number(0.0, quotient, call.loc)?, self.number(1.0, quotient, call.loc)?);
        let positive = self.step(call, OpKind::CmpGt, &[divisor, zero])?;
        let (less, more) =
            (self.step(call, OpKind::Sub, &[quotient, one])?, self.step(call, OpKind::Add, &[quotient, one])?);
        self.step(call, OpKind::Select, &[positive, less, more])
    }

    /// An operation that wraps by its definition, also on constants.
    fn wrapping(&mut self, kind: OpKind, x: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let y = self.second(call, x)?;
        let (Some(a), Some(b)) = (self.builder.constant(x), self.builder.constant(y)) else {
            return self.step(call, kind, &[x, y]);
        };
        let (a, b) = (i128::from(a), i128::from(b));
        let exact = match kind {
            OpKind::Add => a + b,
            OpKind::Sub => a - b,
            _ => a * b,
        };
        let dtype = self.builder.ty(x).dtype().unwrap_or(DType::I64);
        self.literal(Literal::Int(crate::ops::fold::wrap(exact, dtype)), dtype, call.loc)
    }

    /// Quotients and remainders that round otherwise than `/` and `%`.
    fn integer_quotient(&mut self, x: ValueId, y: ValueId, dtype: DType, call: &MethodCall) -> Flow<ValueId> {
        if let (Some(a), Some(b)) = (self.builder.constant(x), self.builder.constant(y))
            && b != 0
        {
            return self.known_quotient(i128::from(a), i128::from(b), dtype, call);
        }
        match call.name {
            "rem_euclid" if dtype.is_unsigned_integer() => self.step(call, OpKind::Rem, &[x, y]),
            "div_euclid" if dtype.is_unsigned_integer() => self.step(call, OpKind::Div, &[x, y]),
            "rem_euclid" => self.remainder_not_below_zero(x, y, call),
            "div_euclid" => {
                let whole = self.step(call, OpKind::Div, &[x, y])?;
                let (below, further) = (self.rest_below_zero(x, y, whole, call)?, self.away_from(whole, y, call)?);
                self.step(call, OpKind::Select, &[below, further, whole])
            }
            _ => self.rounded_up(x, y, call),
        }
    }

    /// `rem_euclid` of signed numbers and floats.
    fn remainder_not_below_zero(&mut self, x: ValueId, y: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (rest, zero) = (self.step(call, OpKind::Rem, &[x, y])?, self.number(0.0, x, call.loc)?);
        let below = self.step(call, OpKind::CmpLt, &[rest, zero])?;
        let size = self.step(call, OpKind::Abs, &[y])?;
        let raised = self.step(call, OpKind::Add, &[rest, size])?;
        self.step(call, OpKind::Select, &[below, raised, rest])
    }

    /// Whether `x - y * quotient` is negative.
    fn rest_below_zero(&mut self, x: ValueId, y: ValueId, quotient: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (product, zero) = (self.step(call, OpKind::Mul, &[quotient, y])?, self.number(0.0, x, call.loc)?);
        let rest = self.step(call, OpKind::Sub, &[x, product])?;
        self.step(call, OpKind::CmpLt, &[rest, zero])
    }

    /// `div_ceil` and `next_multiple_of` of unsigned numbers.
    fn rounded_up(&mut self, x: ValueId, y: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let (rest, zero) = (self.step(call, OpKind::Rem, &[x, y])?, self.number(0.0, x, call.loc)?);
        let exact = self.step(call, OpKind::CmpEq, &[rest, zero])?;
        let (whole, further) = if call.name == "div_ceil" {
            let (whole, one) = (self.step(call, OpKind::Div, &[x, y])?, self.number(1.0, x, call.loc)?);
            (whole, self.step(call, OpKind::Add, &[whole, one])?)
        } else {
            let missing = self.step(call, OpKind::Sub, &[y, rest])?;
            (x, self.step(call, OpKind::Add, &[x, missing])?)
        };
        self.step(call, OpKind::Select, &[exact, whole, further])
    }

    /// Of constants, whose divisor is not 0: a formula would overflow on the way where the result does not.
    fn known_quotient(&mut self, a: i128, b: i128, dtype: DType, call: &MethodCall) -> Flow<ValueId> {
        let exact = match call.name {
            "rem_euclid" => a.rem_euclid(b),
            "div_euclid" => a.div_euclid(b),
            "div_ceil" => -(-a).div_euclid(b),
            _ => a + (-a).rem_euclid(b),
        };
        let fits = i64::try_from(exact).ok().and_then(|n| Literal::Int(n).fit(dtype));
        // Rust's remainder of the smallest number by -1 overflows, as its quotient does.
        match fits.filter(|_| b != -1 || i64::try_from(-a).is_ok_and(|n| Literal::Int(n).fit(dtype).is_some())) {
            Some(literal) => self.literal(literal, dtype, call.loc),
            None => {
                let title = format!("`{}` of {a} and {b} does not fit `{dtype}`", call.name);
                Err(self.error(codes::CONSTANT_ARITHMETIC, call.loc, title, ""))
            }
        }
    }

    /// `x.powi(n)` of a known n up to 2. Beyond that rustc multiplies otherwise at compile time than a run does.
    fn power_of_known(&mut self, x: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let [exponent] = self.exactly(call.name, call.args.clone(), call.loc)?;
        let exponent = self.scalar_of(&exponent, Some(DType::I32))?;
        match self.builder.constant(exponent) {
            Some(0) => self.number(1.0, x, call.loc),
            Some(1) => Ok(x),
            Some(2) => self.step(call, OpKind::Mul, &[x, x]),
            _ => Err(self.inexact(super::inexact::POWI, call)),
        }
    }

    /// `x.pow(n)`, by squaring.
    fn power(&mut self, x: ValueId, call: &MethodCall) -> Flow<ValueId> {
        let [exponent] = self.exactly(call.name, call.args.clone(), call.loc)?;
        let exponent = self.scalar_of(&exponent, Some(DType::U32))?;
        let Some(known) = self.builder.constant(exponent) else {
            let power = self.power_at_run_time(x, exponent, call.loc);
            let site = self.site(call.name, call.loc, &[]);
            return self.check(power, &site);
        };
        let (mut rest, mut square, mut result) = (known, x, None);
        loop {
            if rest & 1 == 1 {
                result = Some(match result {
                    Some(result) => self.step(call, OpKind::Mul, &[result, square])?,
                    None => square,
                });
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            square = self.step(call, OpKind::Mul, &[square, square])?;
        }
        result.map_or_else(|| self.number(1.0, x, call.loc), Ok)
    }

    /// A loop over the bits of the exponent.
    fn power_at_run_time(&mut self, x: ValueId, exponent: ValueId, loc: Loc) -> Result<ValueId, RuleError> {
        let b = &mut self.builder;
        let dtype = b.ty(x).dtype().unwrap_or(DType::I64);
        let one = b.literal_of(Literal::Int(1), dtype, loc)?;
        let bits = [0, EXPONENT_BITS, 1].map(|n| b.index(n, loc));
        let head = ForLoop {
            kind: LoopKind::Sequential,
            lower: bits[0],
            upper: bits[1],
            step: bits[2],
            initial: vec![one, x],
            index_name: None,
            names: Vec::new(),
            loc,
        };
        let results = b.for_loop::<RuleError>(&head, |b, index, carried| {
            let (zero, last) =
                (b.literal_of(Literal::Int(0), DType::U32, loc)?, b.literal_of(Literal::Int(1), DType::U32, loc)?);
            let amount = b.cast(index, DType::U32, Round::None, loc)?;
            let shifted = b.binary(OpKind::Shr, exponent, amount, loc)?;
            let bit = b.binary(OpKind::And, shifted, last, loc)?;
            let set = b.binary(OpKind::CmpNe, bit, zero, loc)?;
            let product = b.binary(OpKind::Mul, carried[0], carried[1], loc)?;
            let result = b.select(set, product, carried[0], loc)?;
            Ok(vec![result, b.binary(OpKind::Mul, carried[1], carried[1], loc)?])
        })?;
        Ok(results[0])
    }
}
