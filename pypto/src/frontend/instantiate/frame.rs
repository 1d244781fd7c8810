//! A function that is being walked: the entry of an IR function, or an inline call within it.

use crate::diagnostics::source;
use crate::frontend::generic::{ElementType, Function};
use crate::ir::{DType, FileId};

/// What a walk needs to know of the function that it is in.
pub(super) struct Frame {
    pub function: &'static Function,
    pub file: FileId,
    pub type_args: Vec<DType>,
    /// What `return` at the end gave.
    pub returned: Option<super::value::Value>,
}

impl Frame {
    /// Starts a function; its text becomes known to the renderer.
    pub fn new(function: &'static Function, type_args: Vec<DType>) -> Frame {
        let file = FileId::intern(function.file);
        source::register(source::Captured {
            file,
            line: function.source_line,
            column: function.span.column,
            text: function.source,
        });
        Frame { function, file, type_args, returned: None }
    }

    /// An element type of the function's text.
    pub fn dtype(&self, element: ElementType) -> DType {
        element.resolve(&self.type_args)
    }
}
