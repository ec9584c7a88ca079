//! What is wrong with a configuration, and where.

use std::{error::Error, fmt, sync::Mutex};

/// One mistake: the file it is in, the JSON path within, and what is accepted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `--policies-json`, or the path of the file it named.
    pub origin: String,
    /// Such as `fetch.pre[1].timeout_ms`; empty for the text as a whole.
    pub path: String,
    /// What is wrong, and what is accepted instead.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}: {}", self.origin, self.message)
        } else {
            write!(f, "{}: {}: {}", self.origin, self.path, self.message)
        }
    }
}

/// Every mistake of a configuration, at least one. Displays one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// The only mistake there is.
    pub fn one(mistake: Mistake) -> Self {
        Self(vec![mistake])
    }

    /// The mistakes, in the order of the configuration.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Mistake> {
        self.0.iter()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, mistake) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl Error for Mistakes {}

/// Collects mistakes while a configuration is walked, so that all are told at once.
#[derive(Debug)]
pub(crate) struct Log {
    origin: String,
    mistakes: Mutex<Vec<Mistake>>,
}

impl Log {
    /// A log for a text that came from `origin`.
    pub(crate) fn new(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            mistakes: Mutex::default(),
        }
    }

    /// Adds a mistake.
    pub(crate) fn add(&self, path: &str, message: impl Into<String>) {
        let (origin, path, message) = (self.origin.clone(), path.to_owned(), message.into());
        self.with(|mistakes| mistakes.push(Mistake { origin, path, message }));
    }

    /// The value, if nothing was wrong.
    pub(crate) fn unless_mistaken<T>(&self, value: Option<T>) -> Result<T, Mistakes> {
        let mistakes = self.with(std::mem::take);
        match value {
            Some(value) if mistakes.is_empty() => Ok(value),
            // A value is missing only where a mistake says why.
            _ => Err(Mistakes(mistakes)),
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Vec<Mistake>) -> T) -> T {
        // Pushing and taking leave nothing half done, so a poisoned lock is as good.
        f(&mut self.mistakes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
