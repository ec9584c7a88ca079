//! The host's side: starts a guest's thread, carries its operations to the stack, and
//! sees to it that it ends.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use seam_contract::{Caller, Stack};
use seam_isolate::{Armed, Cause, Stop, Terminator, ThreadId};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
};

use crate::{
    Limits, Outcome, Script,
    console::{Console, Line},
    guest::{self, Start},
    ops::Pending,
    outcome::Ended,
};

/// How long a guest that was told to stop may take. Some of V8's own loops can't be
/// interrupted; a guest inside one is given up. Its thread runs on with what is left of the
/// processor, and ends when the loop does.
const GRACE: Duration = Duration::from_secs(2);

/// How many such threads there may be. Each holds the memory its guest had; beyond this
/// somebody is at it on purpose, and new guests are refused rather than the machine filled.
const MAX_GIVEN_UP: usize = 32;

/// How many there are.
static GIVEN_UP: AtomicUsize = AtomicUsize::new(0);

/// What is configured: where each category of operation goes. A category that is `None`
/// does not exist in the guest.
#[derive(Clone, Default)]
pub struct Seam {
    /// `fetch`.
    pub fetch: Option<Arc<Stack>>,
}

/// Runs one script to its end.
///
/// The end is when the module has settled and nothing it started is pending: un-awaited
/// operations and timers count, so a forgotten `setInterval` runs until the time limit.
///
/// `lines` gets what is printed as it is printed; at most what [`Outcome::console`] will
/// hold. `cancelled` ends the execution when it completes, with an outcome that tells what
/// was printed so far. Dropping the returned future ends it as well. Either way every
/// operation that is under way is dropped.
///
/// To be called on a tokio runtime with time enabled, whose threads descend from the one
/// that called [`init_platform`](crate::init_platform).
pub async fn run(
    script: Script,
    limits: Limits,
    seam: &Seam,
    caller: Arc<Caller>,
    lines: Option<mpsc::UnboundedSender<Line>>,
    cancelled: impl Future<Output = ()> + Send,
) -> Outcome {
    let started = Instant::now();
    let console = Arc::new(Console::new(limits.output_bytes, lines));
    let ended = supervise(script, limits, seam, caller, console.clone(), started, cancelled).await;
    Outcome::new(ended, &limits, console.take(), started.elapsed())
}

async fn supervise(
    script: Script,
    limits: Limits,
    seam: &Seam,
    caller: Arc<Caller>,
    console: Arc<Console>,
    started: Instant,
    cancelled: impl Future<Output = ()> + Send,
) -> Ended {
    let limits = limits.checked().map_err(|error| Stop::Engine(error.to_string()))?;
    if GIVEN_UP.load(Ordering::Relaxed) >= MAX_GIVEN_UP {
        return Err(Stop::Engine(format!(
            "{MAX_GIVEN_UP} earlier scripts cannot be stopped; restart this server"
        )));
    }
    let (fetch, mut fetches) = mpsc::unbounded_channel::<Pending>();
    let leash = Leash::default();
    let mut end = spawn(
        Start {
            script,
            limits,
            console,
            fetch: seam.fetch.is_some().then_some(fetch),
            started,
        },
        leash.clone(),
    )?;
    // Dropped last-in first-out: the operations first, then the guest is told.
    let _held = Held(leash.clone());
    let mut operations = JoinSet::new();
    tokio::pin!(cancelled);
    let late = tokio::time::sleep_until((started + limits.time + GRACE).into());
    tokio::pin!(late);
    let mut given_notice = false;
    let mut told = None;
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut end => break ended.unwrap_or_else(|_| Err(Stop::Engine("the guest's thread broke off".into()))),
            () = &mut cancelled, if !given_notice => {
                // A future that has completed must not be polled again.
                given_notice = true;
                leash.stop(Cause::Cancelled);
            }
            cause = leash.stopped(), if told.is_none() => {
                told = Some(cause);
                operations.abort_all();
                late.as_mut().reset((Instant::now() + GRACE).into());
            }
            () = &mut late => {
                let cause = told.unwrap_or(Cause::TimeLimit);
                leash.give_up(cause);
                break Err(Stop::Terminated(cause));
            }
            Some(pending) = fetches.recv() => {
                if let Some(stack) = &seam.fetch {
                    operations.spawn(carry(stack.clone(), caller.clone(), pending));
                }
            }
            Some(_) = operations.join_next() => {}
        }
    };
    operations.shutdown().await;
    ended
}

