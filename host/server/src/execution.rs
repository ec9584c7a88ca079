//! Executions: scripts run against the stacks, so many at a time.

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use seam_contract::{Caller, record::Recorder};
use seam_sandbox::{Limits, Line, Outcome, Script, ScriptError, Seam, Status};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::stacks::Stacks;

/// The longest time limit a caller can ask for, in seconds: clients give up on longer
/// calls.
pub const MAX_TIME_SECS: u64 = 300;

/// The smallest heap limit, in MiB.
pub const MIN_HEAP_MB: u64 = Limits::MIN_HEAP_MB as u64;

/// The largest heap limit a caller can ask for, in MiB. All that run at the same time may
/// ask for it.
pub const MAX_HEAP_MB: u64 = 1024;

/// How many scripts run at the same time. Each holds a thread and up to its heap limit.
pub const RUNNING: usize = 16;

/// How many more wait for their turn. Beyond that a client is better told than kept.
pub const WAITING: usize = 256;

/// Runs scripts.
pub struct Executions {
    stacks: Stacks,
    recorder: Option<Arc<dyn Recorder>>,
    /// Places for running scripts.
    running: Semaphore,
    /// Places for running and waiting ones.
    admitted: Semaphore,
    stop: CancellationToken,
    process: String,
    count: AtomicU64,
}

/// One script to run.
pub struct Job {
    /// What to run.
    pub script: Script,
    /// How long, and in how much memory.
    pub limits: Limits,
    /// Where console lines are sent as they come: those that the outcome will have.
    pub console: Option<mpsc::UnboundedSender<Line>>,
    /// Stops it.
    pub cancelled: CancellationToken,
}

/// A script that was run.
#[derive(Debug)]
pub struct Ended {
    /// The name of the execution, as records have it.
    pub execution: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// Nothing was run: too many are waiting already, or the server is ending.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server is busy: {RUNNING} scripts run and {WAITING} wait; try again later"
        )
    }
}

impl Error for Busy {}

impl Executions {
    /// Executions against these stacks, their operations reported to `recorder`.
    pub fn new(stacks: Stacks, recorder: Option<Arc<dyn Recorder>>) -> Self {
        let begun = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            stacks,
            recorder,
            running: Semaphore::new(RUNNING),
            admitted: Semaphore::new(RUNNING + WAITING),
            stop: CancellationToken::new(),
            process: format!("{:x}", begun.as_millis()),
            count: AtomicU64::new(1),
        }
    }

    /// What scripts can do.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Cancelling this ends every execution, and no more are begun.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Ends every execution and waits until the last is gone.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.admitted.close();
        // Each place is given back by an execution that has ended.
        let all = u32::try_from(RUNNING).unwrap_or(u32::MAX);
        let _ = self.running.acquire_many(all).await;
    }

    /// Runs one script, after waiting for its turn.
    ///
    /// Errors: there is no room to wait in.
    pub async fn run(&self, job: Job) -> Result<Ended, Busy> {
        let _admitted = self.admitted.try_acquire().map_err(|_| Busy)?;
        let execution = format!("{}-{}", self.process, self.count.fetch_add(1, Ordering::Relaxed));
        let cancelled = async {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = job.cancelled.cancelled() => {}
            }
        };
        tokio::pin!(cancelled);
        let _running = tokio::select! {
            biased;
            () = &mut cancelled => return Ok(Ended { execution, outcome: not_begun() }),
            running = self.running.acquire() => running.map_err(|_| Busy)?,
        };
        let mut caller = Caller::new(execution.clone());
        caller.recorder.clone_from(&self.recorder);
        let seam = Seam {
            fetch: self.stacks.fetch.clone(),
        };
        let outcome = seam_sandbox::run(job.script, job.limits, &seam, Arc::new(caller), job.console, cancelled).await;
        Ok(Ended { execution, outcome })
    }
}

/// The outcome of a script that was given up before its turn came.
fn not_begun() -> Outcome {
    let message = "the execution was cancelled before it began".into();
    Outcome {
        status: Status::Cancelled,
        result: None,
        error: Some(ScriptError {
            name: "Cancelled".into(),
            message,
            stack: None,
        }),
        console: Vec::new(),
        duration: Duration::ZERO,
    }
}

/// The limits of a script; its output has the sandbox's own.
pub fn limits(time: Duration, heap_mb: u64) -> Limits {
    Limits {
        time,
        heap_mb: usize::try_from(heap_mb).unwrap_or(usize::MAX),
        ..Limits::default()
    }
}
