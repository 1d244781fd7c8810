//! Writes a module as `.pto` text.
//!
//! Constants stand first, each once; nothing depends on anything but the module.

use std::fmt::Write;

use super::types::{TileTy, Ty, element_name};
use super::{Alias, Function, GlobalLayout, Inst, Kind, Literal, Module, Region, TileAttr, Value};
use crate::ir::DType;

/// The text of a module, with or without the places in the user's source.
pub fn print(module: &Module, places: bool) -> String {
    let mut printer = Printer { out: String::new(), places };
    let _ = writeln!(printer.out, "module attributes {{pto.target_arch = \"{}\"}} {{", module.arch);
    module.functions.iter().for_each(|function| printer.function(function));
    printer.out.push_str("}\n");
    printer.out
}

/// The text of a type.
pub fn type_text(ty: &Ty) -> String {
    match ty {
        Ty::Pointer(dtype) => format!("!pto.ptr<{}>", element_name(*dtype)),
        Ty::Index => "index".to_owned(),
        Ty::Scalar(dtype) => element_name(*dtype).to_owned(),
        Ty::View { rank, dtype } => format!("!pto.tensor_view<{}{}>", "?x".repeat(*rank), element_name(*dtype)),
        Ty::Partition { dims, dtype } => {
            let dims: String = dims.iter().map(|d| format!("{}x", extent(*d))).collect();
            format!("!pto.partition_tensor_view<{dims}{}>", element_name(*dtype))
        }
        Ty::Tile(tile) => tile_text(tile),
    }
}

fn tile_text(tile: &TileTy) -> String {
    format!(
        "!pto.tile_buf<loc={}, dtype={}, rows={}, cols={}, v_row={}, v_col={}, blayout={}, slayout={}, fractal={}, pad=0>",
        tile.space,
        element_name(tile.dtype),
        tile.rows,
        tile.cols,
        extent(tile.valid[0]),
        extent(tile.valid[1]),
        tile.outer.name(),
        tile.inner.name(),
        tile.fractal
    )
}

fn extent(extent: Option<i64>) -> String {
    extent.map_or("?".to_owned(), |n| n.to_string())
}

struct Printer {
    out: String,
    places: bool,
}

impl Printer {
    fn function(&mut self, f: &Function) {
        let params: Vec<String> =
            f.params.iter().map(|p| format!("%{}: {}", f.name_of(*p), type_text(f.ty(*p)))).collect();
        let _ = writeln!(
            self.out,
            "  func.func @{}({}) attributes {{pto.kernel_kind = #pto.kernel_kind<{}>}} {{",
            f.name,
            params.join(", "),
            f.core.name()
        );
        self.body(f, &f.body, 4);
        self.out.push_str("    return\n  }\n");
    }

    fn body(&mut self, f: &Function, body: &[Inst], indent: usize) {
        for inst in body {
            let text = self.inst(f, inst, indent);
            if let Some(text) = text {
                let _ = write!(self.out, "{:indent$}{text}", "");
                match inst.place.filter(|_| self.places && !matches!(inst.kind, Kind::Constant { .. })) {
                    Some(place) => {
                        let file = place.file.name();
                        let _ = writeln!(self.out, " loc({file:?}:{}:{})", place.line, place.column);
                    }
                    None => self.out.push('\n'),
                }
            }
        }
    }

