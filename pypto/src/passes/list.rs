//! The list of passes: name, documentation, what each requires and establishes, and the function that does it.

use super::tensor_tiling::Limits;
use super::{
    carry_through_memory, cse, dce, flatten_dispatch, fold_accumulate, fold_transpose, hoist, inline, inline_mixed,
    outline, prove_parallel, settle_outputs, simplify, split_tallies, tensor_tiling, unfold_accumulate, unroll,
};
use crate::diagnostics::Diagnostics;
use crate::ir::{Block, FunctionKind, LoopKind, Program};
use crate::ops::OpKind;

/// What passes may know besides the program.
#[derive(Clone, Copy, Debug)]
pub struct PassContext {
    pub limits: Limits,
}

impl Default for PassContext {
    /// For one thread.
    fn default() -> PassContext {
        PassContext { limits: Limits::for_threads(1) }
    }
}

/// What holds of a program from the pass on that establishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// There are no inline functions, and in-core functions call nothing.
    Inlined,
    /// There are no loops to unroll.
    Unrolled,
    /// No loop is `auto`; parallel ones are proved independent.
    LoopsProved,
    /// Extents of tiles are constants wherever the target needs them.
    TensorsTiled,
    /// Compute is in in-core functions, the rest only dispatches them.
    Outlined,
}

impl Property {
    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Property::Inlined => "inlined",
            Property::Unrolled => "unrolled",
            Property::LoopsProved => "loops_proved",
            Property::TensorsTiled => "tensors_tiled",
            Property::Outlined => "outlined",
        }
    }

    /// Looks whether it holds, for those that show in the program.
    ///
    /// # Errors
    /// What contradicts it.
    pub fn check(self, program: &Program) -> Result<(), String> {
        match self {
            Property::Inlined => match program.functions.iter().find(|f| f.kind == FunctionKind::Inline) {
                Some(f) if program.entry_function().name != f.name => Err(format!("function `{}` is inline", f.name)),
                _ => Ok(()),
            },
            Property::Unrolled => no_loop(program, LoopKind::Unroll),
            Property::LoopsProved => no_loop(program, LoopKind::Auto),
            Property::TensorsTiled | Property::Outlined => Ok(()),
        }
    }
}

fn no_loop(program: &Program, kind: LoopKind) -> Result<(), String> {
    fn found(block: &Block, kind: LoopKind) -> bool {
        block.ops.iter().any(|op| {
            (op.kind == OpKind::For && op.attrs.loop_kind() == kind) || op.regions.iter().any(|r| found(r, kind))
        })
    }
    match program.functions.iter().find(|f| found(&f.body, kind)) {
        Some(f) => Err(format!("function `{}` has a loop of kind {kind:?}", f.name)),
        None => Ok(()),
    }
}

/// A pass.
#[derive(Debug)]
pub struct Pass {
    pub name: &'static str,
    pub doc: &'static str,
    pub requires: &'static [Property],
    pub establishes: &'static [Property],
    pub run: fn(&mut Program, &PassContext) -> Result<(), Diagnostics>,
}

