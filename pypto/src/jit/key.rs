//! Specialization keys.
//!
//! A key holds everything that the compiled code depends on: the function with its callees, element types, ranks,
//! extents that are not `dyn`, `#[spec]` scalars, meta values, the target and the compiler's version. It does not hold
//! data, plain scalars, `dyn` extents or addresses.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::fingerprint::fingerprint;
use crate::frontend::generic::{Dim, Function};
use crate::frontend::specialization::{ParamSpec, Specialization};

/// Identity of a specialization.
#[derive(Clone)]
pub struct Key {
    function: &'static Function,
    /// Hash of the function, its callees and the constants that they name.
    pub source: u64,
    /// What the call contributes.
    pub specialization: Specialization,
    /// What runs the code: the interpreter, or an instruction set and a CPU.
    pub target: String,
    /// Whether the code shows the values of checkpoints.
    pub checkpoints: bool,
    /// The compiler's version.
    pub compiler: &'static str,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.source == other.source
            && self.specialization == other.specialization
            && self.target == other.target
            && self.checkpoints == other.checkpoints
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
        self.specialization.hash(state);
        self.target.hash(state);
        self.checkpoints.hash(state);
        self.compiler.hash(state);
    }
}

impl Key {
    /// The key of a function for a specialization and a target; without checkpoints.
    pub fn new(function: &'static Function, specialization: Specialization, target: String) -> Key {
        let source = fingerprint(function);
        Key { function, source, specialization, target, checkpoints: false, compiler: env!("CARGO_PKG_VERSION") }
    }

    /// The same key for code that shows the values of checkpoints, or does not.
    pub(super) fn with_checkpoints(mut self, checkpoints: bool) -> Key {
        self.checkpoints = checkpoints;
        self
    }

    /// The same key for another target.
    pub(super) fn with_target(mut self, target: &str) -> Key {
        target.clone_into(&mut self.target);
        self
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> &'static str {
        self.function.name.name
    }

    /// The kernel with the element types, extents and values that it is compiled for: `softmax(x: [64, 1024]) TM=8`.
    pub fn signature(&self) -> String {
        Signature(self).to_string()
    }

    /// A name for files: 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut sink = Sink(blake3::Hasher::new());
        self.hash(&mut sink);
        sink.0.finalize().to_hex()[..32].to_owned()
    }

    /// Every component by its name, with its value.
    pub fn components(&self) -> Vec<Component> {
        let mut components = Vec::new();
        let mut add = |what: String, value: String, dim| components.push(Component { what, value, dim });
        add("source".into(), format!("{:016x}", self.source), None);
        let Specialization { type_args, params, metas } = &self.specialization;
        for (param, dtype) in self.function.type_params.iter().zip(type_args) {
            add(param.name.into(), dtype.to_string(), None);
        }
        for (i, (declared, param)) in self.function.params.iter().zip(params).enumerate() {
            match param {
                ParamSpec::Tensor { dims, .. } => {
                    for (axis, dim) in dims.iter().enumerate() {
                        add(self.dim(i, axis), extent(*dim), Some((i, axis)));
                    }
                }
                ParamSpec::Scalar { value } => {
                    let text = value.map_or("run-time".into(), |bits| format!("{bits:#x}"));
                    add(declared.name.name.into(), text, None);
                }
            }
        }
        for (meta, value) in self.function.metas.iter().zip(metas) {
            add(format!("meta {}", meta.name.name), value.to_string(), None);
        }
        add("target".into(), self.target.clone(), None);
        add("checkpoints".into(), self.checkpoints.to_string(), None);
        components
    }

    /// The components that differ, as `M of x: 512 -> 640`, for the event of a compile.
    pub fn changes_from(&self, old: &Key) -> Vec<Change> {
        let pairs = old.components().into_iter().zip(self.components());
        let differing = pairs.filter(|(old, new)| old.value != new.value);
        let mut changes: Vec<Change> = differing
            .map(|(old, new)| Change { what: new.what, old: old.value, new: new.value, dim: new.dim })
            .collect();
        changes.dedup_by(|b, a| a.what == b.what);
        changes
    }

    /// The name of a dimension for messages: that of `#[shape]`, or its number.
    fn dim(&self, parameter: usize, axis: usize) -> String {
        match self.function.params[parameter].shape.get(axis) {
            Some(Dim::Name { name, .. }) => name.name.to_owned(),
            _ => format!("extent {axis} of {}", self.function.params[parameter].name.name),
        }
    }
}

/// One component of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// A dimension, a scalar, a meta parameter, a type parameter, `source`, `target`.
    pub what: String,
    pub value: String,
    /// Parameter and axis of an extent.
    pub dim: Option<(usize, usize)>,
}

/// One component of a key that differs from another key's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The component: a dimension, a scalar, a meta parameter, `source`, `target`.
    pub what: String,
    pub old: String,
    pub new: String,
    /// Parameter and axis of an extent.
    pub dim: Option<(usize, usize)>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.what, self.old, self.new)
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

fn extent(extent: Option<i64>) -> String {
    extent.map_or("dyn".into(), |n| n.to_string())
}

/// As `Display`: the function's whole syntax tree would say less.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { target, source, compiler, .. } = self;
        write!(f, "{} for {target}, source {source:016x}, pypto {compiler}", self.signature())
    }
}

/// The part of a key's text that the call contributes.
struct Signature<'k>(&'k Key);

impl fmt::Display for Signature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Signature(key) = self;
        let Specialization { type_args, params, metas } = &key.specialization;
        write!(f, "{}", key.kernel())?;
        if !type_args.is_empty() {
            write!(f, "<{}>", type_args.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "))?;
        }
        let params = key.function.params.iter().zip(params).map(|(param, spec)| {
            let name = param.name.name;
            match spec {
                ParamSpec::Tensor { dims, .. } => {
                    format!("{name}: [{}]", dims.iter().map(|d| extent(*d)).collect::<Vec<_>>().join(", "))
                }
                ParamSpec::Scalar { value: Some(bits) } => format!("{name} = {bits:#x}"),
                ParamSpec::Scalar { value: None } => name.to_owned(),
            }
        });
        write!(f, "({})", params.collect::<Vec<_>>().join(", "))?;
        for (meta, value) in key.function.metas.iter().zip(metas) {
            write!(f, " {}={value}", meta.name.name)?;
        }
        Ok(())
    }
}
