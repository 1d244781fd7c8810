//! Programs with several functions that a call may start at.

use std::collections::BTreeSet;

use super::nodes::{AttrKey, Block, Function, Program};

impl Program {
    /// Names of the functions that a call may start at, in order: the entry, and whatever else dispatches and is called by
    /// nobody.
    pub fn roots(&self) -> Vec<&str> {
        let called: BTreeSet<&str> = self.functions.iter().flat_map(callees).collect();
        let is_root = |(index, function): &(usize, &Function)| {
            *index == self.entry || function.kind.dispatches() && !called.contains(function.name.as_str())
        };
        self.functions.iter().enumerate().filter(is_root).map(|(_, function)| function.name.as_str()).collect()
    }

    /// The program that starts at the function of that name, with what it calls and nothing else; `None` where there is no
    /// such function.
    ///
    /// ```
    /// use pypto::ir::text::parse;
    /// let text = "program \"p\" entry @a\nfn @a orchestration (%0 \"x\": i64 in) {\n}\nfn @b orchestration (%0 \"x\": i64 in) {\n}\n";
    /// let program = parse(text, "p")?;
    /// assert_eq!(program.roots(), ["a", "b"]);
    /// assert_eq!(program.rooted_at("b").unwrap().roots(), ["b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rooted_at(&self, name: &str) -> Option<Program> {
        self.function(name)?;
        let (mut reached, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.function(next).map(callees).unwrap_or_default());
            }
        }
        let kept = self.functions.iter().filter(|function| reached.contains(function.name.as_str()));
        let functions: Vec<Function> = kept.cloned().collect();
        let entry = functions.iter().position(|function| function.name == name)?;
        Some(Program { name: self.name.clone(), functions, entry })
    }
}

/// Names of the functions that a function calls.
fn callees(function: &Function) -> Vec<&str> {
    fn collect<'a>(block: &'a Block, names: &mut Vec<&'a str>) {
        for op in &block.ops {
            names.extend(op.attrs.text(AttrKey::Callee));
            op.regions.iter().for_each(|region| collect(region, names));
        }
    }
    let mut names = Vec::new();
    collect(&function.body, &mut names);
    names
}
