//! Makes a task schedule out of an orchestration function: runs its scalar code with the extents and scalars of a call,
//! and notes the kernel calls instead of making them.
//!
//! Scalars that only travel to kernels stay symbolic, so that one schedule serves calls with other values. Reading an
//! element of a tensor needs what earlier tasks wrote: then the tasks so far are run first, through [`Memory`].

use std::collections::HashMap;

use smallvec::SmallVec;

use super::kernel::Kernel;
use super::panels::PanelWords;
use super::region::{Base, View};
use super::schedule::{Schedule, ScheduleBuilder, Use, Word};
use crate::diagnostics::{Diagnostic, codes};
use crate::ir::report::assertion_text;
use crate::ir::{Attr, AttrKey, Block, DType, Direction, Extent, Function, Loc, Op, ParamRole, Program, Type, ValueId};
use crate::ops::reference::{MAX_RANK, Scalar, scalar};
use crate::ops::{Class, OpKind};

/// Executes what a schedule with reads needs before it can go on.
pub trait Memory {
    /// Runs the tasks.
    fn run(&mut self, schedule: Schedule) -> Result<(), Stop>;
    /// The bits of the element at a byte offset.
    fn read(&mut self, base: Base, offset: usize, dtype: DType) -> u64;
    /// Memory for temporary number `index`.
    fn allocate(&mut self, index: usize, bytes: usize) -> Result<(), Stop>;
}

/// Why no schedule was made.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The kernel is at fault, at run time.
    Failed(Box<Diagnostic>),
    /// A task failed.
    Task(super::kernel::Failure),
    /// The program is not an orchestration.
    Unsupported(String),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Failed(Box::new(diagnostic))
    }
}

/// A value during the run.
#[derive(Clone, Copy, Debug)]
// A box would be an allocation for each view of each task.
#[allow(clippy::large_enum_variant)]
enum Value {
    Scalar(Scalar),
    /// Word of the program's argument list, not looked at so far.
    Argument(usize),
    Tensor(View),
    Event(u32),
}

/// Whether a program reads tensor elements in its orchestration, so that its schedule cannot be kept.
pub fn depends_on_data(block: &Block) -> bool {
    block.ops.iter().any(|op| op.kind == OpKind::Read || op.regions.iter().any(depends_on_data))
}

/// A number for each dimension.
type Numbers = SmallVec<[i64; MAX_RANK]>;

/// The kernels that a schedule can call.
#[derive(Clone, Copy)]
pub struct Callable<'p> {
    /// By name.
    pub index: &'p HashMap<String, usize>,
    pub kernels: &'p [Kernel],
    pub panels: &'p PanelWords,
}

struct Recorder<'p, 'm> {
    function: &'p Function,
    /// What can be called, by its name: the kernel's index, and the function.
    callees: HashMap<&'p str, (usize, &'p Function)>,
    callable: Callable<'p>,
    arguments: &'p [u64],
    values: Vec<Option<Value>>,
    builder: ScheduleBuilder,
    /// Words of the argument list whose value the schedule depends on.
    looked_at: Vec<usize>,
    temporaries: usize,
    /// Byte offset of each temporary in the workspace; unused when `memory` is there.
    offsets: Vec<usize>,
    memory: Option<&'m mut (dyn Memory + 'm)>,
}

/// Records the entry of `program` for a call. `arguments` has one word for each parameter of the entry.
///
/// # Errors
/// A failed assertion, a view outside of its tensor, arithmetic without a result; a failed task, with `memory`.
pub fn record<'p, 'm>(
    program: &'p Program,
    callable: Callable<'p>,
    arguments: &'p [u64],
    memory: Option<&'m mut (dyn Memory + 'm)>,
) -> Result<Schedule, Stop> {
    let function = program.entry_function();
    let callee =
        |function: &'p Function| Some((function.name.as_str(), (*callable.index.get(&function.name)?, function)));
    let mut recorder = Recorder {
        function,
        callees: program.functions.iter().filter_map(callee).collect(),
        callable,
        arguments,
        values: vec![None; function.values.len()],
        builder: ScheduleBuilder::default(),
        looked_at: Vec::new(),
        temporaries: 0,
        offsets: Vec::new(),
        memory,
    };
    recorder.bind_parameters()?;
    recorder.block(&function.body)?;
    recorder.looked_at.sort_unstable();
    recorder.looked_at.dedup();
    let made_for = recorder.looked_at.iter().map(|index| (*index, arguments[*index])).collect();
    Ok(recorder.builder.finish(made_for))
}

