//! Weaving copies of a body: what two of them compute does not depend on one another, but each is a long chain. Processors look only some
//! dozens of vector instructions ahead, which is less than one copy, so the copies must stand side by side in the code.

use std::collections::HashSet;

use super::{Builder, Inst, Op};

impl Builder<'_> {
    /// Where the next instruction of the open block will stand.
    pub fn position(&self) -> usize {
        self.levels.last().map_or(0, |level| level.insts.len())
    }

    /// Takes turns between the instructions `start..middle` and those from `middle` on, which must be two copies of a body whose accesses
    /// to memory may be done in any order. Copies with nested blocks or other effects stay as they are.
    pub fn interleave(&mut self, start: usize, middle: usize) {
        let Some(level) = self.levels.last_mut() else { return };
        if !level.insts[start..].iter().all(is_movable) {
            return;
        }
        let mut second = level.insts.split_off(middle).into_iter().peekable();
        let first = level.insts.split_off(start);
        // The second copy may use what the first computed for both.
        let mut pending: HashSet<_> = first.iter().flat_map(|inst| inst.results.iter().copied()).collect();
        for inst in first {
            inst.results.iter().for_each(|value| {
                pending.remove(value);
            });
            level.insts.push(inst);
            level.insts.extend(second.next_if(|inst| inst.args.iter().all(|arg| !pending.contains(arg))));
        }
        level.insts.extend(second);
    }
}

/// Whether the instruction may change places with those of another copy.
fn is_movable(inst: &Inst) -> bool {
    inst.blocks.is_empty() && (inst.op.is_pure() || matches!(inst.op, Op::Load(_) | Op::Store(_) | Op::Prefetch(_)))
}

#[cfg(test)]
mod tests {
    use crate::codegen::host::cpu::{Isa, Target};
    use crate::codegen::host::lir::{Builder, Module, Type, Value, print_module, verify};

    /// A module with one kernel, whose body weaves what it wrote from the two positions on.
    fn woven(write: impl Fn(&mut Builder<'_>) -> (usize, usize)) -> String {
        let mut module = Module::new(Target::of(Isa::Avx2));
        module.kernel("k", |b| {
            let (start, middle) = write(b);
            b.interleave(start, middle);
        });
        verify(&module).unwrap();
        print_module(&module)
    }

    fn square_at(b: &mut Builder<'_>, base: Value, column: i64) {
        let column = b.index(column);
        let x = b.load(Type::VF32, base, column);
        let y = b.mul(x, x);
        b.store(y, base, column);
    }

    #[test]
    fn copies_take_turns() {
        let text = woven(|b| {
            let base = b.arg_ptr(0);
            let start = b.position();
            square_at(b, base, 0);
            let middle = b.position();
            square_at(b, base, 8);
            (start, middle)
        });
        let order: Vec<&str> = ["load", "mul", "store"].into();
        let found: Vec<&str> = text
            .lines()
            .filter_map(|line| order.iter().find(|op| line.contains(**op) && !line.contains("ptr = load")))
            .copied()
            .collect();
        assert_eq!(found, ["load", "load", "mul", "mul", "store", "store"], "{text}");
    }

    #[test]
    fn what_both_use_comes_first() {
        woven(|b| {
            let (base, zero) = (b.arg_ptr(0), b.index(0));
            let start = b.position();
            let x = b.load(Type::VF32, base, zero);
            let y = b.mul(x, x);
            let z = b.add(y, x);
            b.store(z, base, zero);
            let middle = b.position();
            // Value numbering finds the last value of the first copy.
            let again = b.add(y, x);
            let twice = b.add(again, again);
            b.store(twice, base, zero);
            (start, middle)
        });
    }

    #[test]
    fn copies_that_may_fail_stay() {
        let text = woven(|b| {
            let (base, zero) = (b.arg_ptr(0), b.index(0));
            let start = b.position();
            let x = b.load(Type::INDEX, base, zero);
            let bad = b.cmp(crate::codegen::host::lir::Cmp::Lt, x, zero);
            b.fail_if(bad, 1);
            let middle = b.position();
            square_at(b, base, 8);
            (start, middle)
        });
        assert!(text.find("fail").unwrap() < text.find("mul").unwrap(), "{text}");
    }
}
