//! Which names are local variables: parameters, extents, meta parameters, and what `let` and `for` bind.

/// Nested scopes, the innermost last.
pub struct Scope(Vec<Vec<String>>);

impl Scope {
    /// One scope with these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Scope {
        Scope(vec![names.into_iter().collect()])
    }

    /// Opens a scope.
    pub fn enter(&mut self) {
        self.0.push(Vec::new());
    }

    /// Forgets the names of the innermost scope.
    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether only the block of the function is open.
    pub fn is_outermost(&self) -> bool {
        self.0.len() == 2
    }

    /// Binds a name in the innermost scope.
    pub fn bind(&mut self, name: &syn::Ident) {
        if let Some(innermost) = self.0.last_mut() {
            innermost.push(name.to_string());
        }
    }

    /// Whether a `let` or `for` binds the name, so that it means no parameter or extent here.
    pub fn is_shadowed(&self, name: &str) -> bool {
        self.0.iter().skip(1).flatten().any(|bound| bound == name)
    }

    /// Whether the name is a local variable here.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().flatten().any(|bound| bound == name)
    }
}
