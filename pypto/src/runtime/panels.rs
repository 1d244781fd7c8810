//! Right factors of products in panels ([`gemm::panels`](crate::codegen::host::gemm::panels)): which words of a call they are, and how
//! they are made of arguments that are weights.

use super::kernel::Kernel;
use super::program::Source;
use super::schedule::Word;
use crate::codegen::host::gemm::panels::PanelParameter;
use crate::ir::AttrKey;
use crate::ir::{Block, DType, Function, ValueId};
use crate::language::argument::TensorArgument;
use crate::language::weights::PanelKey;
use crate::memory::Block as Memory;
use crate::ops::OpKind;

/// The words for panels of a program: they follow those of its parameters.
#[derive(Debug, Default)]
pub struct PanelWords {
    /// Which parameters of the entry, in which order of elements.
    wanted: Vec<PanelParameter>,
    /// The first of the words.
    first: usize,
}

impl PanelWords {
    /// The parameters that the entry hands as they are to a kernel that may read them in panels.
    pub fn of(entry: &Function, kernels: &[Kernel]) -> PanelWords {
        let mut words = PanelWords { wanted: Vec::new(), first: entry.params.len() };
        if kernels.iter().any(|kernel| !kernel.panels.is_empty()) {
            words.collect(&entry.body, entry, kernels);
        }
        words
    }

    fn collect(&mut self, block: &Block, entry: &Function, kernels: &[Kernel]) {
        for op in &block.ops {
            op.regions.iter().for_each(|region| self.collect(region, entry, kernels));
            let callee = (op.kind == OpKind::Call).then(|| op.attrs.text(AttrKey::Callee)).flatten();
            let Some(kernel) = callee.and_then(|name| kernels.iter().find(|kernel| kernel.name == name)) else {
                continue;
            };
            for panels in &kernel.panels {
                let wanted = op.operands.get(panels.parameter).and_then(|&operand| of_entry(entry, operand, *panels));
                if let Some(wanted) = wanted.filter(|wanted| !self.wanted.contains(wanted)) {
                    self.wanted.push(wanted);
                }
            }
        }
    }

    /// The sources of the words; `sources` are those of the parameters.
    pub(super) fn sources(&self, sources: &[Source]) -> Vec<Source> {
        let source = |wanted: &PanelParameter| match sources[wanted.parameter] {
            Source::Pointer(argument) => Source::Panels(argument, wanted.width, wanted.transposed),
            other => other,
        };
        self.wanted.iter().map(source).collect()
    }

    /// The words that a call of the kernel with these operands has after those of its parameters.
    pub fn of_call(
        &self,
        entry: &Function,
        panels: &[PanelParameter],
        operands: &[ValueId],
    ) -> impl Iterator<Item = Word> {
        panels.iter().map(|panels| {
            let wanted = operands.get(panels.parameter).and_then(|&operand| of_entry(entry, operand, *panels));
            let at = wanted.and_then(|wanted| self.wanted.iter().position(|known| *known == wanted));
            at.map_or(Word::Const(0), |at| Word::Scalar(self.first + at))
        })
    }
}

/// The same of the entry's parameter, where the operand is one.
fn of_entry(entry: &Function, operand: ValueId, panels: PanelParameter) -> Option<PanelParameter> {
    let parameter = entry.params.iter().position(|param| param.value == operand)?;
    Some(PanelParameter { parameter, ..panels })
}

/// Address of an argument's panels; 0 where it has none.
#[cold]
pub fn address(tensor: &TensorArgument<'_>, width: usize, transposed: bool) -> u64 {
    let (Some(weights), &[rows, columns]) = (tensor.weights, tensor.dims()) else { return 0 };
    if tensor.dtype != DType::F32 || !tensor.is_contiguous() || rows <= 0 || columns <= 0 {
        return 0;
    }
    let key = PanelKey { address: tensor.data as usize, dims: [rows, columns], width, transposed };
    // SAFETY: a contiguous tensor of these extents, which nobody writes while the argument lives.
    let matrix = unsafe { std::slice::from_raw_parts(tensor.data.cast::<f32>(), (rows * columns) as usize) };
    weights.panels(key, || panels(matrix, columns as usize, width, transposed)) as u64
}

/// The matrix in panels; `None` where there is no memory for them.
fn panels(matrix: &[f32], columns: usize, width: usize, transposed: bool) -> Option<Memory> {
    let rows = matrix.len() / columns;
    let (depth, across) = if transposed { (columns, rows) } else { (rows, columns) };
    let count = across.div_ceil(width).checked_mul(depth)?.checked_mul(width)?;
    let memory = Memory::zeroed(count.checked_mul(size_of::<f32>())?)?;
    // SAFETY: zeroed memory of that size, which nobody else knows of; it is aligned to cache lines.
    let out = unsafe { std::slice::from_raw_parts_mut(memory.start().as_ptr().cast::<f32>(), count) };
    for (panel, out) in out.chunks_exact_mut(depth * width).enumerate() {
        let first = panel * width;
        let inside = width.min(across - first);
        for (step, row) in out.chunks_exact_mut(width).enumerate() {
            if transposed {
                (0..inside).for_each(|j| row[j] = matrix[(first + j) * columns + step]);
            } else {
                let from = step * columns + first;
                row[..inside].copy_from_slice(&matrix[from..from + inside]);
            }
        }
    }
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_every_element_once_and_zeros_beyond() {
        let (rows, columns, width) = (3, 5, 4);
        let matrix: Vec<f32> = (1..=15).map(|i| i as f32).collect();
        for transposed in [false, true] {
            let memory = panels(&matrix, columns, width, transposed).unwrap();
            let (depth, across) = if transposed { (columns, rows) } else { (rows, columns) };
            let count = across.div_ceil(width) * depth * width;
            // SAFETY: as large as `panels` makes it.
            let made = unsafe { std::slice::from_raw_parts(memory.start().as_ptr().cast::<f32>(), count) };
            for j in 0..across.next_multiple_of(width) {
                for i in 0..depth {
                    let [row, column] = if transposed { [j, i] } else { [i, j] };
                    let want = if j < across { matrix[row * columns + column] } else { 0.0 };
                    assert_eq!(made[(j / width * depth + i) * width + j % width], want, "({i}, {j}) {transposed}");
                }
            }
        }
    }
}
