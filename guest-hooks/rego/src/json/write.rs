//! From a value of the engine to JSON text.

use std::fmt::Write as _;
use std::ops::Range;

use regorus::Value;

use super::{JsonError, MAX_DEPTH};

/// Doubles that are written without an exponent, as a script would write them.
const PLAIN: Range<f64> = 1e-6..1e21;

/// Writes one JSON text: keys in order, a set as an array, a key that is no string as
/// the string of its JSON text (as OPA does).
pub fn write(value: &Value) -> Result<String, JsonError> {
    let mut out = String::new();
    write_value(&mut out, value, 0)?;
    Ok(out)
}

fn write_value(out: &mut String, value: &Value, depth: usize) -> Result<(), JsonError> {
    if depth > MAX_DEPTH {
        return Err(JsonError::TooDeep);
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(_) => write_number(out, value),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_items(out, items.iter(), depth)?,
        Value::Set(items) => write_items(out, items.iter_sorted(), depth)?,
        Value::Object(members) => {
            out.push('{');
            for (nth, (key, member)) in members.iter_sorted().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                match key {
                    Value::String(key) => write_string(out, key),
                    other => {
                        let mut text = String::new();
                        write_value(&mut text, other, depth + 1)?;
                        write_string(out, &text);
                    }
                }
                out.push(':');
                write_value(out, member, depth + 1)?;
            }
            out.push('}');
        }
        Value::Undefined => return Err(JsonError::Undefined),
    }
    Ok(())
}

fn write_items<'a>(out: &mut String, items: impl Iterator<Item = &'a Value>, depth: usize) -> Result<(), JsonError> {
    out.push('[');
    for (nth, item) in items.enumerate() {
        if nth > 0 {
            out.push(',');
        }
        write_value(out, item, depth + 1)?;
    }
    out.push(']');
    Ok(())
}

/// Whole numbers digit by digit, doubles in the shortest form that reads back the same.
fn write_number(out: &mut String, value: &Value) {
    let Value::Number(number) = value else { return };
    // Writing to a string cannot fail.
    let _ = match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(small), _, _) => write!(out, "{small}"),
        (None, Some(small), _) => write!(out, "{small}"),
        (None, None, Some(double)) if PLAIN.contains(&double.abs()) => write!(out, "{double}"),
        (None, None, Some(double)) => write!(out, "{double:e}"),
        (None, None, None) => write!(out, "{}", number.format_decimal()),
    };
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
