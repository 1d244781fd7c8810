//! Tests of the expansion logic, outside of rustc.

mod derive;
mod robustness;
mod subset;

use proc_macro2::TokenStream;
use syn::visit::Visit;

use crate::expand::{self, Form};

/// The expansion of an item whose first attribute is `#[pypto::jit(..)]` or `#[pypto::function(..)]`.
fn expand_item(text: &str) -> String {
    let (attribute, item) = text.split_once(']').expect("an attribute first");
    let (name, options) = attribute.split_once('(').unwrap_or((attribute, ")"));
    let form = if name.trim() == "#[pypto::jit" { Form::Jit } else { Form::Function };
    let options: TokenStream = options.strip_suffix(')').unwrap_or(options).parse().expect("options are tokens");
    expand::function(form, options, item.parse().expect("the item is tokens")).to_string()
}

/// The messages of the `compile_error!`s in an expansion.
fn errors(expansion: &str) -> Vec<String> {
    #[derive(Default)]
    struct Messages(Vec<String>);
    impl Visit<'_> for Messages {
        fn visit_macro(&mut self, mac: &syn::Macro) {
            if mac.path.segments.last().is_some_and(|s| s.ident == "compile_error") {
                self.0.extend(mac.parse_body::<syn::LitStr>().ok().map(|text| text.value()));
            }
        }
    }
    let mut messages = Messages::default();
    messages.visit_file(&syn::parse_str(expansion).expect("an expansion is items"));
    messages.0
}
