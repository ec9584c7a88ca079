//! Header fields of a request or an answer, checked when they are written.
//!
//! Names are lower case. Values are byte strings, one character a byte (U+0000 to
//! U+00FF), as the Fetch standard has them. Whoever writes a field (guest, hook,
//! injection rule, virtual executor) writes it through here, so a line break never
//! reaches a wire and a framing header never contradicts the transport.

use crate::error::{Error, ErrorKind};

/// How many fields one message may carry. The HTTP library underneath has a hard limit
/// of 32768; no honest message comes near this one.
pub const MAX_FIELDS: usize = 1024;

/// How many bytes all names and values of one message may have together.
pub const MAX_BYTES: usize = 256 << 10;

/// The names that belong to the transport: routing, hop-by-hop and framing.
pub const TRANSPORT: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checked header fields, in order; a name may occur several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    fields: Vec<(String, String)>,
    bytes: usize,
}

impl Headers {
    /// Checks and keeps these fields. Names are lower-cased, white space around values is
    /// dropped.
    ///
    /// Errors (kind `invalid`) name the field: a name that is no HTTP token or belongs to
    /// the transport, a value with a line break, a NUL or a character beyond U+00FF, too
    /// many fields or bytes.
    pub fn new<N, V>(fields: impl IntoIterator<Item = (N, V)>) -> Result<Self, Error>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut headers = Self::default();
        for (name, value) in fields {
            headers.append(name.as_ref(), value.as_ref())?;
        }
        Ok(headers)
    }

    /// Adds one field behind the others. Errors as in [`Headers::new`].
    pub fn append(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let name = checked_name(name)?;
        let value = checked_value(&name, value)?;
        self.bytes += name.len() + value.chars().count();
        self.fields.push((name, value));
        if self.fields.len() > MAX_FIELDS {
            return Err(invalid(format!("more than {MAX_FIELDS} header fields")));
        }
        if self.bytes > MAX_BYTES {
            return Err(invalid(format!("the header fields have more than {MAX_BYTES} bytes")));
        }
        Ok(())
    }

    /// The fields in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values of one name, in order. Any case will do.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let name = name.to_ascii_lowercase();
        self.fields
            .iter()
            .filter(move |(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }

    /// A copy with one field set, every earlier value of that name replaced. Setting what is
    /// there already changes nothing, the order included.
    pub fn with(&self, name: &str, value: &str) -> Result<Self, Error> {
        if self.get_all(name).eq([checked_value(name, value)?.as_str()]) {
            return Ok(self.clone());
        }
        let mut changed = self.without(name);
        changed.append(name, value)?;
        Ok(changed)
    }

    /// A copy without one name.
    pub fn without(&self, name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let fields: Vec<_> = self.fields.iter().filter(|(n, _)| *n != name).cloned().collect();
        let bytes = fields.iter().map(|(n, v)| n.len() + v.chars().count()).sum();
        Self { fields, bytes }
    }
}

fn checked_name(name: &str) -> Result<String, Error> {
    let shown: String = name.chars().take(80).collect();
    let parsed = http::HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| invalid(format!("{shown:?} is not a header name")))?;
    let name = parsed.as_str();
    if TRANSPORT.contains(&name) {
        return Err(invalid(format!(
            "the header {name} belongs to the transport and cannot be set"
        )));
    }
    Ok(name.to_owned())
}

fn checked_value(name: &str, value: &str) -> Result<String, Error> {
    let value = value.trim_matches(|c| matches!(c, '\t' | '\n' | '\r' | ' '));
    match value
        .chars()
        .find(|c| !matches!(c, '\t' | ' '..='~' | '\u{80}'..='\u{ff}'))
    {
        None => Ok(value.to_owned()),
        Some(c) => Err(invalid(format!(
            "the value of the header {name} contains {:?}, which no header can",
            c
        ))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_order_and_repetition() {
        let headers = Headers::new([("X-A", "1"), ("x-b", " 2\t"), ("x-a", "3")]).unwrap();
        assert_eq!(
            headers.iter().collect::<Vec<_>>(),
            [("x-a", "1"), ("x-b", "2"), ("x-a", "3")]
        );
        assert_eq!(headers.get_all("X-a").collect::<Vec<_>>(), ["1", "3"]);
        let set = headers.with("X-A", "4").unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [("x-b", "2"), ("x-a", "4")]);
        assert_eq!(headers.without("x-a").iter().collect::<Vec<_>>(), [("x-b", "2")]);
    }

    #[test]
    fn nothing_splits_a_message() {
        for (name, value) in [
            ("x", "a\r\nX-Evil: 1"),
            ("x", "a\0b"),
            ("x", "\u{100}"),
            ("x", "\u{7f}"),
            ("", "a"),
            ("a b", "c"),
            ("a:b", "c"),
            ("a\r\nb", "c"),
            ("h\u{f6}st", "c"),
            ("Host", "ok.test"),
            ("Transfer-Encoding", "chunked"),
            ("content-length", "1"),
        ] {
            assert!(
                Headers::new([(name, value)]).is_err(),
                "{name:?}: {value:?} was accepted"
            );
        }
    }

    #[test]
    fn size_is_bounded() {
        assert!(Headers::new((0..MAX_FIELDS).map(|i| (format!("x-{i}"), "v"))).is_ok());
        let many = Headers::new((0..40_000).map(|i| (format!("x-{i}"), "v"))).unwrap_err();
        assert!(many.to_string().contains("1024"), "{many}");
        let large = Headers::new([("x", "v".repeat(20 << 20))]).unwrap_err();
        assert!(large.to_string().contains("bytes"), "{large}");
    }
}
