//! What the subset leaves out: one message a construct, at its own token, with what to write instead.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Expr;

use super::Capture;

impl Capture<'_> {
    /// Reports an expression outside the subset.
    pub(super) fn reject(&mut self, expr: &Expr) -> String {
        let (tokens, message) = rejection(expr);
        self.errors.over(tokens, message);
        String::new()
    }
}

fn rejection(expr: &Expr) -> (TokenStream, &'static str) {
    match expr {
        Expr::Try(e) => (
            e.question_token.to_token_stream(),
            "`?` is not supported in a kernel body: a kernel cannot stop with an error; check before the call, or use \
             `assert!`",
        ),
        Expr::Async(e) => (
            e.async_token.to_token_stream(),
            "`async` is not supported in a kernel body: kernels are launched, not polled",
        ),
        Expr::Await(e) => (
            e.await_token.to_token_stream(),
            "`.await` is not supported in a kernel body: await before the call and pass the value",
        ),
        Expr::Closure(e) => (
            closure_head(e),
            "closures are not supported in a kernel body: write the code inline, or call a \
             `#[pypto::function(inline)]`",
        ),
        Expr::Loop(e) => (e.loop_token.to_token_stream(), "a loop has no value: make it a statement"),
        Expr::Break(e) => (
            e.break_token.to_token_stream(),
            "`break` is a statement of its own in a kernel body: it stands in blocks of `if` and `match` statements",
        ),
        Expr::Continue(e) => (
            e.continue_token.to_token_stream(),
            "`continue` is a statement of its own in a kernel body: it stands in blocks of `if` and `match` statements",
        ),
        Expr::Return(e) => (
            e.return_token.to_token_stream(),
            "`return` with a value stands at the end of a function, or of a branch of one of its `if` statements: carry the \
             value in a `let mut` variable, and return it after the loop or block",
        ),
        Expr::Unsafe(e) => {
            (e.unsafe_token.to_token_stream(), "`unsafe` is not supported in a kernel body: kernels have no raw memory")
        }
        Expr::Let(e) => {
            (e.let_token.to_token_stream(), "`let` in a condition is not supported in a kernel body: compare with `==`")
        }
        Expr::Struct(e) => {
            (e.path.to_token_stream(), "struct literals are not supported in a kernel body: use a tuple")
        }
        Expr::Const(e) => {
            (e.const_token.to_token_stream(), "`const` blocks are not supported in a kernel body: use a `const` item")
        }
        Expr::Infer(e) => (e.to_token_stream(), "`_` is not a value: name one"),
        Expr::RawAddr(e) => {
            (e.raw.to_token_stream(), "raw pointers are not supported in a kernel body: borrow with `&` or `&mut`")
        }
        Expr::ForLoop(e) => (e.for_token.to_token_stream(), "a loop has no value: make it a statement"),
        Expr::While(e) => (e.while_token.to_token_stream(), "a loop has no value: make it a statement"),
        Expr::Assign(e) => (e.eq_token.to_token_stream(), "an assignment is a statement: it has no value to use"),
        other => (other.to_token_stream(), "this is not supported in a kernel body"),
    }
}

/// `|a, b|`: the body of a closure may be long.
fn closure_head(closure: &syn::ExprClosure) -> TokenStream {
    let mut tokens = closure.or1_token.to_token_stream();
    closure.inputs.to_tokens(&mut tokens);
    closure.or2_token.to_tokens(&mut tokens);
    tokens
}
