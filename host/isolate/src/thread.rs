//! Threads that run guests, as the system's scheduler sees them.

/// A thread, by the system's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// The calling thread.
    pub fn current() -> Self {
        // SAFETY: the call takes nothing and cannot fail.
        Self(unsafe { libc::gettid() })
    }

    /// From now on the thread runs only where the processor has nothing else to do. For
    /// guests that were told to stop and are inside a loop of V8 that does not listen.
    pub fn demote(self) {
        // SAFETY: the structure is fully set and outlives the call, which reads it. A thread
        // that has ended since is an error, which changes nothing.
        unsafe {
            let mut parameters: libc::sched_param = std::mem::zeroed();
            parameters.sched_priority = 0;
            libc::sched_setscheduler(self.0, libc::SCHED_IDLE, &parameters);
        }
    }
}
