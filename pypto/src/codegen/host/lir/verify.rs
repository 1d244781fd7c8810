//! Checks a module: every value defined once and before use in an enclosing scope, operand and result types as the operations demand.

use super::module::{Block, Function, Inst, Module, Value};
use super::op::{Bin, Cvt, Op, Reduce, Un};
use super::types::{Elem, Type};
use crate::ir::report::MAX_SHOWN;
use std::collections::HashMap;

/// A broken rule, with the function and the instruction that breaks it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("LIR function `{function}`: {message}")]
pub struct VerifyError {
    /// The function's name.
    pub function: String,
    /// The rule and the instruction.
    pub message: String,
}

type Signature<'a> = (Vec<Type>, &'a [Type]);

/// Checks every function of the module.
pub fn verify(module: &Module) -> Result<(), VerifyError> {
    let mut helpers: HashMap<&str, Signature<'_>> = HashMap::new();
    for function in &module.functions {
        let mut checker = Checker {
            function,
            helpers: &helpers,
            visible: vec![false; function.values.len()],
            lanes: module.target.lanes,
        };
        checker.function().map_err(|message| VerifyError { function: function.name.clone(), message })?;
        let params = function.body.params.iter().map(|&p| function.ty(p)).collect();
        if helpers.insert(&function.name, (params, &function.results)).is_some() {
            let message = "defined twice".to_string();
            return Err(VerifyError { function: function.name.clone(), message });
        }
    }
    Ok(())
}

struct Checker<'a> {
    function: &'a Function,
    helpers: &'a HashMap<&'a str, Signature<'a>>,
    visible: Vec<bool>,
    lanes: usize,
}

type Check = Result<(), String>;

fn require(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

impl Checker<'_> {
    fn function(&mut self) -> Check {
        for (i, data) in self.function.values.iter().enumerate() {
            self.visible[i] = data.constant.is_some();
        }
        if self.function.is_kernel {
            let params = self.types(&self.function.body.params);
            let entry = [Type::Ptr, Type::INDEX, Type::INDEX, Type::Ptr, Type::Ptr];
            require(params == entry && self.function.results.is_empty(), || "a kernel has the entry signature".into())?;
        }
        self.block(&self.function.body, &self.function.results)
    }

    /// Checks a block that must yield those types; its definitions are forgotten afterwards.
    fn block(&mut self, block: &Block, yields: &[Type]) -> Check {
        let mark = self.visible.clone();
        self.open_block(block, yields)?;
        self.visible = mark;
        Ok(())
    }

    fn open_block(&mut self, block: &Block, yields: &[Type]) -> Check {
        self.define(&block.params)?;
        for inst in &block.insts {
            self.inst(inst).map_err(|message| format!("{message}, at `{}`", inst.op.mnemonic()))?;
        }
        self.used(&block.yields)?;
        require(self.types(&block.yields) == yields, || "a block yields the wrong types".into())
    }

    fn define(&mut self, values: &[Value]) -> Check {
        for &value in values {
            require((value.0 as usize) < self.visible.len(), || format!("value {} does not exist", value.0))?;
            require(!self.visible[value.0 as usize], || format!("value {} is defined twice", value.0))?;
            self.visible[value.0 as usize] = true;
        }
        Ok(())
    }

    fn used(&self, values: &[Value]) -> Check {
        values.iter().try_for_each(|v| {
            let visible = self.visible.get(v.0 as usize).copied().unwrap_or(false);
            require(visible, || format!("value {} is used where its definition does not reach", v.0))
        })
    }

    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.function.ty(v)).collect()
    }

    fn inst(&mut self, inst: &Inst) -> Check {
        self.used(&inst.args)?;
        let (args, results) = (self.types(&inst.args), self.types(&inst.results));
        match &inst.op {
            Op::For => self.for_loop(inst, &args, &results)?,
            Op::If => self.if_else(inst, &args, &results)?,
            Op::While => self.while_loop(inst, &args, &results)?,
            op => {
                require(inst.blocks.is_empty(), || "it has nested blocks".into())?;
                self.simple(op, &args, &results)?;
            }
        }
        self.define(&inst.results)
    }

    fn for_loop(&mut self, inst: &Inst, args: &[Type], results: &[Type]) -> Check {
        require(args.len() >= 3 && args[..3] == [Type::INDEX; 3], || "bounds and step are indices".into())?;
        require(inst.blocks.len() == 1, || "a loop has one block".into())?;
        let params = self.types(&inst.blocks[0].params);
        let expected = [&[Type::INDEX], &args[3..]].concat();
        require(results == &args[3..] && params == expected, || "carried values change type".into())?;
        self.block(&inst.blocks[0], results)
    }

    fn if_else(&mut self, inst: &Inst, args: &[Type], results: &[Type]) -> Check {
        require(args == [Type::BOOL], || "the condition is a truth value".into())?;
        require(inst.blocks.len() == 2, || "it has two blocks".into())?;
        inst.blocks.iter().try_for_each(|block| self.block(block, results))
    }

    fn while_loop(&mut self, inst: &Inst, args: &[Type], results: &[Type]) -> Check {
        require(inst.blocks.len() == 2, || "it has two blocks".into())?;
        require(args == results && self.types(&inst.blocks[0].params) == args, || "carried values change type".into())?;
        let mark = self.visible.clone();
        self.open_block(&inst.blocks[0], &[Type::BOOL])?;
        self.open_block(&inst.blocks[1], results)?;
        self.visible = mark;
        Ok(())
    }

    fn simple(&self, op: &Op, args: &[Type], results: &[Type]) -> Check {
        let rule = match op {
            Op::Load(_) | Op::Store(_) | Op::Addr(_) | Op::Prefetch(_) | Op::Fail(_) | Op::Report(_) | Op::TailMask => {
                memory(op, args, results)
            }
            Op::Call(name) => match self.helpers.get(name.as_str()) {
                Some((params, returned)) => params == args && *returned == results,
                None => return Err(format!("`{name}` is not defined before its use")),
            },
            Op::Transpose => {
                let word = |t: &Type| matches!(t, Type::Vector(e) if e.bits() == 32);
                args.len() == self.lanes && args == results && args.iter().all(word)
            }
            Op::Extract(lane) => {
                require((*lane as usize) < self.lanes, || format!("there is no lane {lane}"))?;
                lanes(op, args, results)
            }
            Op::Swap(distance) => {
                require((*distance as usize) < self.lanes, || format!("there is no lane {distance}"))?;
                lanes(op, args, results)
            }
            Op::Splat | Op::Iota | Op::Reduce(_) | Op::Any | Op::MaskBits => lanes(op, args, results),
            _ => arithmetic(op, args, results),
        };
        require(rule, || format!("operand types {} and result types {} do not fit", names(args), names(results)))
    }
}

