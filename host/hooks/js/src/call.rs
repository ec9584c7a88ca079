//! One call on its way to a worker and back, seen from the side that waits.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as blocking},
    time::{Duration, Instant},
};

use seam_contract::{Call, Error, Operation, Output, Refusal, document, document::Bodies, json, stack};
use seam_isolate::{Cause, Terminator};
use tokio::{
    sync::{mpsc, oneshot},
    time::Sleep,
};

use crate::thrown::Thrown;

/// How many calls may wait for one file. More than the executions a server runs at once
/// times the fetches each has in flight would need; a queue that long is a stuck hook.
pub const MAX_WAITING: usize = 1024;

/// How long script may go on after it was told to stop, before its worker is left behind.
/// V8 stops within milliseconds; some of its own loops (sorting four thousand million
/// holes) never ask.
const STUCK: Duration = Duration::from_secs(2);

/// What a worker is asked to do.
pub(crate) enum Task {
    /// Evaluate the file.
    Load,
    /// See whether there is a function of this name.
    Find { rule: Arc<str> },
    /// Call a function.
    Run {
        rule: Arc<str>,
        call: Arc<Call>,
        bodies: Bodies,
        input: Operation,
        role: Part,
    },
}

/// What a function is called as.
pub(crate) enum Part {
    Pre,
    Post { output: Output },
    Layer { line: Line },
    Executor,
}

/// The two directions between a layer's script and the future that runs its descents.
pub(crate) struct Line {
    /// Descents that the script wants: number and input document.
    pub(crate) down: mpsc::UnboundedSender<(u64, String)>,
    /// How they ended.
    pub(crate) up: mpsc::UnboundedReceiver<(u64, Result<Output, Refusal>)>,
}

/// How a call ended inside the isolate.
#[derive(Debug)]
pub(crate) enum End {
    /// It gave `undefined` or `null`.
    Nothing,
    /// It gave a value, here as JSON text.
    Json(String),
    /// It threw.
    Threw(Thrown),
    /// It came to no end of its own.
    Failed(Error),
}

/// Where the end of a call goes.
pub(crate) enum Reply {
    Awaited(oneshot::Sender<End>),
    Blocking(blocking::SyncSender<End>),
}

impl Reply {
    pub(crate) fn send(self, end: End) {
        // Nobody may be left to hear it.
        match self {
            Self::Awaited(reply) => drop(reply.send(end)),
            Self::Blocking(reply) => drop(reply.send(end)),
        }
    }
}

/// One entry of a worker's queue.
pub(crate) struct Job {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) task: Task,
    pub(crate) reply: Reply,
}

impl Part {
    /// The texts of the documents that the function receives, in order.
    pub(crate) fn documents(&self, call: &Call, input: &Operation, bodies: Bodies) -> Vec<String> {
        let mut texts = vec![json::write(&document::input(call, input, bodies))];
        if let Self::Post { output } = self {
            texts.push(json::write(&document::output(output)));
        }
        texts
    }
}

/// A call's place in the queue and in its turn.
pub(crate) struct Ticket {
    id: u64,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
enum State {
    Waiting,
    Running { since: Instant },
    Left,
}

impl Ticket {
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            state: Mutex::new(State::Waiting),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its turn begins. False: nobody waits for it any more.
    pub(crate) fn start(&self) -> bool {
        let mut state = self.lock();
        if let State::Left = *state {
            return false;
        }
        *state = State::Running { since: Instant::now() };
        true
    }

