//! The C++ that dispatches kernels on the device: the entry function, statement by statement.
//!
//! The run time derives dependencies from the tensors of tasks and their directions, as the simulator does. Tensors come
//! first among a task's arguments, then numbers, as the kernels' parameters do.

use std::collections::HashMap;
use std::fmt::Write;

use super::artifact::AscendKernel;
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::report::template::{self, Part};
use crate::ir::{Attr, AttrKey, Block, DType, Direction, Extent, Function, IndexExpr, Op, ParamRole, Type, ValueId};
use crate::ops::OpKind;
use crate::target::Target;

type Outcome<T> = Result<T, Diagnostic>;

/// The text for an entry function that calls the given kernels; a kernel's id is its position.
///
/// # Errors
/// An operation that does not run on the orchestrating side.
pub fn orchestration(entry: &Function, kernels: &[AscendKernel], target: &Target) -> Outcome<String> {
    let mut writer = Writer { entry, kernels, target, out: String::new(), indent: 2, names: HashMap::new(), tasks: 0 };
    writer.parameters()?;
    writer.block(&entry.body, &[])?;
    let count = entry.params.iter().filter(|p| matches!(p.role, ParamRole::Tensor | ParamRole::Scalar)).count();
    let body = writer.out;
    Ok(format!(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\n#include \"pto_orchestration_api.h\"\n\n\
         extern \"C\" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs& orch_args) {{\n  \
         (void)orch_args;\n  return PTO2OrchestrationConfig{{.expected_arg_count = {count}}};\n}}\n\n\
         extern \"C\" void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {{\n{body}}}\n"
    ))
}

struct Writer<'a> {
    entry: &'a Function,
    kernels: &'a [AscendKernel],
    target: &'a Target,
    out: String,
    indent: usize,
    names: HashMap<ValueId, String>,
    tasks: usize,
}

/// The C++ type of a number.
pub(super) fn number_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::F16 => "half",
        DType::BF16 => "bfloat16_t",
        DType::F32 => "float",
    }
}

