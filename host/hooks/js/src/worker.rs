//! The thread behind a hook file: takes calls in turn, keeps the isolate, replaces it.

use std::{io, panic::AssertUnwindSafe, sync::Arc, thread};

use futures::FutureExt;
use seam_contract::{Error, document, json};
use seam_isolate::{Cause, THREAD_STACK};
use tokio::sync::mpsc;

use crate::{
    call::{Desk, End, Job, Part, Task},
    file::Options,
    realm::{Progress, Realm},
};

/// What a worker evaluates, again after a crash: the text as it was at start-up.
pub(crate) struct Source {
    pub(crate) label: Arc<str>,
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) options: Options,
}

/// Starts the thread. It ends when the other end of `jobs` is dropped, and drops `alive`
/// then.
pub(crate) fn spawn(source: Arc<Source>, desk: Arc<Desk>, jobs: mpsc::Receiver<Job>, alive: Arc<()>) -> io::Result<()> {
    // V8 wants a clock for tasks of its own; nothing here uses I/O.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    thread::Builder::new()
        .name(format!("seam-hook {}", source.label))
        .stack_size(THREAD_STACK)
        .spawn(move || {
            let realm = None;
            runtime.block_on(Worker { source, desk, realm }.run(jobs));
            drop(alive);
        })?;
    Ok(())
}

struct Worker {
    source: Arc<Source>,
    desk: Arc<Desk>,
    realm: Option<Realm>,
}

impl Worker {
    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.recv().await {
            let served = AssertUnwindSafe(self.serve(job)).catch_unwind().await;
            if served.is_err() {
                // A defect of the host. V8 may be in any state: it is left behind, not torn
                // down, and the caller learns it from the reply that was dropped.
                std::mem::forget(self.realm.take());
                self.desk.detach();
                self.desk.end();
            }
        }
    }

    /// One turn.
    async fn serve(&mut self, job: Job) {
        let Job { ticket, task, reply } = job;
        if self.realm.is_none()
            && !matches!(task, Task::Load)
            && let Err(error) = self.evaluate()
        {
            let again = format!("lost its state and could not start anew ({})", error.message());
            return reply.send(End::Failed(Error::hook(again)));
        }
        self.desk.begin(ticket.id());
        if !ticket.start() {
            return self.desk.end();
        }
        let end = match task {
            Task::Load => self.evaluate().map_or_else(End::Failed, |()| End::Nothing),
            Task::Find { rule } => match &mut self.realm {
                Some(realm) => realm.find(&rule).map_or_else(End::Failed, |()| End::Nothing),
                None => crashed(),
            },
            Task::Run {
                rule,
                call,
                bodies,
                input,
                role,
            } => match &mut self.realm {
                Some(realm) => {
                    let documents = role.documents(&call, &input, bodies);
                    let end = run(realm, &rule, documents, role).await;
                    match realm.stopped() {
                        None => realm.settled(end),
                        Some(cause) => stopped(cause),
                    }
                }
                None => crashed(),
            },
        };
        self.desk.end();
        reply.send(end);
        if self.realm.as_mut().is_some_and(|realm| !realm.rest()) {
            self.desk.detach();
            self.realm = None;
        }
    }

    fn evaluate(&mut self) -> Result<(), Error> {
        let realm = Realm::evaluate(&self.source, &self.desk);
        if realm.is_err() {
            self.desk.detach();
        }
        self.realm = Some(realm?);
        Ok(())
    }
}

/// Calls a function and waits for what it returns.
async fn run(realm: &mut Realm, rule: &Arc<str>, documents: Vec<String>, role: Part) -> End {
    let is_layer = matches!(role, Part::Layer { .. });
    let mut progress = realm.call(rule, &documents, is_layer);
    drop(documents);
    let mut line = match role {
        Part::Layer { line } => Some(line),
        Part::Pre | Part::Post { .. } | Part::Executor => None,
    };
    loop {
        let parked = match progress {
            Progress::Ended(end) => return end,
            Progress::Parked(parked) => parked,
        };
        let (descents, can_wake) = realm.descents();
        let Some(line) = line.as_mut().filter(|_| can_wake) else {
            return End::Failed(Error::hook("waits for a promise that nothing will settle"));
        };
        for descent in descents {
            // Fails where the layer was given up; then the stop is on its way.
            let _ = line.down.send(descent);
        }
        let settled = tokio::select! {
            biased;
            cause = realm.stop() => return stopped(cause),
            settled = line.up.recv() => settled,
        };
        let Some((id, end)) = settled else {
            return stopped(Cause::Cancelled);
        };
        let end = end.map(|output| json::write(&document::output(&output)));
        progress = realm.resume(parked, id, end);
    }
}

fn stopped(cause: Cause) -> End {
    End::Failed(Error::hook(match cause {
        Cause::Memory => "used more memory than its limit; its file starts anew with the next call",
        // Whoever waited has left already.
        Cause::TimeLimit => "timed out",
        Cause::Cancelled => "was given up",
    }))
}

fn crashed() -> End {
    End::Failed(Error::hook("its worker has no isolate"))
}
