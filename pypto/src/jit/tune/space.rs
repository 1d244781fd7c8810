//! What a kernel is tuned over: values for some of its parameters, and every combination of them.

use crate::frontend::generic::{Function, Param, ValueType};
use crate::frontend::specialization::ArgumentSpec;
use crate::frontend::suggest;
use crate::ir::DType;
use crate::jit::meta::MetaValues;
use crate::runtime::tune_error::TuneError;

/// Values for some of a kernel's `meta(..)` parameters and `#[spec]` scalars: `space!{ TM: [16, 32], TN: [64, 128] }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space(Vec<(&'static str, Vec<i64>)>);

impl Space {
    /// Over nothing yet.
    pub const fn new() -> Space {
        Space(Vec::new())
    }

    /// With values for one more parameter; later values of the same name win. A value that comes twice counts once.
    pub fn set(mut self, name: &'static str, values: impl IntoIterator<Item = i64>) -> Space {
        let mut distinct = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = distinct,
            None => self.0.push((name, distinct)),
        }
        self
    }

    /// The names, in the order in which they were first given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|(name, _)| *name)
    }

    /// Every combination; the last name varies fastest.
    ///
    /// # Errors
    /// No names or no values, names that the kernel does not have, values that a scalar cannot have, more than `limit`
    /// combinations.
    pub(super) fn candidates(
        &self,
        function: &'static Function,
        types: &[DType],
        limit: usize,
    ) -> Result<Vec<MetaValues>, TuneError> {
        let kernel = || function.name.name.to_owned();
        if self.0.is_empty() {
            return Err(TuneError::Empty { kernel: kernel() });
        }
        for (name, values) in &self.0 {
            check(function, types, name, values)?;
        }
        let count = self.0.iter().map(|(_, values)| values.len() as u128).fold(1, u128::saturating_mul);
        if count > limit as u128 {
            return Err(TuneError::TooMany { kernel: kernel(), count, limit });
        }
        let mut all = vec![MetaValues::new()];
        for (name, values) in &self.0 {
            let extended = all.iter().flat_map(|one| values.iter().map(|value| one.clone().set(name, *value)));
            all = extended.collect();
        }
        Ok(all)
    }
}

fn check(function: &'static Function, types: &[DType], name: &'static str, values: &[i64]) -> Result<(), TuneError> {
    let (kernel, parameter) = (|| function.name.name.to_owned(), || name.to_owned());
    if values.is_empty() {
        return Err(TuneError::NoValues { kernel: kernel(), parameter: parameter() });
    }
    if function.metas.iter().any(|meta| meta.name.name == name) {
        return Ok(());
    }
    let Some((_, dtype)) = spec_scalar(function, types, name) else {
        return Err(TuneError::UnknownParameter {
            kernel: kernel(),
            parameter: parameter(),
            hint: hint(function, name),
        });
    };
    match values.iter().find(|value| bits(dtype, **value).is_none()) {
        Some(value) => Err(TuneError::Value { kernel: kernel(), parameter: parameter(), dtype, value: *value }),
        None => Ok(()),
    }
}

/// The index and element type of the `#[spec]` scalar of that name.
fn spec_scalar(function: &'static Function, types: &[DType], name: &str) -> Option<(usize, DType)> {
    let is_it = |param: &Param| param.spec && param.name.name == name;
    let index = function.params.iter().position(is_it)?;
    match function.params[index].ty {
        ValueType::Scalar(element) => Some((index, element.resolve(types))),
        _ => None,
    }
}

/// The bits of a number as a scalar of that type, zero-extended; `None` where it has no such number.
fn bits(dtype: DType, value: i64) -> Option<u64> {
    let fits = match dtype {
        DType::Bool => (0..=1).contains(&value),
        DType::I8 => i8::try_from(value).is_ok(),
        DType::I16 => i16::try_from(value).is_ok(),
        DType::I32 => i32::try_from(value).is_ok(),
        DType::I64 => true,
        DType::U8 => u8::try_from(value).is_ok(),
        DType::U16 => u16::try_from(value).is_ok(),
        DType::U32 => u32::try_from(value).is_ok(),
        DType::F16 | DType::BF16 | DType::F32 => false,
    };
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    fits.then_some(value as u64 & mask)
}

/// What the kernel has instead of `name`.
fn hint(function: &'static Function, name: &str) -> String {
    let metas = function.metas.iter().map(|meta| meta.name.name);
    let known: Vec<&str> = metas.chain(function.params.iter().filter(|p| p.spec).map(|p| p.name.name)).collect();
    match suggest::closest(name, known.iter().copied()) {
        Some(similar) => format!(": did you mean `{similar}`?"),
        None if known.is_empty() => format!(": declare it, as in `#[pypto::jit(meta({name} = 64))]`"),
        None => format!(": it has {}", suggest::list(&known)),
    }
}

/// The `meta(..)` parameters of a candidate, beside those that were fixed before.
pub(super) fn metas(function: &'static Function, base: Option<&MetaValues>, candidate: &MetaValues) -> MetaValues {
    let is_meta = |name: &str| function.metas.iter().any(|meta| meta.name.name == name);
    let own = candidate.iter().filter(|(name, _)| is_meta(name));
    own.fold(base.cloned().unwrap_or_default(), |all, (name, value)| all.set(name, value))
}

/// The `#[spec]` scalars of a candidate: indices of parameters, and bits.
pub(super) fn scalars(function: &'static Function, types: &[DType], candidate: &MetaValues) -> Vec<(usize, u64)> {
    let scalar = |(name, value): (&'static str, i64)| {
        let (index, dtype) = spec_scalar(function, types, name)?;
        Some((index, bits(dtype, value)?))
    };
    candidate.iter().filter_map(scalar).collect()
}

/// The layouts of a candidate's arguments.
pub(super) fn with_scalars(samples: &[ArgumentSpec], scalars: &[(usize, u64)]) -> Vec<ArgumentSpec> {
    let mut samples = samples.to_vec();
    for (index, new) in scalars {
        if let Some(ArgumentSpec::Scalar { bits, .. }) = samples.get_mut(*index) {
            *bits = *new;
        }
    }
    samples
}

/// Values to tune a kernel over: `space!{ TM: [16, 32, 64], TN: (4..=7).map(|n| 1 << n) }`.
#[macro_export]
macro_rules! space {
    ($($name:ident : $values:expr),* $(,)?) => {
        $crate::jit::Space::new()$(.set(stringify!($name), $values))*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bits_where_the_type_has_them() {
        assert_eq!(bits(DType::I8, -1), Some(0xff));
        assert_eq!(bits(DType::I8, 128), None);
        assert_eq!(bits(DType::U32, -1), None);
        assert_eq!(bits(DType::I64, -1), Some(u64::MAX));
        assert_eq!((bits(DType::Bool, 1), bits(DType::Bool, 2), bits(DType::F32, 1)), (Some(1), None, None));
    }
}
