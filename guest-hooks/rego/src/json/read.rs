//! From JSON text to a value of the engine.

use regorus::Value;
use regorus::value::{Array, Object};

use super::{JsonError, MAX_DEPTH};

/// A decimal fraction of at most this many digits survives a double unchanged.
const DIGITS_A_DOUBLE_KEEPS: usize = 15;

/// The longest whole number, in digits. Turning a text into a big integer costs the
/// square of its length.
const MAX_INTEGER_DIGITS: usize = 1000;

/// Reads one JSON text.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.expected("the end was expected"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::String(self.string()?.as_str().into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.expected("a value was expected")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Value::new_object());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key was expected"));
            }
            let key = Value::String(self.string()?.as_str().into());
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.expected("a colon was expected"));
            }
            members.push((key, self.value(depth + 1)?));
            self.skip_space();
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return Err(self.expected("a comma or the end of an object was expected"));
            }
        }
        let written = members.len();
        let object: Object = members.into_iter().collect();
        if object.len() < written {
            return Err(JsonError::DuplicateKey(self.at));
        }
        Ok(object.into())
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Value::new_array());
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Array::from(items).into());
            }
            if !self.eat(b',') {
                return Err(self.expected("a comma or the end of an array was expected"));
            }
        }
    }

    /// A string, the opening quote at the current byte.
    fn string(&mut self) -> Result<Text<'a>, JsonError> {
        self.at += 1;
        let start = self.at;
        let mut unescaped: Option<String> = None;
        let mut piece = start;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let last = self.slice(piece, self.at);
                    self.at += 1;
                    return Ok(match unescaped {
                        None => Text::Plain(last),
                        Some(text) => Text::Unescaped(text + last),
                    });
                }
                Some(b'\\') => {
                    let text = unescaped.get_or_insert_default();
                    text.push_str(self.slice(piece, self.at));
                    self.at += 1;
                    let escaped = self.escaped()?;
                    text.push(escaped);
                    piece = self.at;
                }
                Some(0..=0x1f) | None => {
                    return Err(self.expected("the end of a string was expected"));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// One escaped character, the backslash just read.
    fn escaped(&mut self) -> Result<char, JsonError> {
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.four_digits()?;
                let code = if (0xd800..0xdc00).contains(&first) {
                    if !(self.eat(b'\\') && self.eat(b'u')) {
                        return Err(self.expected("the other half of a surrogate was expected"));
                    }
                    let second = self.four_digits()?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err(self.expected("the other half of a surrogate was expected"));
                    }
                    0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                } else {
                    first
                };
                char::from_u32(code).ok_or_else(|| self.expected("a whole character was expected"))?
            }
            _ => return Err(self.expected("a valid escape was expected")),
        })
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.expected("a hex digit was expected"))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.eat(b'-');
        if self.eat(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.expected("a number without leading zeros was expected"));
            }
        } else {
            self.digits()?;
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let text = self.slice(start, self.at);
        if whole { integer(text) } else { fraction(text) }.ok_or(JsonError::Number(start))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit was expected"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.expected("a value was expected"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The text between two positions that stand at ASCII characters.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn expected(&self, what: &'static str) -> JsonError {
        JsonError::Expected(what, self.at)
    }
}

/// A string of the text, borrowed where nothing was escaped.
enum Text<'a> {
    Plain(&'a str),
    Unescaped(String),
}

impl Text<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Unescaped(text) => text,
        }
    }
}

fn integer(text: &str) -> Option<Value> {
    if let Ok(small) = text.parse::<u64>() {
        return Some(Value::from(small));
    }
    if let Ok(small) = text.parse::<i64>() {
        return Some(Value::from(small));
    }
    if text.len() > MAX_INTEGER_DIGITS {
        return None;
    }
    Value::from_numeric_string(text).ok()
}

/// A number with a fraction or an exponent, which the engine holds as a double:
/// `None` where that would be another number.
fn fraction(text: &str) -> Option<Value> {
    let double: f64 = text.parse().ok().filter(|double: &f64| double.is_finite())?;
    let written = significant(text);
    let kept = written.len() <= DIGITS_A_DOUBLE_KEEPS && (double != 0.0 || written.is_empty())
        || written == significant(&format!("{double:e}"));
    kept.then(|| Value::from(double))
}

/// The digits before the exponent, without the zeros around them.
fn significant(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
