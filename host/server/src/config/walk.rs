//! Walks a configuration with the JSON path in hand.
//!
//! A [`Node`] is one value and where it stands. Each method says what it expects, and a
//! value of another form becomes a mistake in the log rather than an early return: the
//! walk goes on, and a person gets every mistake of a file in one go.

use std::{fmt::Write as _, ops::RangeInclusive};

use seam_contract::json::Value;

use super::mistake::Log;

/// The keys an object may have.
pub(crate) struct Keys {
    /// Those there are, each with what its value is measured in, if anything.
    pub(crate) accepted: &'static [(&'static str, &'static str)],
    /// Those of the contract that this version has not.
    pub(crate) later: &'static [&'static str],
}

/// One value of a configuration and its JSON path.
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: String,
    log: &'a Log,
}

impl<'a> Node<'a> {
    /// The whole configuration.
    pub(crate) fn root(value: &'a Value, log: &'a Log) -> Self {
        Self {
            value,
            path: String::new(),
            log,
        }
    }

    /// Where it stands, such as `fetch.pre[1]`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value as it was written.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// Something is wrong here.
    pub(crate) fn mistake(&self, message: impl Into<String>) {
        self.log.add(&self.path, message);
    }

    /// Something is wrong with the member `key` of this object.
    pub(crate) fn mistake_at(&self, key: &str, message: impl Into<String>) {
        self.log.add(&member_path(&self.path, key), message);
    }

    /// An object with no other keys than these. `None`, with a mistake, where it is none;
    /// unknown keys are mistakes too, the known ones are still given.
    pub(crate) fn object(&self, keys: &Keys) -> Option<Members<'a>> {
        let Value::Object(members) = self.value else {
            self.mistake(format!(
                "is {}, expected an object with the keys {}",
                shown(self.value),
                keys.list()
            ));
            return None;
        };
        for (key, _) in members {
            if !keys.accepted.iter().any(|(accepted, _)| accepted == key) {
                self.mistake_at(key, keys.refuse(key));
            }
        }
        Some(Members {
            members,
            path: self.path.clone(),
            log: self.log,
        })
    }

    /// The items of an array. `None`, with a mistake, where it is none.
    pub(crate) fn items(&self, expected: &str) -> Option<Vec<Node<'a>>> {
        let Value::Array(items) = self.value else {
            self.mistake(format!("is {}, expected {expected}", shown(self.value)));
            return None;
        };
        let node = |(i, value)| Node {
            value,
            path: format!("{}[{i}]", self.path),
            log: self.log,
        };
        Some(items.iter().enumerate().map(node).collect())
    }

    /// A string that is not empty.
    pub(crate) fn string(&self, expected: &str) -> Option<&'a str> {
        match self.value {
            Value::String(text) if !text.is_empty() => Some(text),
            other => {
                self.mistake(format!("is {}, expected {expected}", shown(other)));
                None
            }
        }
    }

    /// A boolean.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(*value),
            other => {
                self.mistake(format!("is {}, expected true or false", shown(other)));
                None
            }
        }
    }

    /// A whole number of `unit` within `range`.
    pub(crate) fn whole_number(&self, unit: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let number = match self.value {
            Value::Number(number) => number.as_u64().filter(|number| range.contains(number)),
            _ => None,
        };
        if number.is_none() {
            let (from, to) = (range.start(), range.end());
            self.mistake(format!(
                "is {}, expected a whole number of {unit} from {from} to {to}",
                shown(self.value)
            ));
        }
        number
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, meaning)) = words.iter().find(|(word, _)| self.value.as_str() == Some(word)) {
            return Some(*meaning);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let guess = self
            .value
            .as_str()
            .and_then(|text| closest(text, &names))
            .map_or(String::new(), did_you_mean);
        self.mistake(format!(
            "is {}{guess}; accepted are {}",
            shown(self.value),
            names.join(", ")
        ));
        None
    }
}

/// The members of an object.
pub(crate) struct Members<'a> {
    members: &'a [(String, Value)],
    path: String,
    log: &'a Log,
}

impl<'a> Members<'a> {
    /// The member `key`, where there is one.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let (_, value) = self.members.iter().find(|(name, _)| name == key)?;
        Some(Node {
            value,
            path: member_path(&self.path, key),
            log: self.log,
        })
    }
}

impl Keys {
    /// The accepted keys, with units where there are any.
    fn list(&self) -> String {
        let shown = |(key, unit): &(&str, &str)| match *unit {
            "" => (*key).to_owned(),
            unit => format!("{key} ({unit})"),
        };
        self.accepted.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn refuse(&self, key: &str) -> String {
        if self.later.contains(&key) {
            return format!("this version has no {key} yet; accepted are {}", self.list());
        }
        let names: Vec<&str> = self.accepted.iter().map(|(name, _)| *name).collect();
        let guess = closest(key, &names).map_or(String::new(), did_you_mean);
        format!("unknown key{guess}; accepted are {}", self.list())
    }
}

fn did_you_mean(guess: &str) -> String {
    format!(", did you mean {guess}?")
}

/// The word that was probably meant: one letter wrong in three at most, or a part of it.
pub(crate) fn closest<'w>(text: &str, words: &[&'w str]) -> Option<&'w str> {
    let text = text.to_lowercase();
    let near = |word: &&str| strsim::damerau_levenshtein(&text, word) * 3 <= word.len().max(text.chars().count());
    let part = |word: &&str| text.len() >= 3 && (word.starts_with(&text) || text.starts_with(*word));
    let nearest = words.iter().filter(|word| near(word));
    let nearest = nearest.min_by_key(|word| strsim::damerau_levenshtein(&text, word));
    nearest.or_else(|| words.iter().find(|word| part(word))).copied()
}

/// A value as a message shows it: short, and with its type.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "an empty string".into(),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Number(number) => number.as_str().chars().take(40).collect(),
        Value::Bool(value) => value.to_string(),
        other => other.type_name().into(),
    }
}

/// A text in quotes, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    /// Longer ones would hide the message they stand in.
    const MAX_SHOWN: usize = 120;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{:?}…", &text[..at]),
        None => format!("{text:?}"),
    }
}

/// `fetch.pre` for a plain key, `fetch["odd key"]` for another.
fn member_path(path: &str, key: &str) -> String {
    let plain =
        !key.is_empty() && key.len() <= 80 && key.chars().all(|c| c.is_ascii_alphanumeric() || "_@-".contains(c));
    let mut whole = path.to_owned();
    if plain {
        if !path.is_empty() {
            whole.push('.');
        }
        whole.push_str(key);
    } else {
        // Writing to a `String` cannot fail.
        let _ = write!(whole, "[{}]", quoted(key));
    }
    whole
}
