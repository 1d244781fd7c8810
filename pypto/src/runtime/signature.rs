//! What the arguments of a call must be, in a form that is compared without allocating. [`Signature::fits`] says yes or no;
//! where it says no, [`check`](super::check_arguments) asks [`Signature::mismatch`] for the reason and tells it.

use crate::artifact::{ParamExtent, ParamInfo, ParamKind};
use crate::ir::{DType, Direction};
use crate::language::argument::{Argument, MAX_RANK, byte_size};

/// Run-time extents of one program that are checked without allocating; programs with more take the slow way.
const NAMES: usize = 32;

/// What the arguments of a call in place must be.
pub struct Signature {
    params: Vec<Expected>,
    /// Distinct names of run-time extents.
    names: usize,
}

/// Why an argument does not fit its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// A tensor for a scalar, or a scalar for a tensor.
    Kind,
    ElementType,
    /// Another value than the one that the program was compiled for.
    Value,
    Rank,
    /// Extents that no memory holds.
    Size,
    /// Other extents than the program was compiled for.
    Extents,
    /// No elements.
    Meta,
    /// Elements that are not row-major without gaps.
    Gaps,
    /// A shared reference to what is written.
    Shared,
}

/// What one argument must be.
enum Expected {
    Tensor {
        dtype: DType,
        rank: usize,
        extents: [Extent; MAX_RANK],
        written: bool,
    },
    /// With the bits that the program was compiled for, and the run-time extent that it is.
    Scalar {
        dtype: DType,
        fixed: Option<u64>,
        name: Option<usize>,
    },
}

#[derive(Clone, Copy)]
enum Extent {
    Fixed(i64),
    Named(usize),
}

impl Signature {
    /// That of these parameters.
    pub fn of(params: &[ParamInfo]) -> Signature {
        let mut names: Vec<&str> = Vec::new();
        for extent in params.iter().filter_map(ParamInfo::extents).flatten() {
            if let ParamExtent::Dynamic(name) = extent
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        let params = params.iter().map(|param| expected(param, &names)).collect();
        Signature { params, names: names.len() }
    }

    /// Whether a call in place may run. A no may also mean that the slow check has to decide.
    pub fn fits(&self, arguments: &[Argument<'_>]) -> bool {
        if arguments.len() != self.params.len() || self.names > NAMES {
            return false;
        }
        let mut known = [None; NAMES];
        let mut pairs = self.params.iter().zip(arguments);
        pairs.all(|(expected, argument)| {
            expected.mismatch(argument).is_none() && expected.names_agree(argument, &mut known)
        }) && self.apart(arguments)
    }

    /// Why an argument cannot be that of the parameter with this number, whatever the others are.
    pub fn mismatch(&self, param: usize, argument: &Argument<'_>) -> Option<Mismatch> {
        self.params.get(param)?.mismatch(argument)
    }

    /// Whether nothing that is written shares memory with another argument.
    fn apart(&self, arguments: &[Argument<'_>]) -> bool {
        let written = |index: usize| matches!(self.params[index], Expected::Tensor { written: true, .. });
        let tensor = |index: usize| match &arguments[index] {
            Argument::Tensor(tensor) => Some(tensor),
            Argument::Scalar(_) => None,
        };
        let clash = |a: usize, b: usize| {
            (written(a) || written(b)) && tensor(a).zip(tensor(b)).is_some_and(|(a, b)| a.overlaps(b))
        };
        (0..arguments.len()).all(|a| (0..a).all(|b| !clash(a, b)))
    }
}

fn expected(param: &ParamInfo, names: &[&str]) -> Expected {
    let number = |name: &str| names.iter().position(|known| *known == name);
    match &param.kind {
        ParamKind::Scalar { dtype, fixed } => {
            let name = number(&param.name).filter(|_| *dtype == DType::I64);
            Expected::Scalar { dtype: *dtype, fixed: *fixed, name }
        }
        ParamKind::Tensor { dtype, extents } => {
            let mut all = [Extent::Fixed(1); MAX_RANK];
            for (to, from) in all.iter_mut().zip(extents) {
                *to = match from {
                    ParamExtent::Fixed(n) => Extent::Fixed(*n),
                    ParamExtent::Dynamic(name) => number(name).map_or(Extent::Fixed(-1), Extent::Named),
                };
            }
            let written = param.direction != Direction::In;
            Expected::Tensor { dtype: *dtype, rank: extents.len(), extents: all, written }
        }
    }
}

impl Expected {
    #[inline]
    fn mismatch(&self, argument: &Argument<'_>) -> Option<Mismatch> {
        match (self, argument) {
            (Expected::Scalar { dtype, .. }, Argument::Scalar(scalar)) if scalar.dtype != *dtype => {
                Some(Mismatch::ElementType)
            }
            (Expected::Scalar { fixed, .. }, Argument::Scalar(scalar)) => {
                fixed.filter(|bits| *bits != scalar.bits).map(|_| Mismatch::Value)
            }
            (Expected::Tensor { dtype, rank, extents, written }, Argument::Tensor(tensor)) => {
                let differs = |(extent, value): (&Extent, &i64)| matches!(extent, Extent::Fixed(n) if n != value);
                if tensor.dtype != *dtype {
                    Some(Mismatch::ElementType)
                } else if tensor.rank != *rank {
                    Some(Mismatch::Rank)
                } else if byte_size(tensor.dims(), *dtype).is_none() {
                    Some(Mismatch::Size)
                } else if extents.iter().zip(tensor.dims()).any(differs) {
                    Some(Mismatch::Extents)
                } else if tensor.data.is_null() {
                    Some(Mismatch::Meta)
                } else if !tensor.is_contiguous() {
                    Some(Mismatch::Gaps)
                } else if *written && !tensor.mutable {
                    Some(Mismatch::Shared)
                } else {
                    None
                }
            }
            _ => Some(Mismatch::Kind),
        }
    }

    /// Whether run-time extents have the values that earlier arguments gave them; notes those that none did.
    #[inline]
    fn names_agree(&self, argument: &Argument<'_>, known: &mut [Option<i64>; NAMES]) -> bool {
        let mut same = |name: usize, value: i64| *known[name].get_or_insert(value) == value;
        match (self, argument) {
            (Expected::Scalar { name: Some(name), .. }, Argument::Scalar(scalar)) => same(*name, scalar.bits as i64),
            (Expected::Tensor { extents, .. }, Argument::Tensor(tensor)) => {
                extents.iter().zip(tensor.dims()).all(|(extent, value)| match extent {
                    Extent::Fixed(_) => true,
                    Extent::Named(name) => same(*name, *value),
                })
            }
            _ => true,
        }
    }
}