fn names(types: &[Type]) -> String {
    format!("({})", types.iter().map(Type::to_string).collect::<Vec<_>>().join(", "))
}

fn memory(op: &Op, args: &[Type], results: &[Type]) -> bool {
    let is_access = |value: Type, access: super::op::Access, rest: &[Type]| {
        let expected = 2 + access.strided as usize + access.masked as usize;
        rest.len() == expected
            && rest[0] == Type::Ptr
            && rest[1] == Type::INDEX
            && (!access.strided || rest[2] == Type::INDEX)
            && (!access.masked || rest[expected - 1] == Type::MASK)
            && (!access.loose || (value.is_vector() && !access.strided))
            && (value.is_vector() || access == Default::default())
            && value.elem() != Some(Elem::I1)
    };
    match (op, args, results) {
        (Op::Load(access), args, [value]) => is_access(*value, *access, args),
        (Op::Store(access), [value, rest @ ..], []) => is_access(*value, *access, rest),
        (Op::Addr(_), [Type::Ptr, Type::INDEX], [Type::Ptr]) => true,
        (Op::Prefetch(_), [Type::Ptr, Type::INDEX], []) => true,
        (Op::Fail(_), [Type::BOOL, Type::Ptr, values @ ..], []) => {
            values.len() <= MAX_SHOWN && values.iter().all(|v| matches!(v, Type::Scalar(e) if *e != Elem::I1))
        }
        (Op::Report(_), [Type::Ptr, Type::Ptr], []) => true,
        (Op::TailMask, [Type::INDEX], [Type::MASK]) => true,
        _ => false,
    }
}

