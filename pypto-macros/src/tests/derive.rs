//! `#[derive(pypto::Args)]`: what it accepts, and what it says of the rest.

use super::errors;
use crate::args;

fn derived(item: &str) -> Vec<String> {
    errors(&args::expand(item.parse().expect("the item is tokens")).to_string())
}

#[test]
fn structs_of_tensors_scalars_and_structs_derive() {
    for item in [
        "struct A { x: Tensor<f32, 2> }",
        "pub struct B<'a, T: Element> where T: Copy { #[shape(M, 4, dyn K, _)] x: &'a Tensor<T, 4>, s: T, a: A, }",
        "struct C<'a> { #[out] y: &'a mut Tensor<f16, 1>, #[spec] n: i64, #[serde(skip)] r#type: bool }",
        "struct Empty {}",
    ] {
        assert_eq!(derived(item), Vec::<String>::new(), "{item}");
    }
}

#[test]
fn other_items_and_fields_are_named() {
    for (item, expected) in [
        ("enum E { A }", "a kernel takes structs"),
        ("struct P(Tensor<f32, 2>);", "the fields need names"),
        ("struct S<const N: usize> { x: Tensor<f32, 2> }", "const parameters are not supported"),
        ("struct S { v: Vec<f32> }", "`Vec` is not an element type of PyPTO"),
        ("struct S { x: Tile<f32> }", "fields are tensors, scalars, and structs of them"),
        ("struct S<'a> { n: &'a i64 }", "a scalar is held by value"),
        ("struct S<'a> { a: &'a Other }", "a struct within a struct is held by value"),
        ("struct S { #[shape(M)] x: Tensor<f32, 2> }", "`#[shape]` names 1 dimensions, but `x` has rank 2"),
        ("struct S { #[shape(M)] n: i64 }", "`#[shape]` belongs on a tensor"),
        ("struct S { #[out] x: Tensor<f32, 2> }", "`#[out]` belongs on a `&mut Tensor`"),
        ("struct S { #[spec] x: Tensor<f32, 2> }", "`#[spec]` belongs on a scalar"),
    ] {
        let found = derived(item);
        assert!(found.len() == 1 && found[0].contains(expected), "{item} gives {found:?}");
    }
}
