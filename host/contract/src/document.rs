//! Operations and outputs as JSON documents, and replacements read back.
//!
//! Every backend that speaks JSON (Rego, JavaScript, REST, the JSON door of a component)
//! comes through here, so one place decides what a rewrite may touch. A replacement is
//! whole, never merged; it is compared with what the hook received, and whatever it
//! changes must be a field that the executor applies.

mod fetch;

use crate::{
    call::Call,
    error::{Error, ErrorKind},
    json::{self, Value},
    operation::{Operation, Output},
    schema::{Access, Field},
    verdict::{Side, Verdict},
};

/// Whether a hook is given request bodies: its source's `"body": true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// The input document has no body; a rewrite keeps the one there is.
    Withheld,
    /// The input document has `body` and `bodyEncoding`.
    Given,
}

/// The input document of an operation.
pub fn input(call: &Call, operation: &Operation, bodies: Bodies) -> Value {
    match operation {
        Operation::Fetch(request) => fetch::input(call, request, bodies),
    }
}

/// The output document of an operation.
pub fn output(output: &Output) -> Value {
    match output {
        Output::Fetch(response) => fetch::output(response),
    }
}

/// What a post hook receives: `{"input": …, "output": …}`.
pub fn both(call: &Call, operation: &Operation, answer: &Output, bodies: Bodies) -> Value {
    Value::object([("input", input(call, operation, bodies)), ("output", output(answer))])
}

/// The operation that a replacement of an input document describes.
///
/// Errors (kind `hook-failed`) name the field: one that is unknown, pinned, missing, or
/// whose value cannot be executed.
pub fn read_input(call: &Call, received: &Operation, bodies: Bodies, replacement: &Value) -> Result<Operation, Error> {
    let read = match received {
        Operation::Fetch(request) => fetch::read_input(call, request, bodies, replacement).map(Operation::Fetch),
    };
    read.map_err(|error| error.of_kind(ErrorKind::HookFailed))
}

/// The output that a layer or an executor answers to an operation, as a whole document.
/// Errors as in [`read_input`].
pub fn read_output(operation: &Operation, answer: &Value) -> Result<Output, Error> {
    let read = match operation {
        Operation::Fetch(request) => fetch::read_output(request, answer).map(Output::Fetch),
    };
    read.map_err(|error| error.of_kind(ErrorKind::HookFailed))
}

/// The output that a post hook's replacement describes. Errors as in [`read_input`].
pub fn read_replaced_output(received: &Output, replacement: &Value) -> Result<Output, Error> {
    let read = match received {
        Output::Fetch(response) => fetch::read_replaced_output(response, replacement).map(Output::Fetch),
    };
    read.map_err(|error| error.of_kind(ErrorKind::HookFailed))
}

/// The verdict in a pre hook's answer: JSON text, or nothing.
pub fn pre_verdict(
    call: &Call,
    received: &Operation,
    bodies: Bodies,
    answer: Option<&str>,
) -> Result<Verdict<Operation>, Error> {
    let answer = parsed(answer)?;
    Ok(match Verdict::read(&answer, Side::Input)? {
        Verdict::Abstain => Verdict::Abstain,
        Verdict::Allow { reason } => Verdict::Allow { reason },
        Verdict::Deny { reason } => Verdict::Deny { reason },
        Verdict::Rewrite { to, reason } => Verdict::Rewrite {
            to: read_input(call, received, bodies, to)?,
            reason,
        },
    })
}

/// The verdict in a post hook's answer: JSON text, or nothing.
pub fn post_verdict(received: &Output, answer: Option<&str>) -> Result<Verdict<Output>, Error> {
    let answer = parsed(answer)?;
    Ok(match Verdict::read(&answer, Side::Output)? {
        Verdict::Abstain => Verdict::Abstain,
        Verdict::Allow { reason } => Verdict::Allow { reason },
        Verdict::Deny { reason } => Verdict::Deny { reason },
        Verdict::Rewrite { to, reason } => Verdict::Rewrite {
            to: read_replaced_output(received, to)?,
            reason,
        },
    })
}

fn parsed(answer: Option<&str>) -> Result<Value, Error> {
    answer
        .map_or(Ok(Value::Null), json::parse)
        .map_err(|error| error.of_kind(ErrorKind::HookFailed))
}

/// Holds a replacement to the table of its document: only known fields, each pinned one
/// as it was, each derived one as it was or as `recomputed` has it.
fn held(
    what: Side,
    fields: &[Field],
    received: &Value,
    recomputed: impl Fn(&str) -> Option<Value>,
    replacement: &Value,
) -> Result<(), Error> {
    let side = what.key();
    let Value::Object(members) = replacement else {
        return Err(Error::hook(format!(
            "the {side} is {}, not an object",
            replacement.type_name()
        )));
    };
    for (key, value) in members {
        let known = fields
            .iter()
            .find(|field| field.name == key)
            .filter(|field| received.get(field.name).is_some());
        let Some(field) = known else {
            let shown: String = key.chars().take(80).collect();
            return Err(Error::hook(format!("the {side} has the unknown field {shown:?}")));
        };
        let unchanged = received.get(key) == Some(value);
        match field.access {
            Access::Rewritable | Access::Granted => {}
            Access::Pinned if unchanged => {}
            Access::Pinned => return Err(Error::hook(format!("changed the pinned field {key}"))),
            Access::Derived if unchanged || recomputed(key).as_ref() == Some(value) => {}
            Access::Derived => {
                return Err(Error::hook(format!(
                    "changed the derived field {key}; rewrite what it follows from"
                )));
            }
        }
    }
    Ok(())
}

/// A member that a replacement must have.
fn required<'v>(side: Side, replacement: &'v Value, field: &str) -> Result<&'v Value, Error> {
    replacement.get(field).ok_or_else(|| {
        Error::hook(format!(
            "the {} lacks the field {field}; a replacement is whole, not merged",
            side.key()
        ))
    })
}

/// A member that must be a string.
fn string<'v>(side: Side, field: &str, value: &'v Value) -> Result<&'v str, Error> {
    value
        .as_str()
        .ok_or_else(|| Error::hook(format!("{}.{field} is {}, not a string", side.key(), value.type_name())))
}