impl Recorder<'_, '_> {
    fn bind_parameters(&mut self) -> Result<(), Stop> {
        let function = self.function;
        for (index, param) in function.params.iter().enumerate() {
            if !matches!(param.role, ParamRole::Tensor) {
                self.values[param.value.0 as usize] = Some(Value::Argument(index));
            }
        }
        for (index, param) in function.params.iter().enumerate() {
            if let Type::Tensor(ty) = function.ty(param.value) {
                let dims = self.extents(&ty.dims)?;
                let view = View::root(Base::Param(index), ty.dtype.size(), &dims);
                self.values[param.value.0 as usize] = Some(Value::Tensor(view));
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Result<(), Stop> {
        block.ops.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &Op) -> Result<(), Stop> {
        match op.kind {
            OpKind::Constant => {
                let constant = constant(op).ok_or_else(|| unsupported(op))?;
                self.set(op.result(), Value::Scalar(constant));
                Ok(())
            }
            OpKind::For => self.run_for(op),
            OpKind::If => self.run_if(op),
            OpKind::While => self.run_while(op),
            OpKind::Call => self.call(op),
            OpKind::Alloc => self.alloc(op),
            OpKind::View => self.view(op),
            OpKind::Read => self.read(op),
            OpKind::Assert if self.condition(op.operands[0])? => Ok(()),
            OpKind::Assert => {
                let values: Result<Vec<Scalar>, Stop> = op.operands[1..].iter().map(|v| self.scalar(*v)).collect();
                Err(failed(op.loc, assertion_text(op, &values?)).into())
            }
            kind if kind.is_elementwise() => self.compute(op),
            _ => Err(unsupported(op)),
        }
    }

    fn compute(&mut self, op: &Op) -> Result<(), Stop> {
        let mut operands = SmallVec::<[Scalar; 3]>::new();
        for operand in &op.operands {
            operands.push(self.scalar(*operand)?);
        }
        let outcome = match (op.kind.class(), operands.as_slice()) {
            (Class::Unary, [x]) => scalar::unary(op.kind, *x),
            (Class::Binary | Class::Compare, [a, b]) => scalar::binary(op.kind, *a, *b),
            (Class::Cast, [x]) => scalar::cast(*x, op.attrs.dtype().ok_or_else(|| unsupported(op))?, op.attrs.round()),
            (Class::Select, [mask, a, b]) => Ok(if mask.index() == Some(1) { *a } else { *b }),
            _ => return Err(unsupported(op)),
        };
        let result = outcome.map_err(|error| failed(op.loc, error.to_string()))?;
        self.set(op.result(), Value::Scalar(result));
        Ok(())
    }

    fn run_for(&mut self, op: &Op) -> Result<(), Stop> {
        let bound = |this: &mut Self, i: usize| this.index(op.operands[i]);
        let (lower, upper, step) = (bound(self, 0)?, bound(self, 1)?, bound(self, 2)?);
        if step == 0 {
            return Err(failed(op.loc, "the step of a loop is 0".into()).into());
        }
        let body = &op.regions[0];
        let mut carried = self.take_all(&op.operands[3..])?;
        let mut index = lower;
        while if step > 0 { index < upper } else { index > upper } {
            self.set(body.args[0], Value::Scalar(Scalar::new(index)));
            self.set_all(&body.args[1..], carried);
            self.block(body)?;
            carried = self.take_all(&body.yields)?;
            match index.checked_add(step) {
                Some(next) => index = next,
                None => break,
            }
        }
        self.set_all(&op.results, carried);
        Ok(())
    }

    fn run_if(&mut self, op: &Op) -> Result<(), Stop> {
        let taken = self.condition(op.operands[0])?;
        let Some(region) = op.regions.get(usize::from(!taken)) else { return Ok(()) };
        self.block(region)?;
        let results = self.take_all(&region.yields)?;
        self.set_all(&op.results, results);
        Ok(())
    }

    fn run_while(&mut self, op: &Op) -> Result<(), Stop> {
        let [test, body] = op.regions.as_slice() else { return Err(unsupported(op)) };
        let mut carried = self.take_all(&op.operands)?;
        loop {
            self.set_all(&test.args, carried);
            self.block(test)?;
            let handed = self.take_all(&test.yields[1..])?;
            if !self.condition(test.yields[0])? {
                self.set_all(&op.results, handed);
                return Ok(());
            }
            self.set_all(&body.args, handed);
            self.block(body)?;
            carried = self.take_all(&body.yields)?;
        }
    }

    fn alloc(&mut self, op: &Op) -> Result<(), Stop> {
        let Type::Tensor(ty) = self.function.ty(op.result()) else { return Err(unsupported(op)) };
        let dims = self.extents(&ty.dims)?;
        let too_large = || failed(op.loc, format!("a temporary tensor of extents {dims:?} is impossible"));
        let elements = dims.iter().try_fold(1i64, |n, d| if *d < 0 { None } else { n.checked_mul(*d) });
        let bytes = elements.and_then(|n| n.checked_mul(ty.dtype.size() as i64)).ok_or_else(too_large)? as usize;
        let index = self.temporaries;
        self.temporaries += 1;
        match &mut self.memory {
            Some(memory) => memory.allocate(index, bytes)?,
            None => self.offsets.push(self.builder.reserve(bytes).ok_or_else(too_large)?),
        }
        self.set(op.result(), Value::Tensor(View::root(Base::Temp(index), ty.dtype.size(), &dims)));
        Ok(())
    }

    fn view(&mut self, op: &Op) -> Result<(), Stop> {
        let Type::Tensor(ty) = self.function.ty(op.result()) else { return Err(unsupported(op)) };
        let dims = self.extents(&ty.dims)?;
        let offsets = self.indices(&op.operands[1..])?;
        let view = self.tensor(op.operands[0])?.view(&offsets, &dims);
        let view = view.map_err(|outside| failed(op.loc, outside.to_string()))?;
        self.set(op.result(), Value::Tensor(view));
        Ok(())
    }

    fn read(&mut self, op: &Op) -> Result<(), Stop> {
        let at = self.indices(&op.operands[1..])?;
        let ones = vec![1; at.len()];
        let tensor = self.tensor(op.operands[0])?;
        let element = tensor.view(&at, &ones);
        let element = element.map_err(|outside| failed(op.loc, outside.to_string()))?;
        let dtype = self.function.ty(op.result()).dtype().ok_or_else(|| unsupported(op))?;
        let tasks = std::mem::take(&mut self.builder).finish(Vec::new());
        let Some(memory) = &mut self.memory else { return Err(unsupported(op)) };
        memory.run(tasks)?;
        let bits = memory.read(element.base, element.offset as usize * element.element, dtype);
        self.set(op.result(), Value::Scalar(Scalar { dtype, bits }));
        Ok(())
    }

    fn call(&mut self, op: &Op) -> Result<(), Stop> {
        let name = op.attrs.text(AttrKey::Callee).ok_or_else(|| unsupported(op))?;
        let Some((kernel, callee)) = self.callees.get(name).copied() else {
            return Err(Stop::Unsupported(format!("`{name}` is called, but is no kernel")));
        };
        let events = op.attrs.int(AttrKey::After).unwrap_or(0) as usize;
        let (operands, after) = op.operands.split_at(op.operands.len() - events);
        if operands.len() != callee.params.len() {
            let (given, taken) = (operands.len(), callee.params.len());
            return Err(Stop::Unsupported(format!("`{name}` takes {taken} arguments, {given} given")));
        }
        let after: SmallVec<[u32; 8]> = after.iter().filter_map(|v| self.event(*v)).collect();
        let (mut words, mut uses) = (SmallVec::<[Word; 16]>::new(), SmallVec::<[(&View, Use); 8]>::new());
        for (operand, param) in operands.iter().zip(&callee.params) {
            words.push(self.word(*operand)?);
            let Some(Value::Tensor(view)) = &self.values[operand.0 as usize] else { continue };
            let usage = if param.direction == Direction::In { Use::Read } else { Use::Write };
            match (usage, self.is_input(view.base)) {
                // No task writes it, so nobody waits because of it.
                (Use::Read, true) => {}
                (Use::Write, true) => {
                    return Err(Stop::Unsupported(format!("`{name}` writes an input of the program")));
                }
                (_, false) => uses.push((view, usage)),
            }
        }
        let panels = &self.callable.kernels[kernel].panels;
        words.extend(self.callable.panels.of_call(self.function, panels, operands));
        let task = self.builder.task(kernel, &words, &uses, &after);
        drop(uses);
        if let Some(result) = op.results.first() {
            self.set(*result, Value::Event(task));
        }
        Ok(())
    }

    /// Whether a tensor is a parameter that the program only reads.
    fn is_input(&self, base: Base) -> bool {
        matches!(base, Base::Param(index) if self.function.params[index].direction == Direction::In)
    }

    /// An operand of a call as a word of the kernel's argument list.
    fn word(&self, operand: ValueId) -> Result<Word, Stop> {
        match &self.values[operand.0 as usize] {
            Some(Value::Scalar(scalar)) => Ok(Word::Const(scalar.bits)),
            Some(Value::Argument(index)) => Ok(Word::Scalar(*index)),
            Some(Value::Tensor(view)) => {
                let bytes = view.offset as usize * view.element;
                Ok(match view.base {
                    Base::Param(index) => Word::Param(index, bytes),
                    Base::Temp(index) if self.memory.is_some() => Word::Temp(index, bytes),
                    Base::Temp(index) => Word::Temp(0, self.offsets[index] + bytes),
                })
            }
            _ => Err(undefined(operand)),
        }
    }

    fn event(&self, value: ValueId) -> Option<u32> {
        match self.values[value.0 as usize] {
            // Tasks that ran already, before a read, are not waited for.
            Some(Value::Event(task)) if (task as usize) < self.builder.len() => Some(task),
            _ => None,
        }
    }

    fn scalar(&mut self, value: ValueId) -> Result<Scalar, Stop> {
        match &self.values[value.0 as usize] {
            Some(Value::Scalar(scalar)) => Ok(*scalar),
            Some(Value::Argument(index)) => {
                self.looked_at.push(*index);
                let dtype = self.function.ty(value).dtype().unwrap_or(DType::I64);
                Ok(Scalar { dtype, bits: self.arguments[*index] })
            }
            _ => Err(undefined(value)),
        }
    }

    fn condition(&mut self, value: ValueId) -> Result<bool, Stop> {
        Ok(self.scalar(value)?.index() == Some(1))
    }

    fn index(&mut self, value: ValueId) -> Result<i64, Stop> {
        self.scalar(value)?.index().ok_or_else(|| undefined(value))
    }

    fn indices(&mut self, values: &[ValueId]) -> Result<Numbers, Stop> {
        let mut indices = Numbers::new();
        for value in values {
            indices.push(self.index(*value)?);
        }
        Ok(indices)
    }

    fn extents(&mut self, extents: &[Extent]) -> Result<Numbers, Stop> {
        let mut numbers = Numbers::new();
        for extent in extents {
            numbers.push(match extent {
                Extent::Const(n) => *n,
                Extent::Value(v) => self.index(*v)?,
            });
        }
        Ok(numbers)
    }

    fn tensor(&self, value: ValueId) -> Result<&View, Stop> {
        match &self.values[value.0 as usize] {
            Some(Value::Tensor(view)) => Ok(view),
            _ => Err(undefined(value)),
        }
    }

    fn set(&mut self, value: ValueId, to: Value) {
        self.values[value.0 as usize] = Some(to);
    }

    fn set_all(&mut self, values: &[ValueId], to: Vec<Value>) {
        values.iter().zip(to).for_each(|(value, to)| self.set(*value, to));
    }

    fn take_all(&self, values: &[ValueId]) -> Result<Vec<Value>, Stop> {
        values.iter().map(|v| self.values[v.0 as usize].ok_or_else(|| undefined(*v))).collect()
    }
}

fn failed(loc: Loc, what: String) -> Diagnostic {
    Diagnostic::error(codes::RUN_FAILED, loc, what, "while the tasks were scheduled")
}

fn unsupported(op: &Op) -> Stop {
    Stop::Unsupported(format!("`{}` at {} cannot stand in an orchestration", op.kind.name(), op.loc))
}

fn undefined(value: ValueId) -> Stop {
    Stop::Unsupported(format!("value %{} has no value of its type", value.0))
}

fn constant(op: &Op) -> Option<Scalar> {
    let dtype = op.attrs.dtype()?;
    Some(match op.attrs.get(AttrKey::Value)? {
        Attr::Int(n) => Scalar::from_int(*n, dtype),
        Attr::Float(x) => Scalar::from_float(*x, dtype),
        Attr::Bool(b) => Scalar::new(*b),
        _ => return None,
    })
}
