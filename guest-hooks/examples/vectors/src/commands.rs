//! The command language, apart from what the commands do.

use std::collections::BTreeMap;

/// The commands of one role, each kind at most once.
#[derive(Default)]
pub struct Commands {
    plain: BTreeMap<String, Option<String>>,
    set: BTreeMap<String, String>,
    remove: Vec<String>,
}

impl Commands {
    /// Reads a header's values. `known` are the words that stand alone or take `=`;
    /// `set:` and `remove:` are known to every role.
    pub fn read(values: &[String], known: &[&str], placeholders: &[(&str, String)]) -> Result<Self, String> {
        let mut commands = Self::default();
        let list = values.join(", ");
        for command in list.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            commands.add(command, known, placeholders)?;
        }
        Ok(commands)
    }

    fn add(&mut self, command: &str, known: &[&str], placeholders: &[(&str, String)]) -> Result<(), String> {
        let (word, argument) = match command.split_once('=') {
            Some((word, argument)) => (word, Some(fill(argument, placeholders))),
            None => (command, None),
        };
        let twice = || Err(format!("{word} is given twice"));
        if let Some(header) = word.strip_prefix("set:") {
            let value = argument.ok_or_else(|| format!("{word} has no value"))?;
            return match self.set.insert(header.to_owned(), value) {
                None => Ok(()),
                Some(_) => twice(),
            };
        }
        if let (Some(header), None) = (word.strip_prefix("remove:"), &argument) {
            if self.remove.iter().any(|known| known == header) {
                return twice();
            }
            self.remove.push(header.to_owned());
            return Ok(());
        }
        if !known.contains(&word) {
            return Err(format!("unknown command {word}"));
        }
        match self.plain.insert(word.to_owned(), argument) {
            None => Ok(()),
            Some(_) => twice(),
        }
    }

    /// Whether the command stands there.
    pub fn has(&self, word: &str) -> bool {
        self.plain.contains_key(word)
    }

    /// The command's argument, where it stands there and has one.
    pub fn argument(&self, word: &str) -> Option<&str> {
        self.plain.get(word)?.as_deref()
    }

    /// The command's argument as a number; an error where it is none.
    pub fn number(&self, word: &str) -> Result<Option<u16>, String> {
        self.has(word)
            .then(|| {
                let text = self.argument(word).unwrap_or_default();
                text.parse().map_err(|_| format!("{word}={text} is no number"))
            })
            .transpose()
    }

    /// `set:` with header and value.
    pub fn set(&self) -> impl Iterator<Item = (&str, &str)> {
        self.set.iter().map(|(header, value)| (header.as_str(), value.as_str()))
    }

    /// `remove:` with the header.
    pub fn remove(&self) -> impl Iterator<Item = &str> {
        self.remove.iter().map(String::as_str)
    }

    /// Carries out `trap`, `spin` and `fail`, the commands that come before every other.
    pub fn misbehave(&self) -> Result<(), String> {
        if self.has("trap") {
            std::process::abort();
        }
        if self.has("spin") {
            loop {
                std::hint::black_box(());
            }
        }
        match self.has("fail") {
            true => Err(self.argument("fail").unwrap_or("fail").to_owned()),
            false => Ok(()),
        }
    }

    /// What `deny` says: its reason where it has one.
    pub fn denial(&self) -> Option<Option<String>> {
        self.has("deny").then(|| self.argument("deny").map(str::to_owned))
    }

    /// The reason that stands at `allow`.
    pub fn allow_reason(&self) -> Option<String> {
        self.argument("allow").map(str::to_owned)
    }
}

/// Replaces placeholders, each text looked at once.
fn fill(argument: &str, placeholders: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = argument;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let found = placeholders.iter().find(|(name, _)| {
            from.strip_prefix('{')
                .and_then(|it| it.strip_prefix(name))
                .is_some_and(|it| it.starts_with('}'))
        });
        let taken = match found {
            Some((name, value)) => {
                filled.push_str(value);
                name.len() + 2
            }
            None => {
                filled.push('{');
                1
            }
        };
        rest = from.split_at(taken).1;
    }
    filled + rest
}
