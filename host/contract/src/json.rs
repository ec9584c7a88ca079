//! JSON texts and values, without loss.
//!
//! Documents pass through hooks that may change one field and must leave the rest as it
//! was, so numbers keep their decimal text (no detour through `f64`), a key that occurs
//! twice is refused rather than half kept, and depth is bounded on the way in so that
//! nothing later (comparison, rendering, `Drop`) can exhaust a stack.
//!
//! Law, tested: `parse(write(v)) == v` for every value, and `parse` never accepts what
//! `write` cannot give back.

use std::fmt::{self, Write as _};

use json_event_parser::{JsonEvent, SliceJsonParser};

use crate::error::{Error, ErrorKind};

/// How deep arrays and objects may nest. Deep enough for any real document, shallow
/// enough for recursion on the smallest stack in the house (a wasm guest's).
pub const MAX_DEPTH: usize = 128;

/// How large one JSON text may be, in bytes: a 64 MiB body in base64 and its document.
pub const MAX_TEXT: usize = 96 << 20;

/// One JSON value. Objects keep the order of their keys; equality ignores it.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string. Always valid Unicode: a lone surrogate is refused on the way in.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, in the order it was written. No key occurs twice.
    Object(Vec<(String, Value)>),
}

/// A JSON number in decimal text. Equal when the values are equal: `1`, `1.0` and `10e-1`.
#[derive(Clone, Debug)]
pub struct Number(String);

impl Number {
    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, where it is a whole number from 0 to `u64::MAX`.
    pub fn as_u64(&self) -> Option<u64> {
        let canonical = self.canonical();
        if canonical.negative || canonical.exponent < 0 {
            return None;
        }
        let zeros = usize::try_from(canonical.exponent).ok().filter(|zeros| *zeros < 20)?;
        format!("{}{}", canonical.digits, "0".repeat(zeros)).parse().ok()
    }

    fn canonical(&self) -> Canonical {
        let (negative, unsigned) = match self.0.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, self.0.as_str()),
        };
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (
                &unsigned[..at],
                unsigned[at + 1..].parse::<i64>().unwrap_or(i64::MAX / 2),
            ),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let without_front = all.trim_start_matches('0');
        let digits = without_front.trim_end_matches('0');
        if digits.is_empty() {
            return Canonical {
                negative: false,
                digits: "0".into(),
                exponent: 0,
            };
        }
        let dropped = (without_front.len() - digits.len()) as i64;
        Canonical {
            negative,
            digits: digits.into(),
            exponent: exponent.saturating_add(dropped).saturating_sub(fraction.len() as i64),
        }
    }
}

#[derive(PartialEq, Eq)]
struct Canonical {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.canonical() == other.canonical()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(value.to_string())
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => same_members(a, b),
            _ => false,
        }
    }
}

fn same_members(a: &[(String, Value)], b: &[(String, Value)]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.iter().zip(b).all(|((x, _), (y, _))| x == y) {
        return a.iter().zip(b).all(|((_, x), (_, y))| x == y);
    }
    let mut a: Vec<_> = a.iter().collect();
    let mut b: Vec<_> = b.iter().collect();
    a.sort_by(|x, y| x.0.cmp(&y.0));
    b.sort_by(|x, y| x.0.cmp(&y.0));
    a.iter().zip(&b).all(|(x, y)| x.0 == y.0 && x.1 == y.1)
}

impl Value {
    /// A string value.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// A whole number.
    pub fn number(value: impl Into<u64>) -> Self {
        Self::Number(Number::from(value.into()))
    }

    /// A string, or `null` where there is none.
    pub fn string_or_null(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::string)
    }

    /// An object with these members, whose keys the caller knows to differ.
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(key, value)| (key.to_owned(), value)).into())
    }

    /// The member of an object, `None` where it is absent or this is no object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// What this value is, for error texts.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// Reads one JSON text.
///
/// Errors (kind `invalid`): not JSON, more than one value, a lone surrogate, a key that
/// occurs twice, nesting beyond [`MAX_DEPTH`], a text beyond [`MAX_TEXT`].
pub fn parse(text: &str) -> Result<Value, Error> {
    let invalid = |why: String| Error::new(ErrorKind::Invalid, why);
    if text.len() > MAX_TEXT {
        return Err(invalid(format!(
            "the JSON text has {} bytes, more than the limit of {MAX_TEXT}",
            text.len()
        )));
    }
    let mut events = SliceJsonParser::new(text.as_bytes());
    let mut open: Vec<Open> = Vec::new();
    loop {
        let event = events
            .parse_next()
            .map_err(|e| invalid(format!("not valid JSON: {e}")))?;
        let done = match event {
            JsonEvent::String(text) => Value::String(text.into_owned()),
            JsonEvent::Number(text) => Value::Number(Number(text.into_owned())),
            JsonEvent::Boolean(value) => Value::Bool(value),
            JsonEvent::Null => Value::Null,
            JsonEvent::StartArray | JsonEvent::StartObject if open.len() == MAX_DEPTH => {
                return Err(invalid(format!("the JSON nests deeper than {MAX_DEPTH} levels")));
            }
            JsonEvent::StartArray => {
                open.push(Open::Array(Vec::new()));
                continue;
            }
            JsonEvent::StartObject => {
                open.push(Open::Object(Members::default()));
                continue;
            }
            JsonEvent::ObjectKey(key) => {
                if let Some(Open::Object(members)) = open.last_mut() {
                    members.key(key.into_owned())?;
                }
                continue;
            }
            JsonEvent::EndArray | JsonEvent::EndObject => match open.pop() {
                Some(Open::Array(items)) => Value::Array(items),
                Some(Open::Object(members)) => Value::Object(members.list),
                None => return Err(invalid("not valid JSON: a bracket closes nothing".into())),
            },
            JsonEvent::Eof => return Err(invalid("not valid JSON: the text ends early".into())),
        };
        match open.last_mut() {
            Some(Open::Array(items)) => items.push(done),
            Some(Open::Object(members)) => members.value(done),
            None => {
                return match events.parse_next() {
                    Ok(JsonEvent::Eof) => Ok(done),
                    _ => Err(invalid("not valid JSON: there is more text behind the value".into())),
                };
            }
        }
    }
}

