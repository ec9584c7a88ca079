//! One thread that keeps the time of all isolates.
//!
//! It ends what exceeds its limit even when the isolate's own thread is stuck in script,
//! and repeats a termination until it has been acknowledged.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::terminator::Watched;

/// How often a termination is repeated. Often enough that a lost request is not noticed,
/// rarely enough to cost nothing.
pub(crate) const REPEAT: Duration = Duration::from_millis(5);

/// Watches until this time. Dropping the answer ends it.
pub(crate) fn watch(at: Instant, watched: Watched) -> Watch {
    static DOG: LazyLock<&'static Dog> = LazyLock::new(|| {
        let dog: &'static Dog = Box::leak(Box::default());
        let spawned = std::thread::Builder::new()
            .name("seam-watchdog".into())
            .spawn(move || dog.run());
        // Without it no limit would hold: better not to run any script at all.
        spawned.expect("the watchdog thread of the isolates cannot be started");
        dog
    });
    DOG.add(at, watched)
}

/// One deadline being watched.
pub(crate) struct Watch {
    dog: &'static Dog,
    key: (Instant, u64),
}

impl Watch {
    /// Goes on watching without a guard.
    pub(crate) fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.dog.lock().deadlines.remove(&self.key);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.key.0)
    }
}

#[derive(Default)]
struct Dog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    deadlines: BTreeMap<(Instant, u64), Watched>,
    next: u64,
}

impl Dog {
    fn add(&'static self, at: Instant, watched: Watched) -> Watch {
        let mut state = self.lock();
        state.next += 1;
        let key = (at, state.next);
        let earliest = state.deadlines.first_key_value().is_none_or(|(first, _)| key < *first);
        state.deadlines.insert(key, watched);
        if earliest {
            self.changed.notify_one();
        }
        Watch { dog: self, key }
    }

    fn run(&'static self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            match state.deadlines.first_entry() {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(first) if first.key().0 > now => {
                    let pause = first.key().0 - now;
                    let waited = self.changed.wait_timeout(state, pause);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(first) => {
                    let watched = first.remove();
                    // Not under the lock: it may come back with a new deadline.
                    drop(state);
                    if watched.due() {
                        self.add(Instant::now() + REPEAT, watched).forget();
                    }
                    state = self.lock();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