fn lanes(op: &Op, args: &[Type], results: &[Type]) -> bool {
    match (op, args, results) {
        (Op::Splat, [Type::Scalar(a)], [Type::Vector(r)]) => a == r,
        (Op::Iota, [], [Type::Vector(r)]) => !r.is_float() && *r != Elem::I1,
        (Op::Extract(_), [Type::Vector(a)], [Type::Scalar(r)]) => a == r,
        (Op::Reduce(reduce), [Type::Vector(a)], [Type::Scalar(r)]) => {
            let unsigned = matches!(reduce, Reduce::Umax | Reduce::Umin);
            a == r && !a.is_storage_only() && *a != Elem::I1 && !(unsigned && a.is_float())
        }
        (Op::Any, [Type::Vector(Elem::I1)], [Type::Scalar(Elem::I1)]) => true,
        (Op::MaskBits, [Type::Vector(Elem::I1)], [Type::INDEX]) => true,
        (Op::Swap(_), [Type::Vector(a)], [Type::Vector(r)]) => a == r && *a != Elem::I1,
        _ => false,
    }
}

fn arithmetic(op: &Op, args: &[Type], results: &[Type]) -> bool {
    let [result] = results else { return false };
    let elem = result.elem();
    let computes = |e: Option<Elem>| e.is_some_and(|e| !e.is_storage_only());
    match (op, args) {
        (Op::Bin(bin), [a, b]) => {
            let float = elem == Some(Elem::F32);
            let fits = match bin {
                Bin::Add | Bin::Sub | Bin::Mul | Bin::Min | Bin::Max => elem != Some(Elem::I1),
                Bin::Div => float,
                Bin::PairMin | Bin::PairMax => elem == Some(Elem::I64),
                Bin::Scale => float && result.is_vector(),
                Bin::And | Bin::Or | Bin::Xor => !float,
                _ => !float && elem != Some(Elem::I1),
            };
            a == b && a == result && fits && computes(elem)
        }
        (Op::Un(un), [a]) => {
            let float = elem == Some(Elem::F32);
            let fits = match un {
                Un::Neg | Un::Abs => elem != Some(Elem::I1),
                Un::Not => !float,
                Un::TrailingZeros => !float && elem != Some(Elem::I1),
                Un::Sqrt | Un::Rint | Un::Floor | Un::Ceil | Un::Trunc => float,
            };
            a == result && fits && computes(elem)
        }
        (Op::Fma, [a, b, c]) => a == b && b == c && a == result && elem == Some(Elem::F32),
        (Op::Extreme(bin), args) => {
            let all = args.iter().all(|arg| *arg == Type::VF32) && !args.is_empty();
            all && *result == Type::VF32 && matches!(bin, Bin::Min | Bin::Max)
        }
        (Op::PairDot, [a, b, c]) => {
            let words = Type::Vector(Elem::I32);
            *a == words && *b == words && c == result && (*c == words || *c == Type::VF32)
        }
        (Op::QuadDot, args) => {
            args.iter().all(|arg| *arg == Type::Vector(Elem::I32) && arg == result) && args.len() == 3
        }
        (Op::Cmp(_), [a, b]) => a == b && computes(a.elem()) && *result == a.with_elem(Elem::I1),
        (Op::Ucmp(_), [a, b]) => a == b && a.elem().is_some_and(|e| !e.is_float()) && *result == a.with_elem(Elem::I1),
        (Op::Select, [c, a, b]) => a == b && a == result && (*c == Type::BOOL || (*c == Type::MASK && a.is_vector())),
        (Op::Bitcast, [a]) => {
            a.is_vector() == result.is_vector() && a.elem().map(Elem::bits) == elem.map(Elem::bits) && elem.is_some()
        }
        (Op::Cvt(cvt), [a]) => match (a.elem(), elem) {
            (Some(from), Some(to)) => a.is_vector() == result.is_vector() && converts(*cvt, from, to),
            _ => false,
        },
        _ => false,
    }
}

fn converts(cvt: Cvt, from: Elem, to: Elem) -> bool {
    let ints = !from.is_float() && !to.is_float() && to != Elem::I1;
    match cvt {
        Cvt::Narrow => ints && from.bits() > to.bits(),
        Cvt::Sext | Cvt::Zext => ints && from.bits() < to.bits(),
        Cvt::FromSigned | Cvt::FromUnsigned => !from.is_float() && from != Elem::I1 && to == Elem::F32,
        Cvt::ToSigned | Cvt::ToUnsigned => from == Elem::F32 && !to.is_float() && to != Elem::I1,
        Cvt::Widen => from.is_storage_only() && to == Elem::F32,
        Cvt::Round => from == Elem::F32 && to.is_storage_only(),
    }
}