    /// Nobody waits for it any more. Gives what it was doing.
    fn leave(&self) -> State {
        std::mem::replace(&mut *self.lock(), State::Left)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who has the turn at a worker, so that a call can be stopped while it has it and never
/// a moment later.
#[derive(Default)]
pub(crate) struct Desk(Mutex<Turn>);

#[derive(Default)]
struct Turn {
    serving: Option<u64>,
    stopped: Option<(Cause, Instant)>,
    terminator: Option<Terminator>,
}

impl Desk {
    /// The turn of this call begins.
    pub(crate) fn begin(&self, id: u64) {
        let mut turn = self.lock();
        turn.serving = Some(id);
        turn.stopped = None;
    }

    /// An isolate is at work from now on. A stop that came before reaches it now.
    pub(crate) fn attach(&self, terminator: Terminator) {
        let mut turn = self.lock();
        if let Some((cause, _)) = turn.stopped {
            terminator.terminate(cause);
        }
        turn.terminator = Some(terminator);
    }

    /// The isolate is gone.
    pub(crate) fn detach(&self) {
        self.lock().terminator = None;
    }

    /// The turn is over; a stop comes too late from now on.
    pub(crate) fn end(&self) {
        self.lock().serving = None;
    }

    /// Whether a call was told to stop and has not done so for too long.
    pub(crate) fn is_stuck(&self) -> bool {
        let turn = self.lock();
        turn.serving.is_some() && turn.stopped.is_some_and(|(_, at)| at.elapsed() > STUCK)
    }

    fn stop(&self, id: u64, cause: Cause) {
        let mut turn = self.lock();
        if turn.serving == Some(id) {
            turn.stopped = Some((cause, Instant::now()));
            if let Some(terminator) = &turn.terminator {
                terminator.terminate(cause);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is waited for. Dropping it gives the call up.
pub(crate) struct Asked {
    end: oneshot::Receiver<End>,
    ticket: Arc<Ticket>,
    desk: Arc<Desk>,
    timer: Option<(Duration, Pin<Box<Sleep>>)>,
    ended: bool,
}

impl Asked {
    /// `limit` bounds the wait in the queue and, from its start, the run. `None`: the
    /// worker keeps the time.
    pub(crate) fn new(
        end: oneshot::Receiver<End>,
        ticket: Arc<Ticket>,
        desk: Arc<Desk>,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            end,
            ticket,
            desk,
            timer: limit.map(|limit| (limit, Box::pin(tokio::time::sleep(limit)))),
            ended: false,
        }
    }

    /// Waits for the end. May be dropped and asked again until it gave one.
    pub(crate) async fn end(&mut self) -> Result<End, Error> {
        loop {
            let Some((limit, timer)) = &mut self.timer else {
                let end = (&mut self.end).await;
                self.ended = true;
                return end.map_err(|_| crashed());
            };
            tokio::select! {
                biased;
                end = &mut self.end => {
                    self.ended = true;
                    return end.map_err(|_| crashed());
                }
                () = timer.as_mut() => {}
            }
            let limit = *limit;
            let state = *self.ticket.lock();
            match state {
                State::Running { since } if since.elapsed() < limit => {
                    timer.as_mut().reset((since + limit).into());
                }
                State::Running { .. } | State::Left => {
                    self.give_up(Cause::TimeLimit);
                    return Err(stack::timed_out(limit));
                }
                State::Waiting => match self.give_up(Cause::TimeLimit) {
                    State::Waiting => {
                        return Err(Error::hook(format!(
                            "waited {} ms in the queue of its worker, which is busy with other calls",
                            limit.as_millis()
                        )));
                    }
                    // Its turn began in this very moment, as late as could be.
                    _ => return Err(stack::timed_out(limit)),
                },
            }
        }
    }

    /// Gives the call up, wherever it is. Says where it was.
    fn give_up(&mut self, cause: Cause) -> State {
        self.ended = true;
        let state = self.ticket.leave();
        if let State::Running { .. } = state {
            self.desk.stop(self.ticket.id(), cause);
        }
        state
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.ended {
            self.give_up(Cause::Cancelled);
        }
    }
}

fn crashed() -> Error {
    Error::hook("its worker crashed; it starts anew with the next call")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_reaches_its_own_call_only() {
        let desk = Desk::default();
        let stopped = || desk.lock().stopped.map(|(cause, _)| cause);
        desk.stop(1, Cause::Cancelled);
        desk.begin(2);
        desk.stop(1, Cause::Cancelled);
        assert_eq!(stopped(), None);
        desk.stop(2, Cause::TimeLimit);
        assert_eq!(stopped(), Some(Cause::TimeLimit));
        desk.begin(3);
        desk.end();
        desk.stop(3, Cause::Cancelled);
        assert_eq!(stopped(), None);
    }
}
