//! A hook file: loaded once, called from many stacks.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc as blocking,
    },
    time::Duration,
};

use seam_contract::{Error, ErrorKind, Executor, Layer, PostHook, PreHook, document::Bodies};
use tokio::sync::{mpsc, oneshot};

use crate::{
    call::{Asked, Desk, End, Job, MAX_WAITING, Reply, Task, Ticket},
    place::{JsExecutor, JsLayer, JsPost, JsPre, Place},
    worker::{self, Source},
};

/// How long the lookup of a function may take. It waits for its turn like a call, and at
/// start-up there are none before it.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// How many workers one file may leave behind because they would not stop. Each keeps a
/// core busy until V8 lets go, so this is a bound on damage.
const MAX_LEFT_BEHIND: usize = 4;

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
    source: Arc<Source>,
    worker: Mutex<Worker>,
    /// Held by every worker's thread, too: counts them.
    threads: Arc<()>,
    ids: AtomicU64,
}

/// The way to a worker.
#[derive(Clone)]
struct Worker {
    jobs: mpsc::Sender<Job>,
    desk: Arc<Desk>,
}

impl Worker {
    fn start(source: &Arc<Source>, threads: &Arc<()>) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel(MAX_WAITING);
        let desk = Arc::new(Desk::default());
        worker::spawn(source.clone(), desk.clone(), queue, threads.clone())?;
        Ok(Self { jobs, desk })
    }
}

impl JsFile {
    /// Starts a worker for this file and evaluates its text. `path` is for messages only;
    /// its last part names the hook in errors and records. The process must have called
    /// [`seam_isolate::init_platform`] on its main thread.
    ///
    /// Errors (kind `config`): the text does not parse, throws, leaves a rejected promise
    /// unhandled or takes too long; the message has file, line and column.
    pub async fn load(path: &Path, text: String, options: Options) -> Result<Arc<Self>, Error> {
        let label = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let source = Arc::new(Source {
            label: label.into(),
            path: path.display().to_string(),
            text,
            options,
        });
        let threads = Arc::new(());
        let worker = Worker::start(&source, &threads).map_err(|error| {
            let what = format!("{}: its worker cannot be started", source.path);
            Error::new(ErrorKind::Config, what).with_source(error)
        })?;
        let file = Arc::new(Self {
            source,
            worker: Mutex::new(worker),
            threads,
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
    pub fn post_hook(
        self: &Arc<Self>,
        rule: &str,
        limit: Duration,
        bodies: Bodies,
    ) -> Result<Arc<dyn PostHook>, Error> {
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
        &self.source.label
    }

    /// Puts a call into the queue. `limit` bounds its wait and, anew, its run.
    pub(crate) fn enqueue(&self, task: Task, limit: Option<Duration>) -> Result<Asked, Error> {
        let (reply, end) = oneshot::channel();
        let ticket = self.ticket();
        let desk = self.send(Job {
            ticket: ticket.clone(),
            task,
            reply: Reply::Awaited(reply),
        })?;
        Ok(Asked::new(end, ticket, desk, limit))
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
                format!(
                    "{}: the function {rule} was not found in time, its worker is busy",
                    self.name()
                ),
            )),
        }
    }

    fn ticket(&self) -> Arc<Ticket> {
        Arc::new(Ticket::new(self.ids.fetch_add(1, Ordering::Relaxed)))
    }

    /// Queues a job and says at whose desk.
    fn send(&self, job: Job) -> Result<Arc<Desk>, Error> {
        let worker = self.worker()?;
        match worker.jobs.try_send(job) {
            Ok(()) => Ok(worker.desk),
            Err(mpsc::error::TrySendError::Full(_)) => Err(Error::hook(format!(
                "{MAX_WAITING} calls are waiting for its worker already"
            ))),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Error::hook("its worker is gone")),
        }
    }

    /// The worker; another one where the last does not stop although it was told to.
    fn worker(&self) -> Result<Worker, Error> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.desk.is_stuck() {
            // Less this reference and the thread that is to be left.
            let left_behind = Arc::strong_count(&self.threads).saturating_sub(2);
            if left_behind >= MAX_LEFT_BEHIND {
                return Err(Error::hook(format!(
                    "{} calls of it do not stop; its file needs another look",
                    left_behind + 1
                )));
            }
            *worker = Worker::start(&self.source, &self.threads)
                .map_err(|error| Error::hook("its worker cannot be started again").with_source(error))?;
        }
        Ok(worker.clone())
    }
}
