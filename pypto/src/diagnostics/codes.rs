//! Every diagnostic code, declared once. A row gives the constant, the number, and a summary; the long explanation is the
//! page `docs/errors/PTOxxxx.md`, which `pypto explain` prints.
//!
//! Numbers never change their meaning. 00xx are faults of the compiler, 01xx belong to calls, 02xx to specialization,
//! 03xx to verification of what a kernel writes, 04xx to IR text, 05xx to running kernels.

use super::Code;

/// A row of the table.
#[derive(Debug)]
pub struct CodeInfo {
    pub code: Code,
    /// One line, without values.
    pub summary: &'static str,
    /// Cause, example and fix, in Markdown.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($( $name:ident = $number:literal $summary:literal; )*) => {
        $(
            #[doc = $summary]
            #[allow(clippy::zero_prefixed_literal, reason = "codes are written with four digits, as users see them")]
            pub const $name: Code = Code($number);
        )*

        /// Every code, in ascending order.
        pub const ALL: &[CodeInfo] = &[ $( CodeInfo {
            code: $name,
            summary: $summary,
            explanation: include_str!(concat!("../../../docs/errors/PTO", stringify!($number), ".md")),
        } ),* ];
    };
}

codes! {
    INTERNAL = 0001 "internal error of the compiler";

    ARGUMENT_EXTENT = 0101 "two parameters, or a parameter and its contract, disagree on an extent";
    ARGUMENT_TYPE = 0102 "an argument's element type or rank is not the parameter's";
    ARGUMENT_LAYOUT = 0103 "an argument's memory layout is not accepted";
    ARGUMENT_ALIAS = 0104 "an argument that is written shares memory with another";
    ARGUMENT_COUNT = 0105 "a call gives another number of arguments than the kernel takes";
    EXTENT_UNKNOWN = 0106 "an extent that the kernel needs is given neither by the signature nor by an argument";
    META_VALUE = 0107 "a meta parameter is unknown or has an illegal value";
    RECOMPILATION = 0108 "a kernel was compiled in many variants";
    ARGUMENT_SIZE = 0109 "a tensor is larger than memory can hold";

    SHAPE_MISMATCH = 0201 "shapes of an operation's operands disagree";
    DTYPE_MISMATCH = 0202 "element types of an operation's operands disagree";
    CONTRACTION = 0203 "contraction dimensions of a matrix product differ";
    OUT_OF_BOUNDS = 0204 "an access with known offsets lies outside a tensor or tile";
    DROPPED_REMAINDER = 0205 "a division of extents drops a remainder";
    DYNAMIC_EXTENT = 0206 "a value that must be known at specialization depends on a run-time value";
    PARAMETER_RANGE = 0207 "a parameter of an operation is out of its range";
    BRANCH_TYPES = 0208 "a value has another type after one branch than after the other";
    LOOP_TYPES = 0209 "a variable changes its type within a loop";
    ELEMENT_TYPE = 0210 "an operation does not exist for the element type";
    UNKNOWN_NAME = 0211 "no operation or variable of that name for the value";
    OPERAND = 0212 "an operand is of a kind that the operation does not take";
    RANK = 0213 "an operand has the wrong number of dimensions";
    PARTLY_VALID = 0214 "an operation needs a fully valid tile and gets a partly valid one";
    CONSTANT_ARITHMETIC = 0215 "arithmetic on constants has no result";
    FUNCTION_KIND = 0216 "a construct is not available in this kind of function";
    RECURSION = 0217 "a function calls itself";
    MEMORY = 0218 "values do not fit into on-chip memory";
    TARGET_SUPPORT = 0219 "the target does not have the operation";
    UNSUPPORTED = 0220 "a construct that the compiler does not translate";
    ASSERTION = 0221 "an assertion is false for the arguments of the specialization";
    ASSEMBLER = 0222 "the assembler for an accelerator refuses a kernel";
    INEXACT_SCALAR = 0223 "a function of a scalar has other bits eagerly than compiled";

    READ_BEFORE_WRITE = 0301 "an `#[out]` parameter is read before it is written";
    NOT_WRITTEN = 0302 "an `#[out]` parameter is not written in full";
    WRITTEN_ON_SOME_PATHS = 0303 "an `#[out]` parameter is written on some paths only";
    OVERLAPPING_WRITES = 0310 "parallel iterations touch the same elements";
    NOT_DISJOINT = 0311 "parallel iterations cannot be proved independent";

    IR_TEXT = 0401 "IR text does not parse";
    IR_INVALID = 0402 "IR breaks an invariant";

    RUN_FAILED = 0501 "a run-time check of a kernel failed";
    DEVICE = 0502 "a program for a device is called where none is";
}

/// The row of a code.
pub fn find(code: Code) -> Option<&'static CodeInfo> {
    ALL.binary_search_by_key(&code, |info| info.code).ok().map(|index| &ALL[index])
}

/// The explanation of a code: cause, example and fix, in Markdown. `None` for an unknown code.
pub fn explain(code: Code) -> Option<&'static str> {
    find(code).map(|info| info.explanation)
}

/// Reads `PTO0203`, `pto0203`, `0203` or `203`.
pub fn parse(text: &str) -> Option<Code> {
    let digits = text.strip_prefix("PTO").or_else(|| text.strip_prefix("pto")).unwrap_or(text);
    digits.parse().ok().map(Code).filter(|code| find(*code).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_have_pages() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        for info in ALL {
            assert!(
                info.explanation.starts_with(&format!("# {}: ", info.code)),
                "docs/errors/{}.md needs a heading with its code",
                info.code
            );
            assert!(info.summary.len() <= 100);
        }
    }

    #[test]
    fn codes_parse_in_every_spelling() {
        for text in ["PTO0203", "pto0203", "0203", "203"] {
            assert_eq!(parse(text), Some(CONTRACTION));
        }
        assert_eq!(parse("PTO9999"), None);
        assert_eq!(parse("x"), None);
    }
}
