//! What an execution came to.

use std::{fmt, time::Duration};

use seam_isolate::{Cause, ScriptError, Stop};

use crate::console::Line;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The script ran to its end, and so did everything it had started.
    Completed,
    /// It threw, did not parse, or waits for what can't come.
    Failed,
    /// It reached its time limit.
    TimedOut,
    /// It reached its memory limit.
    OutOfMemory,
    /// Whoever started it gave it up.
    Cancelled,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::OutOfMemory => "out of memory",
            Self::Cancelled => "cancelled",
        })
    }
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A value that JSON can hold, as JSON text.
    Json(String),
    /// Any other value, as the console shows it.
    Text(String),
}

impl Value {
    /// The text, of whichever kind.
    pub fn text(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// One execution, ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The default export, or the value of the last expression statement. `None` where
    /// there is none, it is `undefined`, or the script did not complete.
    pub result: Option<Value>,
    /// What went wrong, where the status is not `Completed`.
    pub error: Option<ScriptError>,
    /// What was printed, in order; cut with a marker at the output limit.
    pub console: Vec<Line>,
    /// From the start to the end.
    pub duration: Duration,
}

/// How the isolate's part ended.
pub(crate) type Ended = Result<Option<Value>, Stop>;

impl Outcome {
    pub(crate) fn new(ended: Ended, limits: &crate::Limits, console: Vec<Line>, duration: Duration) -> Self {
        let (status, result, error) = match ended {
            Ok(result) => (Status::Completed, result, None),
            Err(stop) => {
                let (status, error) = failure(stop, limits);
                (status, None, Some(error))
            }
        };
        Self {
            status,
            result,
            error,
            console,
            duration,
        }
    }
}

fn failure(stop: Stop, limits: &crate::Limits) -> (Status, ScriptError) {
    let named = |name: &str, message: String| ScriptError {
        name: name.into(),
        message,
        stack: None,
    };
    match stop {
        Stop::Threw(error) => (Status::Failed, error),
        Stop::Terminated(Cause::TimeLimit) => {
            let message = format!("the script ran longer than its limit of {} ms", limits.time.as_millis());
            (Status::TimedOut, named("TimedOut", message))
        }
        Stop::Terminated(Cause::Memory) => {
            let message = format!(
                "the script used more memory than its limit of {} MiB of heap and as much of array buffers",
                limits.heap_mb
            );
            (Status::OutOfMemory, named("OutOfMemory", message))
        }
        Stop::Terminated(Cause::Cancelled) => (
            Status::Cancelled,
            named("Cancelled", "the execution was cancelled".into()),
        ),
        Stop::Stalled => {
            let message = "the script waits for a promise that nothing will settle any more".into();
            (Status::Failed, named("Stalled", message))
        }
        Stop::Engine(what) => (Status::Failed, named("EngineError", what)),
    }
}
