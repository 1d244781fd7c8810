//! The reader accepts what the printer writes, and refuses what the assembler refuses.

use super::print::print;
use super::read::{Level, read};

const TILE: &str = "!pto.tile_buf<loc=vec, dtype=f32, rows=64, cols=64, v_row=?, v_col=?, blayout=row_major, slayout=none_box, fractal=512, pad=0>";

/// A kernel that adds two tensors; `%c` lies over `%a`.
fn add() -> String {
    let view = |n: usize| {
        format!(
            "    %view{n} = pto.make_tensor_view %arg{n}, shape = [%c64, %c64], strides = [%c64, %c1] {{layout = #pto.layout<nd>}} : !pto.tensor_view<?x?xf32>\n\
             \x20   %part{n} = pto.partition_view %view{n}, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<64x64xf32>\n"
        )
    };
    let alloc = |name: &str, address: &str| {
        format!("    %{name} = pto.alloc_tile addr = %{address} valid_row = %c64 valid_col = %c64 : {TILE}\n")
    };
    let load = |name: &str, n: usize| {
        format!(
            "    pto.tload ins(%part{n} : !pto.partition_tensor_view<64x64xf32>) outs(%{name} : {TILE}) loc(\"k.rs\":3:5)\n"
        )
    };
    format!(
        "module attributes {{pto.target_arch = \"a2a3\"}} {{\n\
         \x20 func.func @add(%arg0: !pto.ptr<f32>, %arg1: !pto.ptr<f32>, %arg2: !pto.ptr<f32>) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{\n\
         \x20   %a0 = arith.constant 0 : i64\n    %a1 = arith.constant 16384 : i64\n    %c64 = arith.constant 64 : index\n\
         \x20   %c1 = arith.constant 1 : index\n    %c0 = arith.constant 0 : index\n{}{}{}{}{}{}{}{}\
         \x20   pto.tadd ins(%a, %b : {TILE}, {TILE}) outs(%c : {TILE})\n\
         \x20   pto.tstore ins(%c : {TILE}) outs(%part2 : !pto.partition_tensor_view<64x64xf32>)\n    return\n  }}\n}}\n",
        view(0),
        view(1),
        view(2),
        alloc("a", "a0"),
        load("a", 0),
        alloc("b", "a1"),
        load("b", 1),
        alloc("c", "a0"),
    )
}

fn refused(from: &str, to: &str, level: Level) -> String {
    let text = add();
    assert!(text.contains(from), "{from}");
    read(&text.replacen(from, to, 1), level).unwrap_err().to_string()
}

#[test]
fn what_is_printed_is_read() {
    let module = read(&add(), Level::Three).unwrap();
    let text = print(&module, true);
    assert_eq!(read(&text, Level::Three).unwrap(), module);
    assert_eq!(text, add());
}

#[test]
fn addresses_belong_to_level_three() {
    assert!(read(&add(), Level::Two).unwrap_err().to_string().contains("level 2 takes no `addr`"));
    assert!(refused("pto.alloc_tile addr = %a1", "pto.alloc_tile", Level::Three).contains("level 3 needs an `addr`"));
    let without = add().replace("addr = %a0 ", "").replace("addr = %a1 ", "");
    assert!(read(&without, Level::Two).is_ok());
}

#[test]
fn overlaps_are_found() {
    // `%b` over `%a`: the sum would read `%b` twice.
    let message = refused("%b = pto.alloc_tile addr = %a1", "%b = pto.alloc_tile addr = %a0", Level::Three);
    assert!(message.contains("`%a` is read after `%b` was written over it"), "{message}");
    let message = refused("%a1 = arith.constant 16384", "%a1 = arith.constant 16352", Level::Three);
    assert!(message.contains("`%a` is read after"), "{message}");
}