    /// The text of an instruction on one line; control flow is written out at once.
    fn inst(&mut self, f: &Function, inst: &Inst, indent: usize) -> Option<String> {
        let name = |v: &Value| format!("%{}", f.name_of(*v));
        let names = |vs: &[Value]| vs.iter().map(name).collect::<Vec<_>>().join(", ");
        let ty = |v: &Value| type_text(f.ty(*v));
        let types = |vs: &[Value]| vs.iter().map(ty).collect::<Vec<_>>().join(", ");
        Some(match &inst.kind {
            Kind::Constant { result, literal } => {
                format!("{} = arith.constant {} : {}", name(result), literal_text(*literal, f.ty(*result)), ty(result))
            }
            Kind::Arith { result, op, predicate, operands } => {
                let predicate = predicate.map_or(String::new(), |p| format!("{p}, "));
                let from = operands.last().map_or(String::new(), ty);
                let to = if is_cast(op) { format!(" to {}", ty(result)) } else { String::new() };
                format!("{} = arith.{op} {predicate}{} : {from}{to}", name(result), names(operands))
            }
            Kind::TensorView { result, pointer, shape, strides, layout } => {
                let layout = if *layout == GlobalLayout::Nd { "nd" } else { "dn" };
                format!(
                    "{} = pto.make_tensor_view {}, shape = [{}], strides = [{}] {{layout = #pto.layout<{layout}>}} : {}",
                    name(result),
                    name(pointer),
                    names(shape),
                    names(strides),
                    ty(result)
                )
            }
            Kind::Partition { result, view, offsets, sizes } => format!(
                "{} = pto.partition_view {}, offsets = [{}], sizes = [{}] : {} -> {}",
                name(result),
                name(view),
                names(offsets),
                names(sizes),
                ty(view),
                ty(result)
            ),
            Kind::Alloc { result, address, valid } => {
                let address = address.map_or(String::new(), |a| format!(" addr = {}", name(&a)));
                let valid = format!(" valid_row = {} valid_col = {}", name(&valid[0]), name(&valid[1]));
                format!("{} = pto.alloc_tile{address}{valid} : {}", name(result), ty(result))
            }
            Kind::Alias { result, source, alias } => {
                let (op, rest) = match alias {
                    Alias::Reshape => ("treshape", String::new()),
                    Alias::Bitcast => ("bitcast", String::new()),
                    Alias::Subview { offset, valid } => {
                        let valid = valid.map_or(String::new(), |v| format!(" valid [{}]", names(&v)));
                        let sizes = f.tile(*result).map_or(String::new(), |t| format!("{}, {}", t.rows, t.cols));
                        ("subview", format!("[{}] sizes [{sizes}]{valid}", names(offset)))
                    }
                };
                format!("{} = pto.{op} {}{rest} : {} -> {}", name(result), name(source), ty(source), ty(result))
            }
            Kind::Tile { op, ins, attr, out } => {
                let attr = match attr {
                    TileAttr::None => String::new(),
                    TileAttr::Compare(mode) => format!(" {{cmpMode = #pto<cmp {mode}>}}"),
                    TileAttr::Round(mode) => format!(" {{rmode = #pto<round_mode {mode}>}}"),
                };
                let ins_text = format!("{}{attr} : {}", names(ins), types(ins));
                format!("pto.{} ins({ins_text}) outs({} : {})", op.name(), name(out), ty(out))
            }
            Kind::GetElement { result, tile, position } => format!(
                "{} = pto.tgetval ins({}, {} : {}, index) outs : {}",
                name(result),
                name(tile),
                name(position),
                ty(tile),
                ty(result)
            ),
            Kind::LoadScalar { result, pointer, offset } => format!(
                "{} = pto.load_scalar {}[{}] : {} -> {}",
                name(result),
                name(pointer),
                name(offset),
                ty(pointer),
                ty(result)
            ),
            Kind::StoreScalar { value, pointer, offset } => format!(
                "pto.store_scalar {}, {}[{}] : {}, {}",
                name(value),
                name(pointer),
                name(offset),
                ty(pointer),
                ty(value)
            ),
            Kind::Report { site, values } => format!("// report {site} ins({} : {})", names(values), types(values)),
            Kind::For { index, lower, upper, step, carried, body, yields } => {
                let results: Vec<Value> = carried.iter().map(|c| c.result).collect();
                let pairs: Vec<String> =
                    carried.iter().map(|c| format!("{} = {}", name(&c.argument), name(&c.initial))).collect();
                let head = if carried.is_empty() { String::new() } else { format!("{} = ", names(&results)) };
                let args = if carried.is_empty() {
                    String::new()
                } else {
                    format!(" iter_args({}) -> ({})", pairs.join(", "), types(&results))
                };
                let _ = writeln!(
                    self.out,
                    "{:indent$}{head}scf.for {} = {} to {} step {}{args} {{",
                    "",
                    name(index),
                    name(lower),
                    name(upper),
                    name(step)
                );
                self.body(f, body, indent + 2);
                self.yields(f, yields, indent + 2);
                let _ = writeln!(self.out, "{:indent$}}}", "");
                return None;
            }
            Kind::If { condition, results, then, otherwise } => {
                let head = if results.is_empty() { String::new() } else { format!("{} = ", names(results)) };
                let tail = if results.is_empty() { String::new() } else { format!(" -> ({})", types(results)) };
                let _ = writeln!(self.out, "{:indent$}{head}scf.if {}{tail} {{", "", name(condition));
                self.region(f, then, indent + 2);
                if !otherwise.body.is_empty() || !otherwise.yields.is_empty() {
                    let _ = writeln!(self.out, "{:indent$}}} else {{", "");
                    self.region(f, otherwise, indent + 2);
                }
                let _ = writeln!(self.out, "{:indent$}}}", "");
                return None;
            }
        })
    }

    fn region(&mut self, f: &Function, region: &Region, indent: usize) {
        self.body(f, &region.body, indent);
        self.yields(f, &region.yields, indent);
    }

    fn yields(&mut self, f: &Function, yields: &[Value], indent: usize) {
        if yields.is_empty() {
            return;
        }
        let names: Vec<String> = yields.iter().map(|v| format!("%{}", f.name_of(*v))).collect();
        let types: Vec<String> = yields.iter().map(|v| type_text(f.ty(*v))).collect();
        let _ = writeln!(self.out, "{:indent$}scf.yield {} : {}", "", names.join(", "), types.join(", "));
    }
}

/// Whether an arithmetic operation names the type of its result too.
pub fn is_cast(op: &str) -> bool {
    matches!(op, "index_cast" | "extsi" | "extui" | "trunci" | "extf" | "truncf" | "sitofp" | "fptosi")
}

/// Floats have 17 digits, which is what an f64 needs; infinities and NaN have no decimal form and are written by bits.
fn literal_text(literal: Literal, ty: &Ty) -> String {
    match (literal, ty) {
        (Literal::Int(n), _) => n.to_string(),
        (Literal::Float(x), _) if x.is_finite() => {
            let text = format!("{x:.17e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        (Literal::Float(x), Ty::Scalar(DType::F16)) => format!("0x{:04X}", half::f16::from_f64(x).to_bits()),
        (Literal::Float(x), Ty::Scalar(DType::BF16)) => format!("0x{:04X}", half::bf16::from_f64(x).to_bits()),
        (Literal::Float(x), _) => format!("0x{:08X}", (x as f32).to_bits()),
    }
}
