//! Specialization keys.
//!
//! A key holds everything that the compiled code depends on: the function with its callees, element types, ranks,
//! extents that are not `dyn`, `#[spec]` scalars, meta values, the target and the compiler's version. It does not hold
//! data, plain scalars, `dyn` extents or addresses.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::sample::SampleValue;
use crate::frontend::generic::{Dim, Function, Param};
use crate::ir::DType;

/// Identity of a specialization.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Hash of the function, its callees and constants.
    pub function: u64,
    /// Element types of the function's type parameters.
    pub types: Vec<DType>,
    pub parameters: Vec<ParameterKey>,
    /// Every meta parameter with its value.
    pub meta: Vec<(&'static str, i64)>,
    /// What runs the code: `host` or `interpreter`, and the CPU.
    pub target: String,
    /// The compiler's version.
    pub compiler: &'static str,
}

/// A parameter's part of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParameterKey {
    pub name: &'static str,
    pub dtype: DType,
    pub value: ParameterValue,
}

/// What of a parameter the code depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParameterValue {
    /// Extents; `None` for those that stay out of the key.
    Tensor(Vec<Option<i64>>),
    /// The bits of a `#[spec]` scalar; `None` for a plain scalar.
    Scalar(Option<u64>),
}

impl Key {
    /// A name for files: 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut sink = Sink(blake3::Hasher::new());
        self.hash(&mut sink);
        sink.0.finalize().to_hex()[..32].to_owned()
    }

    /// The components that differ, as `M of x: 512 -> 640`, for the event of a compile.
    pub fn changes_from(&self, old: &Key) -> Vec<String> {
        let mut changes = Vec::new();
        if self.function != old.function {
            changes.push("the function's source".to_owned());
        }
        for (new, old) in self.parameters.iter().zip(&old.parameters) {
            parameter_changes(new, old, &mut changes);
        }
        for ((name, new), (_, old)) in self.meta.iter().zip(&old.meta) {
            if new != old {
                changes.push(format!("meta {name}: {old} -> {new}"));
            }
        }
        if self.target != old.target {
            changes.push(format!("target: {} -> {}", old.target, self.target));
        }
        changes
    }
}

fn parameter_changes(new: &ParameterKey, old: &ParameterKey, changes: &mut Vec<String>) {
    let name = new.name;
    if new.dtype != old.dtype {
        changes.push(format!("element type of {name}: {} -> {}", old.dtype, new.dtype));
    }
    match (&new.value, &old.value) {
        (ParameterValue::Tensor(new), ParameterValue::Tensor(old)) => {
            for (axis, (new, old)) in new.iter().zip(old).enumerate() {
                if let (Some(new), Some(old)) = (new, old)
                    && new != old
                {
                    changes.push(format!("extent {axis} of {name}: {old} -> {new}"));
                }
            }
        }
        (ParameterValue::Scalar(Some(new)), ParameterValue::Scalar(Some(old))) if new != old => {
            changes.push(format!("{name}: {old} -> {new}"));
        }
        _ => {}
    }
}

/// Feeds a key's `Hash` to a cryptographic hash, so that file names do not collide.
struct Sink(blake3::Hasher);

impl Hasher for Sink {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Whether an extent stays out of the key.
pub fn is_dynamic(param: &Param, axis: usize) -> bool {
    matches!(param.shape.get(axis), Some(Dim::Name { dynamic: true, .. }))
}

/// The parameter's part of the key for a sample.
pub fn parameter_key(param: &Param, sample: &SampleValue) -> ParameterKey {
    let name = param.name.name;
    match sample {
        SampleValue::Tensor { dtype, dims } => {
            let dims = dims.iter().enumerate();
            let dims = dims.map(|(axis, extent)| (!is_dynamic(param, axis)).then_some(*extent)).collect();
            ParameterKey { name, dtype: *dtype, value: ParameterValue::Tensor(dims) }
        }
        SampleValue::Scalar { dtype, bits } => {
            ParameterKey { name, dtype: *dtype, value: ParameterValue::Scalar(param.spec.then_some(*bits)) }
        }
    }
}

/// The name of a dimension for messages: that of `#[shape]`, or its number.
pub fn dim_name(function: &Function, parameter: usize, axis: usize) -> String {
    match function.params[parameter].shape.get(axis) {
        Some(Dim::Name { name, .. }) => name.name.to_owned(),
        _ => format!("extent {axis} of `{}`", function.params[parameter].name.name),
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.kernel)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{parameter}")?;
        }
        for (index, (name, value)) in self.meta.iter().enumerate() {
            write!(f, "{}{name} = {value}", if index == 0 { "; " } else { ", " })?;
        }
        write!(f, "; {}; pypto {}; {:016x}]", self.target, self.compiler, self.function)
    }
}

impl fmt::Display for ParameterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.dtype)?;
        match &self.value {
            ParameterValue::Tensor(dims) => {
                let dims: Vec<String> = dims.iter().map(|d| d.map_or("dyn".into(), |n| n.to_string())).collect();
                write!(f, "[{}]", dims.join(", "))
            }
            ParameterValue::Scalar(Some(bits)) => write!(f, " = {bits:#x}"),
            ParameterValue::Scalar(None) => Ok(()),
        }
    }
}
