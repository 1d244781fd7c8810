//! The hash of a captured function, its callees and the constants that it names: the part of a specialization key that
//! changes when the source does.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::frontend::children::Child;
use crate::frontend::generic::{Block, Callee, ConstantValue, Expr, ExprKind, Function};

/// The hash of a function with everything that it calls. Computed once for each function.
pub fn fingerprint(function: &'static Function) -> u64 {
    known(function).hash
}

/// Whether the hash is that of this program alone: `comptime!` runs code of it.
pub fn is_of_this_program(function: &'static Function) -> bool {
    known(function).of_this_program
}

#[derive(Clone, Copy)]
struct Fingerprint {
    hash: u64,
    of_this_program: bool,
}

fn known(function: &'static Function) -> Fingerprint {
    static KNOWN: OnceLock<Mutex<HashMap<usize, Fingerprint>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let address = std::ptr::from_ref(function) as usize;
    if let Some(fingerprint) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&address) {
        return *fingerprint;
    }
    let mut walk = Walk { hasher: blake3::Hasher::new(), seen: Vec::new(), of_this_program: false };
    walk.function(function);
    let digest = walk.hasher.finalize();
    let hash = u64::from_le_bytes(digest.as_bytes()[..8].try_into().unwrap_or_default());
    let fingerprint = Fingerprint { hash, of_this_program: walk.of_this_program };
    known.lock().unwrap_or_else(PoisonError::into_inner).insert(address, fingerprint);
    fingerprint
}

struct Walk {
    hasher: blake3::Hasher,
    /// Functions that were visited; calls may be recursive until instantiation rejects them.
    seen: Vec<*const Function>,
    of_this_program: bool,
}

impl Walk {
    fn function(&mut self, function: &'static Function) {
        if self.seen.iter().any(|f| std::ptr::eq(*f, function)) {
            return;
        }
        self.seen.push(function);
        self.hasher.update(function.name.name.as_bytes());
        self.hasher.update(&function.hash.to_le_bytes());
        // Spans end up in the compiled code's messages: a moved function is compiled again.
        self.hasher.update(function.file.as_bytes());
        self.hasher.update(&function.span.line.to_le_bytes());
        // What a struct parameter consists of does not stand in the function's tokens.
        for field in function.params.iter().filter(|p| p.field) {
            let shape: Vec<String> = field.shape.iter().map(|dim| format!("{dim:?}")).collect();
            let text = format!("{} {:?} {:?} {} {shape:?}", field.name.name, field.ty, field.direction, field.spec);
            self.hasher.update(text.as_bytes());
        }
        self.block(&function.body);
    }

    fn block(&mut self, block: &'static Block) {
        for statement in block.statements {
            statement.children(&mut |child| self.child(child));
        }
        block.result.iter().for_each(|e| self.expr(e));
    }

    fn child(&mut self, child: Child<'static>) {
        match child {
            Child::Expr(expr) => self.expr(expr),
            Child::Block(block) => self.block(block),
        }
    }

    fn expr(&mut self, expr: &'static Expr) {
        match &expr.kind {
            ExprKind::Constant { value, .. } => self.constant(value()),
            // What the code computes is not known before the extents are; code that changed is in another program file.
            ExprKind::Comptime { .. } => {
                self.hasher.update(program_file());
                self.of_this_program = true;
            }
            _ => {}
        }
        expr.children(&mut |child| self.child(child));
        if let ExprKind::Call { callee, .. } = &expr.kind
            && let Callee::Function(function) = callee()
        {
            self.function(function);
        }
    }

    fn constant(&mut self, value: ConstantValue) {
        let (tag, bits, parts) = match value {
            ConstantValue::Int(n, dtype) => (dtype.name(), n as u64, Vec::new()),
            ConstantValue::Float(x, dtype) => (dtype.name(), x.to_bits(), Vec::new()),
            ConstantValue::Bool(b) => ("bool", u64::from(b), Vec::new()),
            ConstantValue::Round(mode) => (mode.name(), 0, Vec::new()),
            ConstantValue::DType(dtype) => (dtype.name(), 1, Vec::new()),
            ConstantValue::Array(parts) => ("array", parts.len() as u64, parts),
            ConstantValue::Tuple(parts) => ("tuple", parts.len() as u64, parts),
        };
        self.hasher.update(tag.as_bytes());
        self.hasher.update(&bits.to_le_bytes());
        parts.into_iter().for_each(|part| self.constant(part));
    }
}

/// What tells this program's file from another build of it; nothing where the system does not tell.
fn program_file() -> &'static [u8] {
    static IDENTITY: OnceLock<Vec<u8>> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        let Ok(file) = std::env::current_exe() else { return Vec::new() };
        let Ok(data) = std::fs::metadata(&file) else { return Vec::new() };
        format!("{} {} {:?}", file.display(), data.len(), data.modified().ok()).into_bytes()
    })
}
