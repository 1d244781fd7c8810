//! Items in a body: constants and imports, which rustc resolves beside the captured function as it does in the body.

use quote::ToTokens;
use syn::Item;

use super::Capture;

impl Capture<'_> {
    /// An item among the statements.
    ///
    /// Items of inner blocks would mean something in their block only, and what stands beside the captured function is in scope in all
    /// of it.
    pub(super) fn item(&mut self, item: &Item) {
        match item {
            Item::Const(_) | Item::Use(_) if self.scope.is_outermost() => self.names.item(item.to_token_stream()),
            Item::Const(_) | Item::Use(_) => {
                self.errors.over(item, "constants and imports of a kernel stand in its outermost block: move it there");
            }
            _ => self.errors.over(item, "items are not supported in a kernel body: move it out of the function"),
        }
    }
}
