//! What one call of a guest may hold on to in the host's memory.
//!
//! The guest's own memory is limited by wasmtime; requests, answers and bodies that the
//! host keeps for it are not, so they are counted here.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::limits::HOST_BYTES;

/// What is left of a call's allowance.
#[derive(Clone)]
pub(crate) struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// A whole allowance.
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(HOST_BYTES)))
    }

    /// Takes `bytes` until the charge is dropped. An error, which ends the guest, where
    /// that much is not left.
    pub(crate) fn charge(&self, bytes: usize) -> Result<Charge, OverBudget> {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .map_err(|_| OverBudget)?;
        Ok(Charge {
            budget: self.clone(),
            bytes,
        })
    }
}

/// Bytes that are counted against a budget.
pub(crate) struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// The guest made the host hold more than it may.
#[derive(Debug)]
pub(crate) struct OverBudget;

impl std::fmt::Display for OverBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "holds requests, answers and bodies of more than {} MiB",
            HOST_BYTES >> 20
        )
    }
}

impl std::error::Error for OverBudget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_taken_again() {
        let budget = Budget::new();
        let all = budget.charge(HOST_BYTES).unwrap();
        assert!(budget.charge(1).is_err());
        drop(all);
        assert!(budget.charge(HOST_BYTES).is_ok());
    }
}
