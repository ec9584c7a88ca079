//! Where records of operations are written: JSON lines or tables, on a thread of their own.
//!
//! Recording never waits. A queue of [`QUEUE`] records stands between the operations and
//! the writer; what does not fit is dropped, counted, and the count is written too.

mod line;
mod table;

use std::{
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError},
    },
    thread,
    time::{Duration, Instant},
};

use seam_contract::record::{Record, Recorder};

use crate::log;

/// How many records wait for the writer. At a few kilobytes each, a stalled disk costs
/// megabytes and not the process.
const QUEUE: usize = 4096;

/// How long the end of the process waits for the writer.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// How a record is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line.
    Lines,
    /// A table for people.
    Tables,
}

/// Writes records to a stream.
pub struct Trace {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    ended: Mutex<Receiver<()>>,
}

enum Message {
    Record(Record),
    End,
}

impl Trace {
    /// Starts the writer.
    ///
    /// Errors: the system has no thread to give.
    pub fn start(sink: Box<dyn Write + Send>, form: Form) -> std::io::Result<Arc<Self>> {
        let (queue, records) = mpsc::sync_channel(QUEUE);
        let (end, ended) = mpsc::channel();
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            records,
            sink,
            form,
            dropped: dropped.clone(),
            told: 0,
        };
        thread::Builder::new().name("trace".into()).spawn(move || {
            writer.run();
            // Nobody listens where the process ends without waiting.
            let _ = end.send(());
        })?;
        Ok(Arc::new(Self {
            queue,
            dropped,
            ended: Mutex::new(ended),
        }))
    }

    /// Writes what is queued and ends the writer, within [`FLUSH_LIMIT`].
    pub fn finish(&self) {
        let deadline = Instant::now() + FLUSH_LIMIT;
        while let Err(TrySendError::Full(_)) = self.queue.try_send(Message::End) {
            if Instant::now() > deadline {
                return log::line("the trace could not be written to its end");
            }
            thread::sleep(Duration::from_millis(5));
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(FLUSH_LIMIT) {
            log::line("the trace could not be written to its end");
        }
    }
}

impl Recorder for Trace {
    fn record(&self, record: Record) {
        if self.queue.try_send(Message::Record(record)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Writer {
    records: Receiver<Message>,
    sink: Box<dyn Write + Send>,
    form: Form,
    dropped: Arc<AtomicU64>,
    told: u64,
}

impl Writer {
    fn run(mut self) {
        if let Err(error) = self.write_all() {
            log::line(format_args!("the trace ends here, it cannot be written: {error}"));
        }
    }

    /// Writes until the end, and flushes whenever nothing waits.
    fn write_all(&mut self) -> std::io::Result<()> {
        loop {
            let message = match self.records.try_recv() {
                Err(TryRecvError::Empty) => {
                    self.sink.flush()?;
                    self.records.recv().map_err(|_| TryRecvError::Disconnected)
                }
                other => other,
            };
            match message {
                Ok(Message::Record(record)) => {
                    let text = match self.form {
                        Form::Lines => line::line(&record),
                        Form::Tables => table::table(&record),
                    };
                    self.sink.write_all(text.as_bytes())?;
                    self.tell_dropped()?;
                }
                Ok(Message::End) | Err(_) => {
                    self.tell_dropped()?;
                    return self.sink.flush();
                }
            }
        }
    }

    fn tell_dropped(&mut self) -> std::io::Result<()> {
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > self.told {
            let new = dropped - std::mem::replace(&mut self.told, dropped);
            let text = match self.form {
                Form::Lines => format!("{{\"dropped\":{new}}}\n"),
                Form::Tables => format!("{new} more operations were not recorded\n\n"),
            };
            self.sink.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}
