//! What the end of a guest without an answer is called.
//!
//! Whatever stands here is a failure of the hook, never a decision.

use std::time::Duration;

use seam_contract::{Error, stack::timed_out};
use wasmtime::{PoolConcurrencyLimitError, Trap};

use crate::{
    budget::OverBudget,
    limits::{GUEST_MEMORY, INSTANCES},
    state::State,
};

/// How much of wasmtime's own words is kept, in characters: enough for the cause, not for
/// a page of it.
const SHOWN: usize = 400;

/// The failure of a call that ended with this error. `limit` is the time the call had.
pub(crate) fn failure(error: &wasmtime::Error, state: &State, limit: Duration) -> Error {
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return Error::hook(format!(
            "no instance is free: {INSTANCES} hook calls are under way in this process; run fewer executions at once"
        ));
    }
    if let Some(over) = error.downcast_ref::<OverBudget>() {
        return Error::hook(format!("trapped: {over}"));
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => timed_out(limit),
        trap => {
            let what = trap.map_or_else(|| shown(error), |trap| words(*trap));
            // A guest whose allocator is refused aborts, so the trap itself only says
            // `unreachable`.
            let why = if state.limiter.memory_refused {
                format!(", after it was refused memory beyond {} MiB", GUEST_MEMORY >> 20)
            } else {
                String::new()
            };
            Error::hook(format!("trapped: {what}{why}"))
        }
    }
}

/// The words of an error and its causes, bounded, with a hint where there is one to give.
pub(crate) fn shown(error: &wasmtime::Error) -> String {
    let text = format!("{error:#}");
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str(" [cut]");
    }
    // wasmtime has no type for this one, and the text alone helps nobody: the bindings of C
    // keep borrowed handles unless told otherwise.
    if text.contains("borrow handles still remain") {
        shown.push_str("; drop them, or generate the bindings with --autodrop-borrows yes");
    }
    shown
}

fn words(trap: Trap) -> String {
    match trap {
        Trap::StackOverflow => "the stack is full (recursion without an end?)".into(),
        Trap::UnreachableCodeReached => "unreachable code was reached (a panic or an abort of the guest)".into(),
        other => {
            let text = other.to_string();
            text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned()
        }
    }
}
