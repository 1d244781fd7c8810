//! The hash of a captured function, its callees and the constants that it names: the part of a specialization key that
//! changes when the source does.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::frontend::generic::{Block, Callee, ConstantValue, Expr, ExprKind, Function, StatementKind};

/// The hash of a function with everything that it calls. Computed once for each function.
pub fn fingerprint(function: &'static Function) -> u64 {
    static KNOWN: OnceLock<Mutex<HashMap<usize, u64>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let address = std::ptr::from_ref(function) as usize;
    if let Some(hash) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&address) {
        return *hash;
    }
    let mut walk = Walk { hasher: blake3::Hasher::new(), seen: Vec::new() };
    walk.function(function);
    let digest = walk.hasher.finalize();
    let hash = u64::from_le_bytes(digest.as_bytes()[..8].try_into().unwrap_or_default());
    known.lock().unwrap_or_else(PoisonError::into_inner).insert(address, hash);
    hash
}

struct Walk {
    hasher: blake3::Hasher,
    /// Functions that were visited; calls may be recursive until instantiation rejects them.
    seen: Vec<*const Function>,
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
        self.block(&function.body);
    }

    fn block(&mut self, block: &'static Block) {
        for statement in block.statements {
            match &statement.kind {
                StatementKind::Let { init, .. } | StatementKind::Return(init) => {
                    init.iter().for_each(|e| self.expr(e));
                }
                StatementKind::Assign { value, .. } => self.expr(value),
                StatementKind::Expr(e) => self.expr(e),
                StatementKind::For { iterator, body, .. } => {
                    self.expr(iterator);
                    self.block(body);
                }
                StatementKind::While { condition, body } => {
                    self.expr(condition);
                    self.block(body);
                }
                StatementKind::Assert { condition, .. } => self.expr(condition),
                StatementKind::Task { call, .. } => self.expr(call),
            }
        }
        block.result.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &'static Expr) {
        match &expr.kind {
            ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) | ExprKind::Str(_) | ExprKind::Local(_) => {}
            ExprKind::Constant { value, .. } => self.constant(value()),
            ExprKind::Unary(_, e)
            | ExprKind::TupleField(e, _)
            | ExprKind::Field(e, _)
            | ExprKind::Cast(e, _)
            | ExprKind::Borrow { value: e, .. } => self.expr(e),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.block(then);
                otherwise.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Call { callee, args, .. } => {
                args.iter().for_each(|e| self.expr(e));
                if let Callee::Function(function) = callee() {
                    self.function(function);
                }
            }
            ExprKind::Associated { args, .. } | ExprKind::Tuple(args) | ExprKind::Array(args) => {
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Method { receiver, args, .. } => {
                self.expr(receiver);
                args.iter().for_each(|e| self.expr(e));
            }
        }
    }

    fn constant(&mut self, value: ConstantValue) {
        let (tag, bits) = match value {
            ConstantValue::Int(n, dtype) => (dtype.name(), n as u64),
            ConstantValue::Float(x, dtype) => (dtype.name(), x.to_bits()),
            ConstantValue::Bool(b) => ("bool", u64::from(b)),
            ConstantValue::Round(mode) => (mode.name(), 0),
        };
        self.hasher.update(tag.as_bytes());
        self.hasher.update(&bits.to_le_bytes());
    }
}
