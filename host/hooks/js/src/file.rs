//! A hook file: loaded once, called from many stacks.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc as blocking,
    },
    time::Duration,
};

use seam_contract::{
    Error, ErrorKind, Executor, Layer, PostHook, PreHook,
    document::Bodies,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    call::{Asked, Desk, End, Job, MAX_WAITING, Reply, Task, Ticket},
    place::{JsExecutor, JsLayer, JsPost, JsPre, Place},
    worker::{self, Source},
};

/// How long the lookup of a function may take. It waits for its turn like a call, and at
/// start-up there are none before it.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// What one file may use. The defaults suit a policy, not a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long evaluating the file may take, at start-up and after a crash.
    pub load_limit: Duration,
    /// V8's heap, in bytes. The default has room for the largest body there may be: as text,
    /// as a value, and as the answer. It is a limit, nothing is set aside.
    pub heap: usize,
    /// Array buffers, in bytes.
    pub array_buffers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            load_limit: Duration::from_secs(5),
            heap: 512 << 20,
            array_buffers: 64 << 20,
        }
    }
}

/// One JavaScript file with a worker thread and a warm isolate of its own. The thread ends
/// when the last reference is dropped.
pub struct JsFile {
    label: Arc<str>,
    jobs: mpsc::Sender<Job>,
    desk: Arc<Desk>,
    ids: AtomicU64,
}

impl JsFile {
    /// Starts a worker for this file and evaluates its text. `path` is for messages only;
    /// its last part names the hook in errors and records.
    ///
    /// Errors (kind `config`): the text does not parse, throws, leaves a rejected promise
    /// unhandled or takes too long; the message has file, line and column.
    pub async fn load(path: &Path, text: String, options: Options) -> Result<Arc<Self>, Error> {
        let label: Arc<str> = path
            .file_name()
            .map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy())
            .into();
        let (jobs, queue) = mpsc::channel(MAX_WAITING);
        let desk = Arc::new(Desk::default());
        let source = Source {
            label: label.clone(),
            path: path.display().to_string(),
            text,
            options,
        };
        worker::spawn(source, desk.clone(), queue).map_err(|error| {
            Error::new(ErrorKind::Config, format!("{}: its worker cannot be started", path.display())).with_source(error)
        })?;
        let file = Arc::new(Self {
            label,
            jobs,
            desk,
            ids: AtomicU64::new(1),
        });
        match file.enqueue(Task::Load, None)?.end().await? {
            End::Failed(error) => Err(error),
            _ => Ok(file),
        }
    }

    /// The function named `rule` as a pre hook. `limit` is for one call; `bodies` says
    /// whether it is given request bodies.
    ///
    /// Errors (kind `config`): there is no such function; the message lists those there
    /// are. The lookup waits for the worker and blocks meanwhile: it is for start-up.
    pub fn pre_hook(self: &Arc<Self>, rule: &str, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PreHook>, Error> {
        Ok(Arc::new(JsPre(self.place(rule, limit, bodies)?)))
    }

    /// The function named `rule` as a post hook. As [`JsFile::pre_hook`].
    pub fn post_hook(self: &Arc<Self>, rule: &str, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PostHook>, Error> {
        Ok(Arc::new(JsPost(self.place(rule, limit, bodies)?)))
    }

    /// The function named `rule` as a layer; `limit` includes the time inside `next`. As
    /// [`JsFile::pre_hook`].
    pub fn layer(self: &Arc<Self>, rule: &str, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Layer>, Error> {
        Ok(Arc::new(JsLayer(self.place(rule, limit, bodies)?)))
    }

    /// The function named `rule` as the innermost place. As [`JsFile::pre_hook`].
    pub fn executor(self: &Arc<Self>, rule: &str, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Executor>, Error> {
        Ok(Arc::new(JsExecutor(self.place(rule, limit, bodies)?)))
    }

    /// The file's name in messages and records.
    pub fn name(&self) -> &str {
        &self.label
    }

    /// Puts a call into the queue. `limit` bounds its wait and, anew, its run.
    pub(crate) fn enqueue(&self, task: Task, limit: Option<Duration>) -> Result<Asked, Error> {
        let (reply, end) = oneshot::channel();
        let ticket = self.ticket();
        self.send(Job {
            ticket: ticket.clone(),
            task,
            reply: Reply::Awaited(reply),
        })?;
        Ok(Asked::new(end, ticket, self.desk.clone(), limit))
    }

    fn place(self: &Arc<Self>, rule: &str, limit: Duration, bodies: Bodies) -> Result<Place, Error> {
        let rule: Arc<str> = rule.into();
        let (reply, end) = blocking::sync_channel(1);
        self.send(Job {
            ticket: self.ticket(),
            task: Task::Find { rule: rule.clone() },
            reply: Reply::Blocking(reply),
        })?;
        match end.recv_timeout(LOOKUP_LIMIT) {
            Ok(End::Failed(error)) => Err(error),
            Ok(_) => Ok(Place {
                file: self.clone(),
                rule,
                limit,
                bodies,
            }),
            Err(_) => Err(Error::new(
                ErrorKind::Config,
                format!("{}: the function {rule} was not found in time, its worker is busy", self.label),
            )),
        }
    }

    fn ticket(&self) -> Arc<Ticket> {
        Arc::new(Ticket::new(self.ids.fetch_add(1, Ordering::Relaxed)))
    }

    fn send(&self, job: Job) -> Result<(), Error> {
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Error::hook(format!("{MAX_WAITING} calls are waiting for its worker already"))
            }
            mpsc::error::TrySendError::Closed(_) => Error::hook("its worker is gone"),
        })
    }
}
