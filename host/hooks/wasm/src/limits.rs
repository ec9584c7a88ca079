//! What one call of a guest may take, and what all of them may take together.

use std::time::Duration;

use seam_contract::fetch::MAX_BODY;
use wasmtime::ResourceLimiter;

/// The linear memory of one call, all memories of its component together. Room for the
/// largest body in base64, a parsed copy of it and an engine to judge it.
pub const GUEST_MEMORY: usize = 256 << 20;

/// Elements in all tables of one call together. Interpreters compiled to components
/// (Python, JavaScript) need about ten thousand.
pub const TABLE_ELEMENTS: usize = 100_000;

/// Bytes a guest may hand to the host in one call across the boundary: a body and what is
/// around it.
pub(crate) const CROSSING: usize = MAX_BODY + (1 << 20);

/// The same through the JSON door, where a body is base64 and so a third longer.
pub(crate) const DOCUMENT_CROSSING: usize = MAX_BODY / 3 * 4 + (2 << 20);

/// Bytes of requests, answers and bodies that the host keeps for one call of a guest: four
/// bodies at the limit.
pub(crate) const HOST_BYTES: usize = 4 * MAX_BODY;

/// Handles one call may hold. Guests with a garbage collector drop theirs late.
pub(crate) const HANDLES: usize = 10_000;

/// How long a component may take to come up when it is loaded. Nothing but its own start
/// functions runs then.
pub(crate) const START: Duration = Duration::from_secs(10);

/// Stack for compiled code. Rego and the interpreters recurse deeply; the rest of the fiber's
/// stack ([`FIBER_STACK`]) is for host functions.
pub(crate) const WASM_STACK: usize = 1 << 20;

/// The whole stack of a call.
pub(crate) const FIBER_STACK: usize = 2 << 20;

/// How many component instances may be alive at once in one process: layers parked in
/// `next` times executions. Each needs address space for its memories, no memory until it
/// is used.
pub const INSTANCES: u32 = 1024;

/// Counts what one store takes.
#[derive(Default)]
pub(crate) struct Limiter {
    memory: usize,
    elements: usize,
    /// Whether memory was refused: what a guest does next is most likely a consequence.
    pub(crate) memory_refused: bool,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let granted = grow(&mut self.memory, current, desired, GUEST_MEMORY);
        self.memory_refused |= !granted;
        Ok(granted)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.elements, current, desired, TABLE_ELEMENTS))
    }
}

/// Adds the growth to the total, unless that goes beyond the limit.
fn grow(total: &mut usize, current: usize, desired: usize, limit: usize) -> bool {
    let grown = total.saturating_add(desired.saturating_sub(current));
    if grown <= limit {
        *total = grown;
    }
    grown <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_for_all_memories_together() {
        let mut limiter = Limiter::default();
        assert!(limiter.memory_growing(0, GUEST_MEMORY / 2, None).unwrap());
        assert!(limiter.memory_growing(0, GUEST_MEMORY / 2, None).unwrap());
        assert!(!limiter.memory_refused);
        assert!(!limiter.memory_growing(0, 65_536, None).unwrap());
        assert!(limiter.memory_refused);
    }
}