/// Takes one operation through the stack, for as long as the guest waits for it.
async fn carry(stack: Arc<Stack>, caller: Arc<Caller>, pending: Pending) {
    let Pending { operation, mut reply } = pending;
    let end = tokio::select! {
        biased;
        () = reply.closed() => return,
        end = stack.run(caller, operation) => end,
    };
    // Nobody waiting any more is the guest's business.
    let _ = reply.send(end);
}

/// Starts the guest's thread.
fn spawn(start: Start, leash: Leash) -> Result<oneshot::Receiver<Ended>, Stop> {
    let (done, end) = oneshot::channel();
    thread::Builder::new()
        .name("seam-guest".into())
        .stack_size(guest::stack_for(&start.script))
        .spawn(move || {
            let limit = start.limits.time.saturating_sub(start.started.elapsed());
            let run = AssertUnwindSafe(|| guest::run(start, |terminator| leash.tie(terminator, limit)));
            let ended = catch_unwind(run);
            leash.untie();
            let ended = ended.unwrap_or_else(|_| {
                Err(Stop::Engine(
                    "a defect of the sandbox ended the script, please report it".into(),
                ))
            });
            // The caller may be gone.
            let _ = done.send(ended);
        })
        .map_err(|error| Stop::Engine(format!("no thread could be started for the script: {error}")))?;
    Ok(end)
}

/// What stops a guest, before it can be stopped as well as after.
#[derive(Clone, Default)]
struct Leash(Arc<LeashInner>);

#[derive(Default)]
struct LeashInner {
    state: Mutex<LeashState>,
    changed: Notify,
}

#[derive(Default)]
struct LeashState {
    stop: Option<Cause>,
    tied: Option<Tied>,
    given_up: bool,
}

struct Tied {
    terminator: Terminator,
    thread: ThreadId,
    _limit: Armed,
}

impl Leash {
    /// The guest on this thread can be stopped from now on. Fails where it has been told to
    /// already.
    fn tie(&self, terminator: &Terminator, limit: Duration) -> Result<(), Stop> {
        let mut state = self.lock();
        if let Some(cause) = state.stop {
            return Err(Stop::Terminated(cause));
        }
        state.tied = Some(Tied {
            terminator: terminator.clone(),
            thread: ThreadId::current(),
            _limit: terminator.arm(limit),
        });
        drop(state);
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// The guest's thread is done with it.
    fn untie(&self) {
        let mut state = self.lock();
        state.tied = None;
        if state.given_up {
            GIVEN_UP.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn stop(&self, cause: Cause) {
        let mut state = self.lock();
        state.stop.get_or_insert(cause);
        if let Some(tied) = &state.tied {
            tied.terminator.terminate(cause);
        }
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Waits until the guest has been told to stop, by whomever: a limit counts too.
    async fn stopped(&self) -> Cause {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read: a change in between is not missed.
            changed.as_mut().enable();
            let (stop, terminator) = {
                let state = self.lock();
                (state.stop, state.tied.as_ref().map(|tied| tied.terminator.clone()))
            };
            match (terminator, stop) {
                (Some(terminator), _) => return terminator.stopped().await,
                (None, Some(cause)) => return cause,
                (None, None) => changed.await,
            }
        }
    }

    /// The guest was told and does not listen.
    fn give_up(&self, cause: Cause) {
        self.stop(cause);
        let mut state = self.lock();
        if let Some(tied) = &state.tied {
            tied.thread.demote();
            state.given_up = true;
            GIVEN_UP.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LeashState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the guest when whoever waits for it does not wait any more.
struct Held(Leash);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.stop(Cause::Cancelled);
    }
}