macro_rules! passes {
    ($( $(#[doc = $doc:literal])* $constant:ident = $name:literal requires [$($needs:ident),*] establishes [$($gives:ident),*] $run:expr; )*) => {
        $(
            $(#[doc = $doc])*
            pub static $constant: Pass = Pass {
                name: $name,
                doc: concat!($($doc, "\n"),*),
                requires: &[$(Property::$needs),*],
                establishes: &[$(Property::$gives),*],
                run: $run,
            };
        )*

        /// Every pass, in the order of the list.
        pub static ALL: &[&Pass] = &[$(&$constant),*];
    };
}

passes! {
    // ---- shared by all targets ----
    /// Expands calls of inline functions, and calls between in-core functions.
    INLINE = "inline" requires [] establishes [Inlined] |p, _| inline::run(p);
    /// Folds constants, exact identities, constant branches, and loops that run once or never.
    SIMPLIFY = "simplify" requires [] establishes [] |p, _| simplify::run(p);
    /// Expands loops of kind `unroll`.
    UNROLL = "unroll" requires [Inlined] establishes [Unrolled] |p, _| unroll::run(p);
    /// Computes equal pure values once.
    CSE = "cse" requires [] establishes [] |p, _| cse::run(p);
    /// Moves pure scalar operations out of loops that do not change them.
    HOIST = "hoist" requires [] establishes [] |p, _| hoist::run(p);
    /// Removes what nothing uses.
    DCE = "dce" requires [] establishes [] |p, _| dce::run(p);
    /// Finds which `out` parameters are written in full; others become `inout`, or are an error.
    SETTLE_OUTPUTS = "settle_outputs" requires [Inlined, Unrolled] establishes [] |p, _| {
        settle_outputs::settle_outputs(p)
    };

    // ---- host ----
    /// Marks nested orchestrations as inline: one function dispatches.
    FLATTEN_DISPATCH = "flatten_dispatch" requires [] establishes [] |p, _| {
        flatten_dispatch::flatten_dispatch(p);
        Ok(())
    };
    /// Turns a transposed operand of a product into an attribute of the product.
    FOLD_TRANSPOSE = "fold_transpose" requires [] establishes [] |p, _| {
        fold_transpose::fold_transpose(p);
        Ok(())
    };
    /// Proves that parallel loops are independent, and decides which others are.
    PROVE_PARALLEL = "prove_parallel" requires [Inlined, Unrolled] establishes [LoopsProved] |p, _| {
        prove_parallel::prove_parallel(p)
    };
    /// Splits loops that count into a tensor into parts that count side by side.
    SPLIT_TALLIES = "split_tallies" requires [LoopsProved] establishes [] |p, context| {
        split_tallies::split_tallies(p, context.limits.threads);
        Ok(())
    };
    /// Turns values of the size of whole tensors into loops over blocks.
    TENSOR_TILING = "tensor_tiling" requires [Inlined] establishes [TensorsTiled] |p, context| {
        tensor_tiling::tensor_tiling(p, &context.limits);
        Ok(())
    };
    /// Keeps tiles that control flow around calls and allocations carries in tensors.
    CARRY_AROUND_CALLS = "carry_around_calls" requires [Inlined] establishes [] |p, _| {
        carry_through_memory::carry_around_calls(p);
        Ok(())
    };
    /// Turns a product that is added to a value into an accumulating product.
    FOLD_ACCUMULATE = "fold_accumulate" requires [] establishes [] |p, _| {
        fold_accumulate::fold_accumulate(p);
        Ok(())
    };
    /// Moves compute into in-core functions; what remains dispatches them.
    OUTLINE = "outline" requires [Inlined, LoopsProved, TensorsTiled] establishes [Outlined] |p, _| outline::outline(p);

    // ---- Ascend ----
    /// Marks kernels with work for both units of a core as inline: the function that calls them dispatches their parts.
    INLINE_MIXED = "inline_mixed" requires [] establishes [] |p, _| {
        inline_mixed::inline_mixed(p);
        Ok(())
    };
    /// Keeps accumulating products only where the matrix unit can accumulate.
    UNFOLD_ACCUMULATE = "unfold_accumulate" requires [] establishes [] |p, _| {
        unfold_accumulate::unfold_accumulate(p);
        Ok(())
    };
    /// Keeps tiles that control flow with work for both units carries in tensors.
    CARRY_THROUGH_MEMORY = "carry_through_memory" requires [Inlined] establishes [] |p, _| {
        carry_through_memory::carry_through_memory(p);
        Ok(())
    };
    /// As `outline`, with a kernel for one unit of a core each.
    OUTLINE_UNITS = "outline_units" requires [Inlined, LoopsProved, TensorsTiled] establishes [Outlined] |p, _| {
        outline::outline_units(p)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_documented() {
        for (i, pass) in ALL.iter().enumerate() {
            assert!(!pass.doc.trim().is_empty());
            assert!(ALL[..i].iter().all(|other| other.name != pass.name));
        }
    }
}
