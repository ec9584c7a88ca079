//! Stopping an isolate from another thread, and knowing why it stopped.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use ::deno_core::v8::IsolateHandle;
use tokio::sync::Notify;

use crate::watchdog;

/// Why an isolate was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// It ran longer than it may.
    TimeLimit = 1,
    /// It wanted more memory than it may have.
    Memory = 2,
    /// Whoever started it does not want the result any more.
    Cancelled = 3,
}

impl Cause {
    fn from_u8(value: u8) -> Option<Self> {
        [Self::TimeLimit, Self::Memory, Self::Cancelled]
            .into_iter()
            .find(|cause| *cause as u8 == value)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimeLimit => "it ran longer than its time limit",
            Self::Memory => "it used more memory than its limit",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Stops one isolate, from any thread. Clones stop the same isolate.
///
/// The first cause counts until the isolate is resumed. V8 can lose a single request to
/// terminate (it is withdrawn while an error is converted), so a watchdog repeats it
/// until the isolate's owner has acknowledged it.
#[derive(Clone)]
pub struct Terminator(Arc<Inner>);

struct Inner {
    cause: AtomicU8,
    /// Counts resumptions, so that a deadline armed for an earlier run can't stop this one.
    /// The lock also orders repeated termination against resumption.
    run: Mutex<u64>,
    handle: IsolateHandle,
    stopped: Notify,
}

impl Terminator {
    pub(crate) fn new(handle: IsolateHandle) -> Self {
        Self(Arc::new(Inner {
            cause: AtomicU8::new(0),
            run: Mutex::new(0),
            handle,
            stopped: Notify::new(),
        }))
    }

    /// Stops the isolate: running script unwinds, and waiting for one ends.
    pub fn terminate(&self, cause: Cause) {
        let run = self.lock();
        self.stop(&run, cause);
    }

    /// Why the isolate was stopped, if it was.
    pub fn cause(&self) -> Option<Cause> {
        Cause::from_u8(self.0.cause.load(Ordering::Acquire))
    }

    /// Waits until the isolate is stopped.
    pub async fn stopped(&self) -> Cause {
        loop {
            let stopped = self.0.stopped.notified();
            tokio::pin!(stopped);
            // Registered before the cause is read: a stop in between is not missed.
            stopped.as_mut().enable();
            if let Some(cause) = self.cause() {
                return cause;
            }
            stopped.await;
        }
    }

    /// Stops the isolate with [`Cause::TimeLimit`] after this time, unless the returned
    /// guard is dropped or the isolate resumed before.
    #[must_use = "dropping it disarms the limit"]
    pub fn arm(&self, limit: Duration) -> Armed {
        let run = *self.lock();
        let at = Instant::now().checked_add(limit);
        Armed(at.map(|at| {
            watchdog::watch(
                at,
                Watched {
                    terminator: self.clone(),
                    run,
                },
            )
        }))
    }

    /// Makes the isolate usable again: the cause is forgotten, no repeated request comes
    /// through any more. To be called by the owner once script has unwound.
    pub(crate) fn resume(&self) {
        let mut run = self.lock();
        *run += 1;
        self.0.cause.store(0, Ordering::Release);
        self.0.handle.cancel_terminate_execution();
    }

    fn stop(&self, run: &MutexGuard<'_, u64>, cause: Cause) {
        if self
            .0
            .cause
            .compare_exchange(0, cause as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            return;
        }
        self.0.handle.terminate_execution();
        self.0.stopped.notify_waiters();
        watchdog::watch(
            Instant::now() + watchdog::REPEAT,
            Watched {
                terminator: self.clone(),
                run: **run,
            },
        )
        .forget();
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // Nothing that holds the lock can leave it half changed.
        self.0.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Terminator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminator").field("cause", &self.cause()).finish()
    }
}

/// A time limit that is being watched. Dropping it disarms it.
#[derive(Debug)]
#[must_use = "dropping it disarms the limit"]
pub struct Armed(#[expect(dead_code, reason = "held for its destructor")] Option<watchdog::Watch>);

/// What the watchdog comes back to: a deadline at first, then repeated termination.
pub(crate) struct Watched {
    terminator: Terminator,
    run: u64,
}

impl Watched {
    /// The time has come. Says whether it wants to be asked again after
    /// [`watchdog::REPEAT`].
    pub(crate) fn due(&self) -> bool {
        let run = self.terminator.lock();
        if *run != self.run {
            return false;
        }
        if self.terminator.cause().is_none() {
            self.terminator.stop(&run, Cause::TimeLimit);
            // `stop` has set up the repetition.
            return false;
        }
        // False once the isolate is gone.
        self.terminator.0.handle.terminate_execution()
    }
}
