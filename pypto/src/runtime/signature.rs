//! The quick check of a call's arguments: yes or no, without allocating. Where it says no, [`check`](super::check_arguments)
//! finds out why.

use crate::artifact::{ParamExtent, ParamInfo, ParamKind};
use crate::ir::{DType, Direction};
use crate::language::argument::{Argument, MAX_RANK, TensorArgument};

/// Run-time extents of one program that are checked without allocating; programs with more take the slow way.
const NAMES: usize = 32;

/// What the arguments of a call in place must be.
pub struct Signature {
    params: Vec<Expected>,
    /// Distinct names of run-time extents.
    names: usize,
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
        let pairs = self.params.iter().zip(arguments);
        pairs.clone().all(|(expected, argument)| expected.accepts(argument, &mut known)) && self.apart(arguments)
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
    fn accepts(&self, argument: &Argument<'_>, known: &mut [Option<i64>; NAMES]) -> bool {
        let mut same = |name: usize, value: i64| *known[name].get_or_insert(value) == value;
        match (self, argument) {
            (Expected::Scalar { dtype, fixed, name }, Argument::Scalar(scalar)) => {
                scalar.dtype == *dtype
                    && fixed.is_none_or(|bits| bits == scalar.bits)
                    && name.is_none_or(|name| same(name, scalar.bits as i64))
            }
            (Expected::Tensor { dtype, rank, extents, written }, Argument::Tensor(tensor)) => {
                let fits = |(extent, value): (&Extent, &i64)| match extent {
                    Extent::Fixed(n) => n == value,
                    Extent::Named(name) => same(*name, *value),
                };
                tensor.dtype == *dtype
                    && tensor.rank == *rank
                    && (tensor.mutable || !written)
                    && usable(tensor)
                    && extents.iter().zip(&tensor.dims).take(*rank).all(fits)
            }
            _ => false,
        }
    }
}

/// Elements that are there, row-major without gaps. Memory of such extents exists, so their product is possible.
fn usable(tensor: &TensorArgument<'_>) -> bool {
    !tensor.data.is_null() && tensor.is_contiguous() && tensor.dims().iter().all(|extent| *extent > 0)
}
