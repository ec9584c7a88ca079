//! JSON texts and the engine's values, without loss.
//!
//! Not the engine's own parser: that one rounds whole numbers beyond 64 bits, lets the
//! last of two equal keys win, and takes an object with a certain magic key for a
//! number. A document comes from a judged script, so each of these would be a way to
//! show the policy something else than what is executed.

mod read;
mod write;

use std::fmt;

pub use read::parse;
pub use write::write;

/// How deep arrays and objects may nest, in and out: the 128 levels of the host's
/// documents and what is around one (`{"input": …, "output": …}`). Far from the end of
/// the stack, here and in the engine's own recursion.
const MAX_DEPTH: usize = 132;

/// Why a text is no document, or a value no JSON.
#[derive(Debug)]
pub enum JsonError {
    /// Not JSON: what was expected, at which byte.
    Expected(&'static str, usize),
    /// A key that occurs twice in one object, which ends before this byte.
    DuplicateKey(usize),
    /// A number at this byte that the engine would change.
    Number(usize),
    /// Nested beyond the limit.
    TooDeep,
    /// A part without a value.
    Undefined,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(what, at) => write!(f, "not valid JSON: {what} at byte {at}"),
            Self::DuplicateKey(at) => {
                write!(f, "a key occurs twice in the object that ends at byte {at}")
            }
            Self::Number(at) => write!(
                f,
                "the number at byte {at} has more digits or a larger exponent than Rego can keep"
            ),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Self::Undefined => write!(f, "a part of it is undefined"),
        }
    }
}

#[cfg(test)]
mod tests {
    use regorus::Value;
    use regorus::value::{Array, Object};

    use super::*;

    fn round_trip(text: &str) -> String {
        write(&parse(text).unwrap()).unwrap()
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_comes_in_goes_out() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            r#"{"a":[1,-2,{"b":null}],"c":"d"}"#,
            "18446744073709551615",
            "18446744073709551617",
            "-9223372036854775809",
            "123456789012345678901234567890123456789012345678901234567890",
            r#""\"\\ \n\t\u0000 é 😀""#,
            r#"{"$serde_json::private::Number":"5"}"#,
        ] {
            assert_eq!(round_trip(text), text);
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        for (text, written) in [
            ("0.1", "0.1"),
            ("-1.5e300", "-1.5e300"),
            ("1e2", "100"),
            ("2.50", "2.5"),
            ("0.0", "0"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("1.5e-9", "1.5e-9"),
        ] {
            assert_eq!(round_trip(text), written);
        }
    }

    #[test]
    fn numbers_that_would_change_are_refused() {
        for text in [
            "0.1234567890123456789",
            "1e400",
            "-1e400",
            "1e-400",
            "[1.00000000000000000001]",
        ] {
            assert!(refused(text).contains("more digits"), "{text}: {}", refused(text));
        }
        assert!(refused(&"9".repeat(1001)).contains("more digits"));
    }

    #[test]
    fn escapes_are_characters() {
        assert_eq!(round_trip(r#""\ud83d\ude00\u00e9\/\b\f""#), r#""😀é/\u0008\u000c""#);
        assert_eq!(round_trip(r#"{"\u0061":1}"#), r#"{"a":1}"#);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "nul",
            "truth",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "1 1",
            "NaN",
        ] {
            assert!(refused(text).contains("not valid JSON"), "{text:?}: {}", refused(text));
        }
    }

    #[test]
    fn equal_keys_are_refused() {
        assert!(refused(r#"{"a":1,"\u0061":2}"#).contains("a key occurs twice"));
    }

    #[test]
    fn depth_has_a_limit_both_ways() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(round_trip(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
        assert!(refused(&nested(MAX_DEPTH + 2)).contains("nested deeper"));
        assert!(refused(&"[".repeat(5_000_000)).contains("nested deeper"));
        let mut value = Value::Null;
        for _ in 0..1000 {
            value = Array::from(vec![value]).into();
        }
        assert!(write(&value).unwrap_err().to_string().contains("nested deeper"));
    }

    #[test]
    fn sets_and_keys_that_are_no_strings_have_a_form() {
        let set: std::collections::BTreeSet<Value> = [Value::from("b"), Value::from("a")].into();
        assert_eq!(write(&Value::from(set)).unwrap(), r#"["a","b"]"#);
        let object: Object = [(Value::from(1u64), Value::Null)].into_iter().collect();
        assert_eq!(write(&object.into()).unwrap(), r#"{"1":null}"#);
    }
}
