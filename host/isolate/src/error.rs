//! Why code in an isolate did not come to a value.

use std::fmt;

use ::deno_core::error::{CoreError, CoreErrorKind, JsError};

use crate::Cause;

/// How many bytes of a name, a message or a stack are kept; the rest is cut. They are
/// guest-made and end in logs and answers of a person's size.
const MAX_TEXT: usize = 16 << 10;

/// What a script threw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The error's `name`; `Error` where a value that is no error was thrown.
    pub name: String,
    /// The error's `message`, or the thrown value as text.
    pub message: String,
    /// The error's `stack`, if it has one.
    pub stack: Option<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for ScriptError {}

/// The end of a run without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The code threw, rejected, or did not parse.
    Threw(ScriptError),
    /// It was stopped from outside or by a limit.
    Terminated(Cause),
    /// It waits for a promise that nothing can settle any more.
    Stalled,
    /// The engine refused; the code is not to blame.
    Engine(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threw(error) => error.fmt(f),
            Self::Terminated(cause) => cause.fmt(f),
            Self::Stalled => f.write_str("it waits for a promise that nothing will settle"),
            Self::Engine(what) => write!(f, "the script engine failed: {what}"),
        }
    }
}

impl std::error::Error for Stop {}

impl From<JsError> for ScriptError {
    fn from(error: JsError) -> Self {
        let message = match (error.message, &error.name) {
            (Some(message), _) => message,
            (None, Some(_)) => String::new(),
            // Not an error object: only V8's rendering is there.
            (None, None) => strip(&error.exception_message).to_owned(),
        };
        Self {
            name: cut(error.name.unwrap_or_else(|| "Error".into())),
            message: cut(message),
            stack: error.stack.map(cut),
        }
    }
}

impl From<Box<JsError>> for Stop {
    fn from(error: Box<JsError>) -> Self {
        if error
            .exception_message
            .contains("Top-level await promise never resolved")
            && error.name.is_none()
        {
            return Self::Stalled;
        }
        Self::Threw((*error).into())
    }
}

impl From<CoreError> for Stop {
    fn from(error: CoreError) -> Self {
        match error.into_kind() {
            CoreErrorKind::Js(error) => error.into(),
            CoreErrorKind::PendingPromiseResolution | CoreErrorKind::ModuleEvaluationDeadlock => Self::Stalled,
            other => Self::Engine(cut(other.to_string())),
        }
    }
}

fn strip(message: &str) -> &str {
    let message = message.strip_prefix("Uncaught ").unwrap_or(message);
    message.strip_prefix("(in promise) ").unwrap_or(message)
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str(" [cut]");
    }
    text
}