/// The run time's name of an element type.
fn data_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "DataType::UINT8",
        DType::I8 => "DataType::INT8",
        DType::I16 => "DataType::INT16",
        DType::I32 => "DataType::INT32",
        DType::I64 => "DataType::INT64",
        DType::U16 => "DataType::UINT16",
        DType::U32 => "DataType::UINT32",
        DType::F16 => "DataType::FLOAT16",
        DType::BF16 => "DataType::BFLOAT16",
        DType::F32 => "DataType::FLOAT32",
    }
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", self.indent);
    }

    fn name(&mut self, value: ValueId) -> String {
        if let Some(known) = self.names.get(&value) {
            return known.clone();
        }
        let hint = self.entry.info(value).name.as_deref().unwrap_or("v");
        let clean: String = hint.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let name = format!("{clean}_{}", value.0);
        self.names.insert(value, name.clone());
        name
    }

    fn unsupported(&self, op: &Op) -> Diagnostic {
        let title =
            format!("`{}` does not run on the orchestrating side of target `{}`", op.kind.name(), self.target.name);
        Diagnostic::error(codes::TARGET_SUPPORT, op.loc, title, "this operation")
            .help("move it into a kernel, or run on target `host`")
    }

    fn parameters(&mut self) -> Outcome<()> {
        let entry = self.entry;
        // Tensors and numbers have a position of their own kind each.
        let mut positions = Vec::new();
        let (mut tensors, mut numbers) = (0, 0);
        for param in &entry.params {
            positions.push(match (param.role, entry.ty(param.value)) {
                (ParamRole::Tensor, Type::Tensor(_)) => {
                    tensors += 1;
                    tensors - 1
                }
                (ParamRole::Scalar, _) => {
                    numbers += 1;
                    numbers - 1
                }
                _ => 0,
            });
        }
        for (param, position) in entry.params.iter().zip(positions.clone()) {
            let name = self.name(param.value);
            match (param.role, entry.ty(param.value)) {
                (ParamRole::Tensor, _) => {
                    let name = format!("ext_{name}");
                    self.line(&format!("const ChipTensor& {name} = orch_args.tensor({position}).ref();"));
                    self.names.insert(param.value, name);
                }
                (ParamRole::Extent { param, axis }, _) => {
                    let tensor = positions.get(param).copied().unwrap_or(0);
                    let source = format!("orch_args.tensor({tensor}).ref().shapes[{axis}]");
                    self.line(&format!("const int64_t {name} = static_cast<int64_t>({source});"));
                }
                (ParamRole::Stride { param, axis }, _) => {
                    let tensor = positions.get(param).copied().unwrap_or(0);
                    let source = format!("orch_args.tensor({tensor}).ref().strides[{axis}]");
                    self.line(&format!("const int64_t {name} = static_cast<int64_t>({source});"));
                }
                (ParamRole::Scalar, ty) => {
                    let c = number_type(ty.dtype().unwrap_or(DType::I64));
                    self.line(&format!(
                        "union {{ uint64_t bits; {c} value; }} {name}_bits = {{orch_args.scalar({position})}};"
                    ));
                    self.line(&format!("const {c} {name} = {name}_bits.value;"));
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, carried: &[String]) -> Outcome<()> {
        self.line("PTO2_SCOPE() {");
        self.indent += 2;
        block.ops.iter().try_for_each(|op| self.op(op))?;
        // All at once: what an iteration yields may be what it was handed.
        let yields: Vec<String> = block.yields.iter().map(|v| self.name(*v)).collect();
        for (position, value) in yields.iter().enumerate().take(carried.len()) {
            self.line(&format!("const auto next_{position} = {value};"));
        }
        for (position, variable) in carried.iter().enumerate() {
            self.line(&format!("{variable} = next_{position};"));
        }
        self.indent -= 2;
        self.line("}");
        Ok(())
    }

    fn op(&mut self, op: &Op) -> Outcome<()> {
        match op.kind {
            OpKind::Alloc => self.alloc(op),
            OpKind::View => self.view(op),
            OpKind::Call => self.call(op),
            OpKind::For => self.for_op(op),
            OpKind::If => self.if_op(op),
            OpKind::Read => self.read(op),
            OpKind::Constant => self.constant(op),
            OpKind::Assert => self.assertion(op),
            kind if kind.is_elementwise() => self.arithmetic(op),
            _ => Err(self.unsupported(op)),
        }
    }

    fn extent(&mut self, extent: Extent) -> String {
        match extent {
            Extent::Const(n) => n.to_string(),
            Extent::Value(v) => self.name(v),
        }
    }

    fn alloc(&mut self, op: &Op) -> Outcome<()> {
        let Some(ty) = self.entry.ty(op.result()).as_tensor().cloned() else { return Err(self.unsupported(op)) };
        let name = self.name(op.result());
        let dims: Vec<String> = ty.dims.iter().map(|d| self.extent(*d)).collect();
        self.line(&format!("const uint32_t {name}_shape[] = {{{}}};", casts(&dims)));
        let info = format!("TensorCreateInfo {name}_ci({name}_shape, {}, {});", dims.len(), data_type(ty.dtype));
        self.line(&info);
        self.line(&format!("TaskOutputTensors {name}_alloc = alloc_tensors({name}_ci);"));
        self.line(&format!("const ChipTensor& {name} = {name}_alloc.get_ref(0);"));
        Ok(())
    }

    fn view(&mut self, op: &Op) -> Outcome<()> {
        let Some(ty) = self.entry.ty(op.result()).as_tensor().cloned() else { return Err(self.unsupported(op)) };
        let (name, source) = (self.name(op.result()), self.name(op.operands[0]));
        // Dimensions that are dropped stay with extent 1: kernels know strides and take the first element's address.
        let dropped = op.operands.len() - 1 - ty.rank();
        let mut dims = vec!["1".to_owned(); dropped];
        for dim in &ty.dims {
            dims.push(self.extent(*dim));
        }
        let offsets: Vec<String> = op.operands[1..].iter().map(|v| self.name(*v)).collect();
        self.line(&format!("const uint32_t {name}_shape[] = {{{}}};", casts(&dims)));
        self.line(&format!("const uint32_t {name}_offset[] = {{{}}};", casts(&offsets)));
        self.line(&format!("ChipTensor {name} = {source}.view({name}_shape, {name}_offset);"));
        Ok(())
    }

    fn read(&mut self, op: &Op) -> Outcome<()> {
        let Some(ty) = self.entry.ty(op.operands[0]).as_tensor().cloned() else { return Err(self.unsupported(op)) };
        let (name, tensor) = (self.name(op.result()), self.name(op.operands[0]));
        let mut offset = "0".to_owned();
        for (index, stride) in op.operands[1..].iter().zip(&ty.strides) {
            let (index, stride) = (self.name(*index), self.extent(*stride));
            offset += &format!(" + {index} * {stride}");
        }
        let c = number_type(ty.dtype);
        self.line(&format!("const {c} {name} = get_tensor_data<{c}>({tensor}, {offset});"));
        Ok(())
    }

    fn assertion(&mut self, op: &Op) -> Outcome<()> {
        let condition = self.name(op.operands[0]);
        let escaped = |text: String| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let template = op.attrs.text(AttrKey::Message).unwrap_or("assertion failed");
        let arguments = if op.operands.len() == 1 {
            format!("\"%s\", \"{}\"", escaped(format!("{}: {}", op.loc, template::write(template, &[]))))
        } else {
            let shown: Vec<(&str, String)> = op.operands[1..].iter().map(|value| self.shown(*value)).collect();
            let formats: Vec<Part> = shown.iter().map(|(format, _)| Part::Text((*format).to_owned())).collect();
            let values: String = shown.iter().map(|(_, value)| format!(", {value}")).collect();
            // Signs of per cent that are no formats are doubled.
            let message = template::write(&template::fill(&template.replace('%', "%%"), &formats), &[]);
            let place = op.loc.to_string().replace('%', "%%");
            format!("\"{}\"{values}", escaped(format!("{place}: {message}")))
        };
        self.line(&format!("if (!{condition}) {{"));
        self.line(&format!("  rt_report_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, {arguments});"));
        self.line("  return;");
        self.line("}");
        Ok(())
    }

    /// The format and the value of a scalar as an argument of `printf`.
    fn shown(&mut self, value: ValueId) -> (&'static str, String) {
        let name = self.name(value);
        match self.entry.ty(value).dtype() {
            Some(dtype) if dtype.is_float() => ("%g", format!("static_cast<double>(static_cast<float>({name}))")),
            _ => ("%lld", format!("static_cast<long long>({name})")),
        }
    }

    fn constant(&mut self, op: &Op) -> Outcome<()> {
        let name = self.name(op.result());
        let c = number_type(op.attrs.dtype().unwrap_or(DType::I64));
        let value = match op.attrs.get(AttrKey::Value) {
            Some(Attr::Int(n)) => format!("INT64_C({n})"),
            Some(Attr::Bool(b)) => b.to_string(),
            Some(Attr::Float(x)) if x.is_finite() => format!("{x:?}"),
            _ => return Err(self.unsupported(op)),
        };
        self.line(&format!("const {c} {name} = static_cast<{c}>({value});"));
        Ok(())
    }

    fn arithmetic(&mut self, op: &Op) -> Outcome<()> {
        let operands: Vec<String> = op.operands.iter().map(|v| self.name(*v)).collect();
        let name = self.name(op.result());
        let c = number_type(self.entry.ty(op.result()).dtype().unwrap_or(DType::I64));
        let text = match (op.kind, &operands[..]) {
            (OpKind::Cast, [x]) => x.clone(),
            (OpKind::Neg, [x]) => format!("-{x}"),
            (OpKind::Not, [x]) if c == "bool" => format!("!{x}"),
            (OpKind::Select, [m, a, b]) => format!("{m} ? {a} : {b}"),
            (OpKind::Min, [a, b]) => format!("{a} < {b} ? {a} : {b}"),
            (OpKind::Max, [a, b]) => format!("{a} < {b} ? {b} : {a}"),
            (kind, [a, b]) => match infix(kind) {
                Some(sign) => format!("{a} {sign} {b}"),
                None => return Err(self.unsupported(op)),
            },
            _ => return Err(self.unsupported(op)),
        };
        self.line(&format!("const {c} {name} = static_cast<{c}>({text});"));
        Ok(())
    }

    fn for_op(&mut self, op: &Op) -> Outcome<()> {
        let region = &op.regions[0];
        let [lower, upper, step] = [0, 1, 2].map(|i| self.name(op.operands[i]));
        let mut carried = Vec::new();
        for (position, argument) in region.args[1..].iter().enumerate() {
            let Type::Scalar(dtype) = *self.entry.ty(*argument) else { return Err(self.unsupported(op)) };
            let initial = self.name(op.operands[3 + position]);
            let result = self.name(op.results[position]);
            self.line(&format!("{} {result} = {initial};", number_type(dtype)));
            self.names.insert(*argument, result.clone());
            carried.push(result);
        }
        let index = self.name(region.args[0]);
        self.line(&format!("for (int64_t {index} = {lower}; {index} < {upper}; {index} += {step}) {{"));
        self.indent += 2;
        self.block(region, &carried)?;
        self.indent -= 2;
        self.line("}");
        Ok(())
    }

    fn if_op(&mut self, op: &Op) -> Outcome<()> {
        let mut carried = Vec::new();
        for result in &op.results {
            let Type::Scalar(dtype) = *self.entry.ty(*result) else { return Err(self.unsupported(op)) };
            let name = self.name(*result);
            self.line(&format!("{} {name};", number_type(dtype)));
            carried.push(name);
        }
        let condition = self.name(op.operands[0]);
        self.line(&format!("if ({condition}) {{"));
        self.indent += 2;
        self.block(&op.regions[0], &carried)?;
        self.indent -= 2;
        if let Some(otherwise) = op.regions.get(1).filter(|r| !r.ops.is_empty() || !r.yields.is_empty()) {
            self.line("} else {");
            self.indent += 2;
            self.block(otherwise, &carried)?;
            self.indent -= 2;
        }
        self.line("}");
        Ok(())
    }

    fn call(&mut self, op: &Op) -> Outcome<()> {
        let callee = op.attrs.text(AttrKey::Callee).unwrap_or("");
        let Some((id, kernel)) = self.kernels.iter().enumerate().find(|(_, k)| k.name == callee) else {
            return Err(self.unsupported(op));
        };
        if op.attrs.int(AttrKey::After).unwrap_or(0) > 0 || !op.results.is_empty() {
            return Err(self.unsupported(op));
        }
        let task = format!("params_t{}", self.tasks);
        self.tasks += 1;
        self.line("{");
        self.indent += 2;
        self.line(&format!("CoreTaskArgs {task}; // {callee}, {}", op.loc));
        for (number, direction) in kernel.arguments.iter().zip(&kernel.directions) {
            let name = self.name(op.operands[*number]);
            self.line(&match direction {
                Some(Direction::In) => format!("{task}.add_input({name});"),
                Some(Direction::Out) => format!("{task}.add_output({name});"),
                Some(Direction::InOut) => format!("{task}.add_inout({name});"),
                None => format!("{task}.add_scalar({name});"),
            });
        }
        if kernel.is_spmd {
            let arguments: Vec<String> = op.operands.iter().map(|v| self.name(*v)).collect();
            let iterations = expression(&kernel.iterations, &arguments);
            let cores = match kernel.core {
                super::dialect::Core::Cube => "rt_available_cluster_count()",
                super::dialect::Core::Vector => "rt_available_aiv_count()",
            };
            self.line(&format!("const int64_t blocks = {iterations};"));
            self.line(&format!("const int64_t cores = static_cast<int64_t>({cores});"));
            let method = self.target.block_method;
            self.line(&format!("{task}.{method}(blocks < 1 ? 1 : blocks < cores ? blocks : cores);"));
        }
        self.line(&format!("rt_submit_{}_task({id}, {task});", kernel.core.unit()));
        self.indent -= 2;
        self.line("}");
        Ok(())
    }
}

fn casts(entries: &[String]) -> String {
    entries.iter().map(|e| format!("static_cast<uint32_t>({e})")).collect::<Vec<_>>().join(", ")
}

fn infix(kind: OpKind) -> Option<&'static str> {
    Some(match kind {
        OpKind::Add => "+",
        OpKind::Sub => "-",
        OpKind::Mul => "*",
        OpKind::Div => "/",
        OpKind::Rem => "%",
        OpKind::And => "&",
        OpKind::Or => "|",
        OpKind::Xor => "^",
        OpKind::CmpEq => "==",
        OpKind::CmpNe => "!=",
        OpKind::CmpLt => "<",
        OpKind::CmpLe => "<=",
        OpKind::CmpGt => ">",
        OpKind::CmpGe => ">=",
        _ => return None,
    })
}

/// An index expression over the arguments of a call.
fn expression(expr: &IndexExpr, arguments: &[String]) -> String {
    use IndexExpr::{Add, Arg, CeilDiv, Const, Div, Max, Min, Mul, Rem, Sub};
    let of = |e: &IndexExpr| expression(e, arguments);
    match expr {
        Const(n) => format!("INT64_C({n})"),
        Arg(i) => arguments.get(*i).cloned().unwrap_or_else(|| "0".to_owned()),
        Add(a, b) => format!("({} + {})", of(a), of(b)),
        Sub(a, b) => format!("({} - {})", of(a), of(b)),
        Mul(a, b) => format!("({} * {})", of(a), of(b)),
        Div(a, b) => format!("({} / {})", of(a), of(b)),
        Rem(a, b) => format!("({} % {})", of(a), of(b)),
        Min(a, b) => format!("({0} < {1} ? {0} : {1})", of(a), of(b)),
        Max(a, b) => format!("({0} < {1} ? {1} : {0})", of(a), of(b)),
        CeilDiv(a, b) => format!("(({} + {1} - 1) / {1})", of(a), of(b)),
    }
}