#[test]
fn wrong_text_is_refused() {
    let cases = [
        ("ins(%a, %b", "ins(%a, %z", "`%z` is not defined"),
        ("pto.tadd", "pto.tfrobnicate", "`pto.tfrobnicate` is no operation"),
        ("%c1 = arith", "%c0 = arith", "`%c0` is defined twice"),
        ("sizes = [%c64, %c64]", "sizes = [%c64, %c1]", "sizes of a partition"),
        ("dtype=f32, rows=64", "dtype=f16, rows=64", "another type than is stated"),
        ("loc=vec", "loc=acc", "another type than is stated"),
        ("a2a3", "a9", "`a9` is no architecture"),
        ("16384 : i64", "16385 : i64", "no multiple of 32"),
        ("16384 : i64", "188416 : i64", "bytes 188416..204800 of `vec`"),
        ("v_row=?, v_col=?", "v_row=64, v_col=64", "another type than is stated"),
        ("valid_row = %c64 ", "", "needs `valid_row` and `valid_col`"),
        ("strides = [%c64, %c1]", "strides = [%c64]", "as many extents and strides"),
        ("    return\n", "", "where `return` stands"),
        // Symbols that nobody defines: of a function, of a layout, of a kind of kernel.
        ("    return\n", "    func.call @missing() : () -> ()\n    return\n", "`func.call` is no operation"),
        ("layout<nd>", "layout<zz>", "zz"),
        ("kernel_kind<vector>", "kernel_kind<mixed>", "`mixed` is no kind of kernel"),
        ("tadd ins(%a, %b", "tmatmul ins(%a, %b", "matrix unit only"),
    ];
    for (from, to, expected) in cases {
        let message = refused(from, to, Level::Three);
        assert!(message.contains(expected), "{from} -> {to}: {message}");
    }
}

#[test]
fn spaces_and_layouts_are_checked() {
    let text = add();
    let message = read(&text.replace("loc=vec", "loc=acc"), Level::Three).unwrap_err().to_string();
    assert!(message.contains("a tile in `acc` has another layout"), "{message}");
    let narrow = text.replace("cols=64", "cols=4");
    assert!(read(&narrow, Level::Three).unwrap_err().to_string().contains("no multiple of 32"));
    let cube = text.replace("kernel_kind<vector>", "kernel_kind<cube>");
    assert!(read(&cube, Level::Three).unwrap_err().to_string().contains("vector unit only"));
}

/// The kernel with further constants and instructions before its end.
fn with(instructions: &str) -> Result<super::Module, String> {
    let constants = "    %c0 = arith.constant 0 : index\n    %a2 = arith.constant 32768 : i64\n    %a3 = arith.constant 65536 : i64\n";
    let text = add().replace("    %c0 = arith.constant 0 : index\n", constants);
    let text = text.replace("    return\n", &format!("{instructions}    return\n"));
    read(&text, Level::Three).map_err(|error| error.to_string())
}

#[test]
fn reductions_keep_the_element_type() {
    let column = TILE.replace("cols=64", "cols=1").replace("blayout=row_major", "blayout=col_major");
    let sum = |column: &str| {
        with(&format!(
            "    %s = pto.alloc_tile addr = %a2 valid_row = %c64 valid_col = %c64 : {TILE}\n\
             \x20   %r = pto.alloc_tile addr = %a3 valid_row = %c64 valid_col = %c1 : {column}\n\
             \x20   pto.trowsum ins(%c, %s : {TILE}, {TILE}) outs(%r : {column})\n"
        ))
    };
    sum(&column).unwrap();
    let message = sum(&column.replace("f32", "f16")).unwrap_err();
    assert!(message.contains("another element type than its operand"), "{message}");
}

#[test]
fn a_row_vector_is_where_the_unit_reaches_it() {
    let row = TILE.replace("rows=64", "rows=1");
    let expand = |row: &str| {
        with(&format!(
            "    %r = pto.alloc_tile addr = %a2 valid_row = %c1 valid_col = %c64 : {row}\n\
             \x20   %zero = arith.constant 0.0 : f32\n    pto.texpands ins(%zero : f32) outs(%r : {row})\n\
             \x20   pto.tcolexpand ins(%r : {row}) outs(%c : {TILE})\n"
        ))
    };
    expand(&row).unwrap();
    assert!(expand(&row.replace("loc=vec", "loc=mat")).is_err());
}

#[test]
fn places_are_optional() {
    let without = add().replace(" loc(\"k.rs\":3:5)", "");
    assert_eq!(print(&read(&without, Level::Three).unwrap(), false), without);
}

#[test]
fn cut_text_is_an_error() {
    let text = add();
    for end in (0..text.len() - 2).step_by(7) {
        assert!(read(&text[..end], Level::Three).is_err(), "{end}");
    }
}
