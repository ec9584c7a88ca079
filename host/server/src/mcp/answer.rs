//! The result of `run_js`: structured for programs, and the same as text for models.

use rmcp::{
    model::{CallToolResult, ContentBlock},
    schemars,
};
use seam_sandbox::{Level, Line, Outcome, Status, Value as Shown};
use serde::Serialize;
use serde_json::Value;

use crate::execution::Ended;

/// What a call of `run_js` gave. The output schema that clients see is made from this.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct Answer {
    /// How the call ended.
    status: AnswerStatus,
    /// The script's result where it completed: its default export, or the value of its last
    /// expression. A value that JSON cannot hold is shown as text.
    result: Value,
    /// Why it did not complete; null where it did.
    error: Option<ScriptError>,
    /// What it wrote to the console, in order.
    console: Vec<ConsoleLine>,
    /// Whether output was cut because there was too much of it.
    truncated: bool,
    /// How long it ran, in milliseconds.
    duration_ms: u64,
    /// The name of this execution in the server's trace; null where nothing was run.
    execution_id: Option<String>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum AnswerStatus {
    Completed,
    Failed,
    TimedOut,
    OutOfMemory,
    Cancelled,
    /// It was not run: the arguments are wrong, or the server is busy.
    Refused,
}

/// What ended a script.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
struct ScriptError {
    /// The error's name, such as TypeError, or Denied where a hook or policy said no.
    name: String,
    /// What happened.
    message: String,
    /// Where in the script, if known.
    stack: Option<String>,
}

/// One line of the console.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
struct ConsoleLine {
    /// log, info, debug, warn or error.
    level: String,
    /// The text.
    text: String,
}

impl Answer {
    /// The answer of an execution whose console and result kept `limit` bytes each.
    pub(super) fn of(ended: Ended, limit: usize) -> Self {
        let Ended { execution, outcome } = ended;
        let Outcome {
            status,
            result,
            error,
            console,
            duration,
        } = outcome;
        let truncated = outcome_is_cut(&console, result.as_ref(), limit);
        Self {
            status: match status {
                Status::Completed => AnswerStatus::Completed,
                Status::Failed => AnswerStatus::Failed,
                Status::TimedOut => AnswerStatus::TimedOut,
                Status::OutOfMemory => AnswerStatus::OutOfMemory,
                Status::Cancelled => AnswerStatus::Cancelled,
            },
            result: result.map_or(Value::Null, value),
            error: error.map(|error| ScriptError {
                name: error.name,
                message: error.message,
                stack: error.stack,
            }),
            console: console
                .into_iter()
                .map(|line| ConsoleLine {
                    level: line.level.to_string(),
                    text: line.text,
                })
                .collect(),
            truncated,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            execution_id: Some(execution),
        }
    }

    /// The answer where nothing was run.
    pub(super) fn refused(why: String) -> Self {
        Self {
            status: AnswerStatus::Refused,
            result: Value::Null,
            error: Some(ScriptError {
                name: "Refused".into(),
                message: why,
                stack: None,
            }),
            console: Vec::new(),
            truncated: false,
            duration_ms: 0,
            execution_id: None,
        }
    }

    /// As the result of a tool.
    pub(super) fn into_result(self) -> CallToolResult {
        let content = vec![ContentBlock::text(self.text())];
        let mut result = match self.status {
            AnswerStatus::Completed => CallToolResult::success(content),
            _ => CallToolResult::error(content),
        };
        // Serializing plain data to a `Value` cannot fail.
        result.structured_content = serde_json::to_value(self).ok();
        result
    }

    /// The result or the error first, the console below it.
    fn text(&self) -> String {
        let mut text = match (&self.error, &self.result) {
            (Some(error), _) => {
                let place = error
                    .stack
                    .as_deref()
                    .and_then(|stack| stack.lines().nth(1))
                    .map(str::trim);
                let place = place.map_or(String::new(), |place| format!("\n    {place}"));
                format!("{}: {}{place}", error.name, error.message)
            }
            (None, Value::String(result)) => result.clone(),
            (None, result) => result.to_string(),
        };
        if !self.console.is_empty() {
            text.push_str("\n\nconsole:");
            for line in &self.console {
                let mark = match line.level.as_str() {
                    "log" => String::new(),
                    level => format!("[{level}] "),
                };
                text.push_str(&format!("\n{mark}{}", line.text));
            }
        }
        if self.truncated {
            text.push_str("\n\n[output was cut, there was too much of it]");
        }
        text
    }
}

/// The value of a result; JSON that is nested too deep for the reader stays text.
fn value(result: Shown) -> Value {
    match result {
        Shown::Json(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Shown::Text(text) => Value::String(text),
    }
}

/// Whether the sandbox has left something out. It says so itself, in a last line of the
/// console and behind the result, and nothing it has not cut is longer than the limit.
fn outcome_is_cut(console: &[Line], result: Option<&Shown>, limit: usize) -> bool {
    let printed = console
        .last()
        .is_some_and(|line| line.level == Level::Warn && line.text.starts_with("[output cut here:"));
    printed || result.is_some_and(|result| result.text().len() > limit)
}
