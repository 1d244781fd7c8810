//! Blocks and statements.

use syn::spanned::Spanned;
use syn::{Attribute, Expr, Local, Stmt};

use super::{Capture, Use};
use crate::code;
use crate::suggest::did_you_mean;
use crate::{attributes, types};

impl Capture<'_> {
    /// A block in a scope of its own.
    pub(super) fn block(&mut self, statements: &[Stmt], span: String, used: Use) -> String {
        self.scope.enter();
        let (texts, result) = self.statements(statements, used);
        self.scope.leave();
        format!("{} {} {span}", code::list(texts), code::option(result))
    }

    /// Statements, and the value of the last one.
    fn statements(&mut self, statements: &[Stmt], used: Use) -> (Vec<String>, Option<String>) {
        let mut texts = Vec::new();
        let mut result = None;
        for (index, statement) in statements.iter().enumerate() {
            let last = index + 1 == statements.len();
            if let Some(branch) = self.returning_branch(&statements[index..], used) {
                match used.is_unit() {
                    true => texts.push(statement_text(format!("expr {branch}"), statement)),
                    false => result = Some(branch),
                }
                break;
            }
            match statement {
                Stmt::Expr(expr, None)
                    if last
                        && has_value(expr)
                        && matches!(used, Use::Value | Use::Function(true) | Use::Tail(true)) =>
                {
                    self.statement_attributes(attributes_of(expr), false);
                    result = Some(self.expr(expr));
                }
                Stmt::Expr(Expr::Return(ret), _) if last && matches!(used, Use::Function(_)) => {
                    let value = ret.expr.as_ref().map(|e| self.expr(e));
                    texts.push(statement_text(format!("return {}", code::option(value)), statement));
                }
                Stmt::Expr(Expr::Return(ret), _) if last && matches!(used, Use::Tail(_)) => {
                    result = ret.expr.as_ref().map(|e| self.expr(e));
                }
                _ if used.is_unit() && self.may_leave(statement) => {
                    match self.exit(statement) {
                        Some(exit) => texts.extend(exit),
                        None => texts.extend(self.statement(statement)),
                    }
                    let (rest, _) = self.statements(&statements[index + 1..], used);
                    if !rest.is_empty() {
                        texts.extend(self.where_not_left(rest, statement.span()));
                    }
                    break;
                }
                _ if self.may_leave(statement) => {
                    let message = "`break`, `continue` and `return` cannot leave a block whose value is used: make it a \
                                   statement";
                    self.errors.over(statement, message);
                }
                _ => texts.extend(self.statement(statement)),
            }
        }
        (texts, result)
    }

    /// The block of a loop, branch or block expression.
    pub(super) fn inner_block(&mut self, block: &syn::Block, used: Use) -> String {
        let span = code::between(block.brace_token.span.open(), block.brace_token.span.close());
        self.block(&block.stmts, span, used)
    }

    /// A statement; `None` where it only matters to eager runs.
    fn statement(&mut self, statement: &Stmt) -> Option<String> {
        let kind = match statement {
            Stmt::Local(local) => self.binding(local),
            Stmt::Expr(expr, _) => return self.expr_statement(expr),
            Stmt::Macro(mac) => self.macro_statement(&mac.mac)?,
            Stmt::Item(item) => {
                self.item(item);
                return None;
            }
        };
        Some(statement_text(kind, statement))
    }

    fn binding(&mut self, local: &Local) -> String {
        self.statement_attributes(&local.attrs, false);
        let init = local.init.as_ref().map(|init| {
            if let Some((token, _)) = &init.diverge {
                self.errors
                    .over(token, "`let .. else` is not supported in a kernel body: bind the value, then use `if`");
            }
            self.expr(&init.expr)
        });
        let (pattern, ty) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, self.ascription(&typed.ty)),
            pattern => (pattern, None),
        };
        // The pattern comes last: its names are not in scope in the initializer.
        let pattern = self.pattern(pattern);
        format!("let {pattern} {} {}", code::option(ty), code::option(init))
    }

    /// The type of a `let`, where it tells the IR something: rustc has checked it in any case.
    fn ascription(&mut self, ty: &syn::Type) -> Option<String> {
        match types::peel(ty) {
            syn::Type::Path(path) => {
                let last = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                let is_param = path.path.get_ident().is_some_and(|name| self.type_params.contains(name));
                let is_shaped = matches!(last.as_str(), "Tile" | "Tensor") && !leaves_element_open(&path.path);
                let told = is_shaped || is_param || types::is_scalar_name(&last);
                if told { self.value_type(ty) } else { None }
            }
            syn::Type::Tuple(tuple) if !tuple.elems.iter().any(|t| matches!(t, syn::Type::Infer(_))) => {
                self.value_type(ty)
            }
            _ => None,
        }
    }

    fn value_type(&mut self, ty: &syn::Type) -> Option<String> {
        self.errors.take(types::value_type(ty, self.type_params)).map(|ty| ty.text())
    }

    fn expr_statement(&mut self, expr: &Expr) -> Option<String> {
        let attributes = attributes_of(expr);
        let task = self.statement_attributes(attributes, matches!(expr, Expr::Call(_) | Expr::MethodCall(_)));
        let kind = match expr {
            Expr::Macro(mac) => self.macro_statement(&mac.mac)?,
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) if is_compound(&binary.op) => self.compound_assign(binary),
            Expr::ForLoop(looped) => self.for_loop(looped),
            Expr::While(looped) => self.while_loop(looped),
            Expr::Loop(looped) => self.endless_loop(looped),
            Expr::If(branch) => format!("expr {}", self.branch(branch, Use::Unit)),
            Expr::Match(matched) => format!("expr {}", self.match_expr(matched, Use::Unit)),
            Expr::Block(block) if block.label.is_none() => {
                let inner = self.inner_block(&block.block, Use::Unit);
                format!("expr {}", expr_text(format!("block {inner}"), block))
            }
            _ => {
                let value = self.expr(expr);
                match task {
                    Some(task) => {
                        let name = code::option(task.name.as_ref().map(code::ident));
                        format!("task {name} {} {value}", code::list(task.after.iter().map(code::ident)))
                    }
                    None => format!("expr {value}"),
                }
            }
        };
        Some(statement_text(kind, expr))
    }

    /// Checks the attributes of a statement; gives those of a task.
    fn statement_attributes(&mut self, attributes: &[Attribute], is_call: bool) -> Option<attributes::Task> {
        let mut task = None;
        for attribute in attributes {
            let Some(name) = attribute.path().get_ident().map(ToString::to_string) else { continue };
            match name.as_str() {
                "task" if !is_call => self.errors.over(attribute, "`#[task]` belongs on a call"),
                "task" => task = self.errors.take(attributes::parse_task(attribute)),
                "cfg" | "cfg_attr" => self.errors.over(
                    attribute,
                    "`cfg` inside a kernel body is not supported: put it on the function, so that the captured body is \
                     the one that is compiled",
                ),
                "allow" | "expect" | "warn" | "deny" | "doc" => {}
                _ => {
                    let hint = did_you_mean(&name, &["task"]);
                    self.errors.over(attribute, format!("unknown attribute `{name}` of a statement{hint}"));
                }
            }
        }
        task
    }
}

