//! Compiled functions, kept by what they were compiled from.
//!
//! Every policy is the same engine with other data, so the second one needs hardly any
//! compiling. Nothing here outlives the process: what does is in `cache`.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use wasmtime::CacheStore;

/// The most that is kept, in bytes: two components of the size of a Rego engine.
const KEPT: usize = 64 << 20;

/// Compiled functions of this process.
#[derive(Default)]
pub(crate) struct Functions(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    functions: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Functions {
    /// Forgets them all: the memory is better used once everything is loaded.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.functions.get(key).map(|function| Cow::Owned(function.clone()))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = kept.bytes + key.len() + value.len();
        if bytes > KEPT {
            return false;
        }
        kept.bytes = bytes;
        kept.functions.insert(key.to_vec(), value);
        true
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "{} functions, {} bytes", kept.functions.len(), kept.bytes)
    }
}
