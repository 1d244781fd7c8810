//! What `static_print!` says of a kernel while it is specialized.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::ir::Loc;

/// A line that a kernel prints at specialization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The `static_print!`.
    pub loc: Loc,
    pub text: String,
}

type Listener = Arc<dyn Fn(&Printed) + Send + Sync>;

fn listeners() -> &'static Mutex<Vec<Listener>> {
    static LISTENERS: OnceLock<Mutex<Vec<Listener>>> = OnceLock::new();
    LISTENERS.get_or_init(Mutex::default)
}

/// Calls `listener` with every line from now on, on the thread that specializes. The lines go to standard error as well.
pub fn on_static_print(listener: impl Fn(&Printed) + Send + Sync + 'static) {
    listeners().lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
}

/// Tells standard error and the listeners.
pub(super) fn publish(lines: &[Printed]) {
    if lines.is_empty() {
        return;
    }
    let all = listeners().lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut stream = std::io::stderr().lock();
    for line in lines {
        // A closed standard error must not end the program.
        let _ = writeln!(stream, "{}: {}", line.loc, line.text);
        all.iter().for_each(|listener| listener(line));
    }
}