/// An expression of that kind.
pub(super) fn expr_text(kind: String, tokens: &impl quote::ToTokens) -> String {
    format!("{} {kind}", code::range(tokens))
}

fn statement_text(kind: String, tokens: &impl quote::ToTokens) -> String {
    format!("{} {kind}", code::range(tokens))
}

/// Whether a trailing expression can be the value of its block.
fn has_value(expr: &Expr) -> bool {
    match expr {
        Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) | Expr::Assign(_) | Expr::Return(_) => false,
        Expr::Binary(binary) => !is_compound(&binary.op),
        _ => true,
    }
}

fn is_compound(op: &syn::BinOp) -> bool {
    super::operators::compound(op).is_some()
}

/// `Tile` and `Tile<_>`.
fn leaves_element_open(path: &syn::Path) -> bool {
    match path.segments.last().map(|s| &s.arguments) {
        Some(syn::PathArguments::AngleBracketed(arguments)) => {
            arguments.args.iter().any(|a| matches!(a, syn::GenericArgument::Type(syn::Type::Infer(_))))
        }
        _ => true,
    }
}

/// The attributes of the expressions that may be statements.
fn attributes_of(expr: &Expr) -> &[Attribute] {
    match expr {
        Expr::Assign(e) => &e.attrs,
        Expr::Binary(e) => &e.attrs,
        Expr::Block(e) => &e.attrs,
        Expr::Call(e) => &e.attrs,
        Expr::ForLoop(e) => &e.attrs,
        Expr::If(e) => &e.attrs,
        Expr::Macro(e) => &e.attrs,
        Expr::Loop(e) => &e.attrs,
        Expr::Match(e) => &e.attrs,
        Expr::MethodCall(e) => &e.attrs,
        Expr::While(e) => &e.attrs,
        _ => &[],
    }
}
