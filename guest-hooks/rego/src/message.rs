//! Errors of the engine in one line, without the values that were judged.
//!
//! regorus draws the place of an error over several lines and quotes the value a
//! builtin did not like. Such a value can be a credential (a policy sees the request
//! with them), so everything from a quoted value on is cut.

use std::fmt;

/// What regorus writes right before a value of the evaluation.
const BEFORE_A_VALUE: [&str; 5] = ["Got `", "found value:", "multiple outputs ", "(left=", "(path ["];

/// Why a policy could not be loaded or gave no verdict.
#[derive(Debug)]
pub struct Message(String);

impl Message {
    /// A text of our own.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text of an engine error: `file:line:column: what`.
    pub fn of(error: impl fmt::Display) -> Self {
        Self(one_line(&error.to_string()))
    }

    /// The same error, named as one of `rule`.
    pub fn within(self, rule: &str) -> Self {
        Self(format!("{rule}: {}", self.0))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Message> for String {
    fn from(message: Message) -> Self {
        message.0
    }
}

/// `\n--> FILE:LINE:COLUMN\n … \nerror: WHAT` as `FILE:LINE:COLUMN: WHAT`.
fn one_line(drawn: &str) -> String {
    let located = drawn.trim_start().strip_prefix("--> ").and_then(|rest| {
        let (place, rest) = rest.split_once('\n')?;
        let (_, what) = rest.split_once("\nerror: ")?;
        Some(format!("{place}: {}", without_values(what)))
    });
    located.unwrap_or_else(|| without_values(drawn))
}

fn without_values(text: &str) -> String {
    let end = BEFORE_A_VALUE
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    let kept = text.get(..end).unwrap_or_default();
    let words: Vec<&str> = kept.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}
