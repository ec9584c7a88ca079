//! The clock that takes running guests to a halt.
//!
//! Compiled code compares a counter, the epoch, at every loop and call. A plain thread
//! raises it while any guest is at work, and sleeps for good while none is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use wasmtime::{Engine, EngineWeak};

/// How often a running guest is made to yield its thread and to look at its deadline. Short
/// enough that one spinning guest doesn't hold up the others on its thread, long enough
/// that the wake-ups cost nothing.
const TICK: Duration = Duration::from_millis(5);

/// Raises the epoch of one engine for as long as the engine lives.
pub(crate) struct Ticker {
    busy: Arc<AtomicUsize>,
    thread: Thread,
}

impl Ticker {
    /// Starts the thread. Errors where the system gives none.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let busy = Arc::new(AtomicUsize::new(0));
        let (weak, counted) = (engine.weak(), busy.clone());
        let handle = thread::Builder::new()
            .name("seam-wasm-epoch".into())
            .spawn(move || tick(&weak, &counted))?;
        Ok(Self {
            busy,
            thread: handle.thread().clone(),
        })
    }

    /// Keeps the epoch rising until the guard is dropped.
    pub(crate) fn run(&self) -> Running {
        if self.busy.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Running(self.busy.clone())
    }
}

impl Drop for Ticker {
    /// Wakes the thread, so that it sees that the engine is gone.
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

/// A guest is at work.
pub(crate) struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(engine: &EngineWeak, busy: &AtomicUsize) {
    loop {
        if busy.load(Ordering::SeqCst) == 0 {
            thread::park();
        }
        thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
    }
}
