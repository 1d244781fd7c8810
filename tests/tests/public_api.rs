//! What a user of `pypto` can name: read from the sources, from `lib.rs` on through public modules and re-exports.
//!
//! The layers that users work with are listed in full, of the others the modules. What macros make is not seen, nor are
//! methods. A change of the list is a change of the interface: look at it, then `cargo insta accept`.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Item, UseTree, Visibility};

/// Modules below the crate whose items are listed.
const LISTED: [&str; 9] = ["artifact", "compile", "config", "golden", "jit", "prelude", "runtime", "staged", "tools"];

/// What the Python system's page calls internal, and nobody outside may name: assembling of calls, compiling and loading
/// of objects, their cache.
const INTERNAL: [&str; 15] = [
    "pypto::codegen::host::compile",
    "pypto::codegen::host::llvm",
    "pypto::codegen::host::loader",
    "pypto::codegen::host::object_cache",
    "pypto::runtime::check_arguments",
    "pypto::runtime::execute",
    "pypto::runtime::kernel",
    "pypto::runtime::observe",
    "pypto::runtime::pool",
    "pypto::runtime::program",
    "pypto::runtime::record",
    "pypto::runtime::schedule",
    "pypto::runtime::scratch",
    "pypto::runtime::signature",
    "pypto::artifact::staging",
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pypto/src")
}

/// The lines of a module: `path` is its public path, `directory` where files of modules below it lie.
fn list(items: &[Item], path: &str, directory: &Path, lines: &mut Vec<String>) {
    let layer = path.split("::").nth(1);
    let in_full = layer.is_none_or(|layer| LISTED.contains(&layer));
    for item in items {
        if let Item::Mod(module) = item {
            if is_public(&module.vis) && !is_for_tests(&module.attrs) {
                let name = module.ident.to_string();
                let public = format!("{path}::{name}");
                lines.push(format!("{public} (module)"));
                match &module.content {
                    Some((_, items)) => list(items, &public, &directory.join(&name), lines),
                    None => list_file(&name, &public, directory, lines),
                }
            }
        } else if in_full && let Some((name, kind)) = named(item) {
            lines.push(format!("{path}::{name} ({kind})"));
        } else if in_full
            && let Item::Use(reexport) = item
            && is_public(&reexport.vis)
        {
            leaves(&reexport.tree, String::new(), &mut |name, from| {
                lines.push(format!("{path}::{name} (from {from})"))
            });
        }
    }
}

fn list_file(name: &str, public: &str, directory: &Path, lines: &mut Vec<String>) {
    let (flat, nested) = (directory.join(format!("{name}.rs")), directory.join(name).join("mod.rs"));
    let file = if flat.is_file() { flat } else { nested };
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    list(&parsed.items, public, &directory.join(name), lines);
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident != "doc")
    })
}

/// The name and kind of a public item that is no module and no re-export.
fn named(item: &Item) -> Option<(String, &'static str)> {
    let (visibility, name, kind) = match item {
        Item::Const(item) => (&item.vis, &item.ident, "constant"),
        Item::Enum(item) => (&item.vis, &item.ident, "enum"),
        Item::Fn(item) => (&item.vis, &item.sig.ident, "function"),
        Item::Static(item) => (&item.vis, &item.ident, "static"),
        Item::Struct(item) if is_for_tests(&item.attrs) => return None,
        Item::Struct(item) => (&item.vis, &item.ident, "struct"),
        Item::Trait(item) => (&item.vis, &item.ident, "trait"),
        Item::Type(item) => (&item.vis, &item.ident, "type"),
        _ => return None,
    };
    is_public(visibility).then(|| (name.to_string(), kind))
}

/// Every name that a `use` brings, with where it comes from.
fn leaves(tree: &UseTree, from: String, each: &mut impl FnMut(String, String)) {
    let below =
        |name: &dyn std::fmt::Display| if from.is_empty() { name.to_string() } else { format!("{from}::{name}") };
    match tree {
        UseTree::Path(path) => leaves(&path.tree, below(&path.ident), each),
        UseTree::Name(name) if name.ident == "self" => {
            each(from.rsplit("::").next().unwrap_or_default().to_owned(), from.clone());
        }
        UseTree::Name(name) => each(name.ident.to_string(), below(&name.ident)),
        UseTree::Rename(rename) => each(rename.rename.to_string(), below(&rename.ident)),
        UseTree::Glob(_) => each("*".to_owned(), below(&"*")),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, from.clone(), each)),
    }
}

fn public_names() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let mut lines = Vec::new();
    list(&syn::parse_file(&text).unwrap().items, "pypto", &source(), &mut lines);
    lines.sort();
    lines
}

#[test]
fn the_public_interface() {
    insta::assert_snapshot!(public_names().join("\n"));
}

#[test]
fn what_is_internal_cannot_be_named() {
    let names = public_names();
    assert!(names.iter().any(|name| name == "pypto::compile::driver::compile (function)"), "{names:#?}");
    for internal in INTERNAL {
        let is_it = |name: &&String| {
            let path = name.split(' ').next().unwrap_or_default();
            path == internal || path.starts_with(&format!("{internal}::"))
        };
        assert_eq!(names.iter().find(is_it), None);
    }
}
