//! What a user writes for an operation.

use pypto::ops::{Class, OpKind};

use crate::read;

/// The ways to write it, in Markdown; `None` for a row that nobody has described.
pub fn written(kind: OpKind) -> Option<String> {
    if let Some(text) = special(kind) {
        return Some(text.to_owned());
    }
    let name = kind.name();
    Some(match kind.class() {
        Class::Unary => format!("`x.{name}()`"),
        Class::Binary => format!("`a.{name}(b)`"),
        Class::Compare => {
            let method = name.strip_prefix("cmp_")?;
            let symbol = ["==", "!=", "<", "<=", ">", ">="]
                [["eq", "ne", "lt", "le", "gt", "ge"].iter().position(|m| *m == method)?];
            format!("`a.{method}(b)`; of scalars `a {symbol} b`")
        }
        Class::RowReduce | Class::ColReduce | Class::RowArg | Class::ColArg => format!("`x.{name}()`"),
        _ => return None,
    })
}

fn special(kind: OpKind) -> Option<&'static str> {
    Some(match kind {
        OpKind::Constant => "literals, `const`s, extents, `meta(..)`, `comptime!(..)`",
        OpKind::Add => "`a + b`, `a += b`",
        OpKind::Sub => "`a - b`, `a -= b`",
        OpKind::Mul => "`a * b`, `a *= b`",
        OpKind::Div => "`a / b`, `a /= b`",
        OpKind::Rem => "`a % b`, `a %= b`",
        OpKind::And => "`a & b`; of scalars also `a && b`",
        OpKind::Or => "`a \\| b`; of scalars also `a \\|\\| b`",
        OpKind::Xor => "`a ^ b`",
        OpKind::Shl => "`a << b`",
        OpKind::Shr => "`a >> b`",
        OpKind::Neg => "`-x`, `x.neg()`",
        OpKind::Not => "`!x`, `x.not()`",
        OpKind::Select => "`select(mask, a, b)`, `mask.select(a, b)`",
        OpKind::Cast => "`x.cast::<T>()`, `x.cast_with::<T>(Round::Rint)`; of scalars `x as T`",
        OpKind::Bitcast => "`x.bitcast::<T>()`",
        OpKind::Gather => "`x.gather(index)`",
        OpKind::Scatter => "`target.scatter(index, source)`",
        OpKind::RowArgsort => "`x.row_argsort()`",
        OpKind::Full => "`Tile::full(shape, value)`, `Tile::zeros(shape)`",
        OpKind::Iota => "`Tile::iota(shape, axis, start)`",
        OpKind::Slice => "`x.slice(offset, shape)`",
        OpKind::Assemble => "`target.assemble(offset, source)`",
        OpKind::Reshape => "`x.reshape(shape)`",
        OpKind::Transpose => "`x.t()`",
        OpKind::Concat => "`a.concat(b, axis)`",
        OpKind::Broadcast => "`x.broadcast(shape)`; binary operations do it by themselves",
        OpKind::Fillpad => "`x.fillpad(value)`",
        OpKind::SetValid => "`x.set_valid(valid)`; loads, and stores to places",
        OpKind::Matmul => "`matmul(a, b)`, `a.matmul(b)`; a `.t()` on an operand becomes an attribute",
        OpKind::MatmulAcc => "`acc.mma(a, b)`",
        OpKind::MatmulBias => "`matmul_bias(a, b, bias)`",
        OpKind::Load => "`x.load(at)`, `x.tile(offset, shape)`, `x.load_all()`",
        OpKind::Store => "`y.store(place, tile)`, `y.set(value)`",
        OpKind::GatherRows => "`x.gather_rows(index)`",
        OpKind::ScatterRows => "`y.scatter_rows(index, rows)`",
        OpKind::Read => "`x.get(index)` of a tensor",
        OpKind::Write => "`y.put(index, value)`",
        OpKind::Extract => "`t.get(index)` of a tile",
        OpKind::Alloc => "`Tensor::temp(shape)`, `Tensor::zeros(shape)`, `Tensor::full(shape, value)`",
        OpKind::View => {
            "`x.rows(first, count)`, `x.at(index)`, `x.view(offset, shape)`; `rows_mut`, `at_mut`, `view_mut` to write"
        }
        OpKind::For => "`for`",
        OpKind::If => "`if`, `match`, `&&`, `\\|\\|`",
        OpKind::While => "`while`, `loop`",
        OpKind::Call => "a call of an in-core function, with `#[task(name, after = [..])]` for explicit edges",
        OpKind::Print => "`print!`, `println!`",
        OpKind::Checkpoint => "`checkpoint!`",
        OpKind::Assert => "`assert!`, `assert_eq!`, `debug_assert!`, `device_assert!`",
        _ => return None,
    })
}

/// Where the eager bodies of methods and functions are.
const SOURCES: [&str; 6] = [
    "pypto/src/language/tile/methods.rs",
    "pypto/src/language/tile/mod.rs",
    "pypto/src/language/tile/product.rs",
    "pypto/src/language/tensor/kernel.rs",
    "pypto/src/language/tensor/access.rs",
    "pypto/src/language/tensor/view.rs",
];

#[test]
fn every_operation_says_how_it_is_written() {
    for kind in OpKind::ALL {
        assert!(written(*kind).is_some(), "add `{}` to surface::special", kind.name());
    }
}

#[test]
fn methods_exist() {
    let text: String = SOURCES.into_iter().map(read).collect();
    for kind in OpKind::ALL {
        let written = written(*kind).unwrap_or_default();
        for part in written.split('.').skip(1) {
            let name: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let after = &part[name.len()..];
            if name.is_empty() || !(after.starts_with('(') || after.starts_with("::<")) {
                continue;
            }
            let exists = [
                format!("pub fn {name}<"),
                format!("pub fn {name}("),
                format!("\n    {name} = "),
                format!("\n    {name} ["),
            ];
            assert!(exists.iter().any(|spelling| text.contains(spelling)), "`{}`: no method `{name}`", kind.name());
        }
    }
}
