//! `console` of a hook: bounded lines in the host's log.

use std::{cell::Cell, io::Write as _, rc::Rc};

use deno_core::v8;

use crate::{
    next::Shared,
    thrown::{copied, plain},
};

/// How much one call may log, in bytes. Guests cause calls; they must not fill a disk.
const MAX_PER_CALL: usize = 64 << 10;

/// How long one line may be, in UTF-16 units.
const MAX_LINE: usize = 8 << 10;

/// What the console of one file has left for the current call.
pub(crate) struct Budget(Cell<usize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(MAX_PER_CALL))
    }
}

impl Budget {
    /// A new call begins.
    pub(crate) fn renew(&self) {
        self.0.set(MAX_PER_CALL);
    }

    /// The lines to write for one text, `None` where the budget is used up already.
    fn lines(&self, label: &str, text: &str) -> Option<String> {
        let left = self.0.get();
        if left == 0 {
            return None;
        }
        let mut lines = String::new();
        for line in text.split('\n') {
            lines.push_str(&format!("hook {label}: {}\n", plain(line)));
            if lines.len() >= left {
                lines.push_str(&format!("hook {label}: [the rest of this call's console is dropped]\n"));
                break;
            }
        }
        self.0.set(left.saturating_sub(lines.len()));
        Some(lines)
    }
}

/// The native end of `console`: takes one text.
pub(crate) fn log(
    scope: &mut v8::PinScope<'_, '_>,
    arguments: v8::FunctionCallbackArguments<'_>,
    _: v8::ReturnValue<'_>,
) {
    let Some(shared) = scope.get_slot::<Rc<Shared>>().cloned() else {
        return;
    };
    let Ok(text) = v8::Local::<v8::String>::try_from(arguments.get(0)) else {
        return;
    };
    let text = copied(scope, text, MAX_LINE);
    if let Some(lines) = shared.console.lines(&shared.label, &text) {
        // Never stdout, which belongs to the protocol. A log that is gone is no reason to
        // fail, and panicking here would end the process.
        let _ = std::io::stderr().write_all(lines.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_forge_lines() {
        let lines = Budget::default().lines("a.js", "one\ntwo\r\u{1b}[2Jx").unwrap();
        assert_eq!(lines, "hook a.js: one\nhook a.js: two  [2Jx\n");
    }

    #[test]
    fn a_call_logs_a_bounded_amount() {
        let budget = Budget::default();
        let mut written = 0;
        let mut last = String::new();
        for _ in 0..1000 {
            if let Some(lines) = budget.lines("a.js", &"x".repeat(1000)) {
                written += lines.len();
                last = lines;
            }
        }
        assert!(written < MAX_PER_CALL + 2000, "{written}");
        assert!(
            last.ends_with("[the rest of this call's console is dropped]\n"),
            "{last}"
        );
        budget.renew();
        assert!(budget.lines("a.js", "again").is_some());
    }
}
