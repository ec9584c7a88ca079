//! What a hook may answer, and how an answer in JSON is read.

use crate::{error::Error, json::Value};

/// What a hook decides about an input or an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// No opinion: allows and changes nothing.
    Abstain,
    /// Allows.
    Allow {
        /// Kept in the record.
        reason: Option<String>,
    },
    /// Denies.
    Deny {
        /// Shown to the script.
        reason: Option<String>,
    },
    /// Allows something else in its place.
    Rewrite {
        /// What shall go on in its place, whole.
        to: T,
        /// Kept in the record.
        reason: Option<String>,
    },
}

/// Which document a hook judges, and so under which key it may replace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A pre hook; replaces `input`.
    Input,
    /// A post hook; replaces `output`.
    Output,
}

impl Side {
    /// The key of a replacement.
    pub fn key(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

impl<'v> Verdict<&'v Value> {
    /// Reads the answer of a hook. `null` abstains, as nothing does.
    ///
    /// Errors (kind `hook-failed`) for everything that is none of the four shapes of the
    /// contract: the hook gave no verdict.
    pub fn read(answer: &'v Value, side: Side) -> Result<Self, Error> {
        let members = match answer {
            Value::Null => return Ok(Self::Abstain),
            Value::Bool(true) => return Ok(Self::Allow { reason: None }),
            Value::Bool(false) => return Ok(Self::Deny { reason: None }),
            Value::Object(members) if members.is_empty() => {
                return Err(Error::hook("answered an empty object, which is no verdict"));
            }
            Value::Object(members) => members,
            other => {
                let what = other.type_name();
                return Err(Error::hook(format!(
                    "answered {what}; a verdict is nothing, a boolean or an object"
                )));
            }
        };
        let mut allow = true;
        let mut reason = None;
        let mut replacement = None;
        for (key, value) in members {
            match (key.as_str(), value) {
                ("allow", Value::Bool(value)) => allow = *value,
                ("allow", other) => return Err(wrong_type("allow", "a boolean", other)),
                ("reason", Value::String(text)) => reason = Some(text.clone()),
                ("reason", other) => return Err(wrong_type("reason", "a string", other)),
                (key, value) if key == side.key() => match value {
                    Value::Object(_) => replacement = Some(value),
                    other => return Err(wrong_type(key, "an object", other)),
                },
                (key, _) => {
                    let shown: String = key.chars().take(80).collect();
                    let accepted = side.key();
                    return Err(Error::hook(format!(
                        "answered with the unknown key {shown:?}; accepted are allow, reason and {accepted}"
                    )));
                }
            }
        }
        Ok(match (allow, replacement) {
            (false, _) => Self::Deny { reason },
            (true, Some(to)) => Self::Rewrite { to, reason },
            (true, None) => Self::Allow { reason },
        })
    }
}

fn wrong_type(key: &str, expected: &str, got: &Value) -> Error {
    Error::hook(format!("answered {} for {key}, which is {expected}", got.type_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[track_caller]
    fn check(answer: &str, side: Side, expected: &str) {
        let value = json::parse(answer).unwrap();
        let got = match Verdict::read(&value, side) {
            Ok(Verdict::Abstain) => "abstain".to_owned(),
            Ok(Verdict::Allow { reason }) => format!("allow {}", reason.unwrap_or_default()),
            Ok(Verdict::Deny { reason }) => format!("deny {}", reason.unwrap_or_default()),
            Ok(Verdict::Rewrite { to, reason }) => format!("rewrite {to} {}", reason.unwrap_or_default()),
            Err(error) => format!("failed: {}", error.message()),
        };
        assert_eq!(got.trim_end(), expected, "{answer}");
    }

    #[test]
    fn the_table_of_the_contract() {
        use Side::{Input, Output};
        check("null", Input, "abstain");
        check("true", Input, "allow");
        check("false", Output, "deny");
        check(r#"{"allow":true}"#, Input, "allow");
        check(r#"{"reason":"r"}"#, Input, "allow r");
        check(r#"{"allow":false,"reason":"r"}"#, Input, "deny r");
        check(r#"{"input":{"a":1}}"#, Input, r#"rewrite {"a":1}"#);
        check(r#"{"output":{"a":1},"reason":"r"}"#, Output, r#"rewrite {"a":1} r"#);
        check(r#"{"allow":false,"input":{"a":1}}"#, Input, "deny");
    }

    #[test]
    fn anything_else_is_a_failure() {
        use Side::{Input, Output};
        check("{}", Input, "failed: answered an empty object, which is no verdict");
        check(
            "1",
            Input,
            "failed: answered a number; a verdict is nothing, a boolean or an object",
        );
        check(
            r#""true""#,
            Input,
            "failed: answered a string; a verdict is nothing, a boolean or an object",
        );
        check(
            "[]",
            Input,
            "failed: answered an array; a verdict is nothing, a boolean or an object",
        );
        check(
            r#"{"allow":"true"}"#,
            Input,
            "failed: answered a string for allow, which is a boolean",
        );
        check(
            r#"{"allow":true,"reason":1}"#,
            Input,
            "failed: answered a number for reason, which is a string",
        );
        check(
            r#"{"allow":true,"reason":null}"#,
            Input,
            "failed: answered null for reason, which is a string",
        );
        check(
            r#"{"input":[]}"#,
            Input,
            "failed: answered an array for input, which is an object",
        );
        check(
            r#"{"output":{}}"#,
            Input,
            r#"failed: answered with the unknown key "output"; accepted are allow, reason and input"#,
        );
        check(
            r#"{"input":{}}"#,
            Output,
            r#"failed: answered with the unknown key "input"; accepted are allow, reason and output"#,
        );
        check(
            r#"{"allow":true,"__proto__":1}"#,
            Input,
            r#"failed: answered with the unknown key "__proto__"; accepted are allow, reason and input"#,
        );
        check(
            r#"{"allow":false,"input":3}"#,
            Input,
            "failed: answered a number for input, which is an object",
        );
    }
}