/// A container that is still being read.
enum Open {
    Array(Vec<Value>),
    Object(Members),
}

#[derive(Default)]
struct Members {
    list: Vec<(String, Value)>,
    seen: std::collections::HashSet<String>,
    pending: Option<String>,
}

impl Members {
    fn key(&mut self, key: String) -> Result<(), Error> {
        if !self.seen.insert(key.clone()) {
            let shown: String = key.chars().take(80).collect();
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("the JSON key {shown:?} occurs twice in one object"),
            ));
        }
        self.pending = Some(key);
        Ok(())
    }

    fn value(&mut self, value: Value) {
        if let Some(key) = self.pending.take() {
            self.list.push((key, value));
        }
    }
}

/// The JSON text of a value, on one line.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    write_to(value, &mut out);
    out
}

fn write_to(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_to(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_to(item, out);
            }
            out.push('}');
        }
    }
}

/// Appends one string with its quotes. U+2028 and U+2029 are escaped too, so that a text
/// stays one line for readers that count them as line ends.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escape = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            c if c < ' ' || c == '\u{7f}' || c == '\u{2028}' || c == '\u{2029}' => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        if escape.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push_str(escape);
        }
        plain = at + c.len_utf8();
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn round_trip(text: &str) {
        let value = parse(text).unwrap();
        assert_eq!(write(&value), text);
        assert_eq!(parse(&write(&value)).unwrap(), value);
    }

    #[test]
    fn texts_come_back_as_they_were() {
        for text in [
            "null",
            "[]",
            "{}",
            r#"{"b":1,"a":[true,false,null,"x"]}"#,
            r#"{"id":18446744073709551617,"f":1.50,"e":1e400,"n":-0}"#,
            r#"{"__proto__":{"deny":null},"constructor":"y","":"empty"}"#,
            "\"\\u0000\\u001f\\u007f\\u2028 \\\"\\\\ \u{1F600} \u{e9}\"",
        ] {
            round_trip(text);
        }
    }

    #[test]
    fn numbers_are_equal_by_value_not_by_spelling() {
        let same = [
            ("1", "1.0"),
            ("10", "1e1"),
            ("0.5", "5e-1"),
            ("-0", "0"),
            ("100e-2", "1"),
        ];
        for (a, b) in same {
            assert_eq!(parse(a).unwrap(), parse(b).unwrap(), "{a} {b}");
        }
        let different = [
            ("18446744073709551617", "18446744073709551616"),
            ("1", "-1"),
            ("1e400", "1e401"),
            ("1", "\"1\""),
        ];
        for (a, b) in different {
            assert_ne!(parse(a).unwrap(), parse(b).unwrap(), "{a} {b}");
        }
    }

    #[test]
    fn whole_numbers_are_read_exactly() {
        let read = |text: &str| match parse(text).unwrap() {
            Value::Number(n) => n.as_u64(),
            _ => None,
        };
        assert_eq!(read("200"), Some(200));
        assert_eq!(read("2e2"), Some(200));
        assert_eq!(read("18446744073709551615"), Some(u64::MAX));
        assert_eq!(read("18446744073709551616"), None);
        assert_eq!(read("1.5"), None);
        assert_eq!(read("-1"), None);
        assert_eq!(read("1e999999999999999999999"), None);
    }

    #[test]
    fn what_is_not_one_unambiguous_value_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "nul",
            "{} {}",
            "1 2",
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#""\ud800""#,
            "01",
            "NaN",
        ] {
            assert!(parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).unwrap_err().to_string().contains("128"));
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn order_of_keys_does_not_matter_for_equality() {
        assert_eq!(parse(r#"{"a":1,"b":2}"#).unwrap(), parse(r#"{"b":2,"a":1}"#).unwrap());
        assert_ne!(parse(r#"{"a":1,"b":2}"#).unwrap(), parse(r#"{"b":1,"a":2}"#).unwrap());
        assert_ne!(parse(r#"{"a":1}"#).unwrap(), parse(r#"{"a":1,"b":2}"#).unwrap());
    }
}
