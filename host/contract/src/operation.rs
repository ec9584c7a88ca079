//! What crosses the seam: an operation going down, an output coming back.
//!
//! An operation's kind cannot be changed by a hook: there is no method that does it, and
//! [`Next::run`](crate::Next::run) refuses one of another kind.

use std::fmt;

use crate::fetch;

/// The category of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// One HTTP request.
    Fetch,
}

impl OperationKind {
    /// Every kind there is.
    pub const ALL: [Self; 1] = [Self::Fetch];

    /// The name in documents and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An effect that code in the sandbox wants to cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One HTTP request.
    Fetch(fetch::Request),
}

impl Operation {
    /// The category.
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Fetch(_) => OperationKind::Fetch,
        }
    }

    /// What it is aimed at, fit to be shown: no credentials, no query.
    pub fn target(&self) -> String {
        match self {
            Self::Fetch(request) => request.target(),
        }
    }

    /// What the script called, for its error text.
    pub fn api(&self) -> &'static str {
        match self {
            Self::Fetch(_) => "fetch",
        }
    }

    /// The names of the fields in which two operations of one kind differ.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        match (self, other) {
            (Self::Fetch(a), Self::Fetch(b)) => a.changed_fields(b),
        }
    }
}

/// What an effect gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The answer to one HTTP request.
    Fetch(fetch::Response),
}

impl Output {
    /// The category of the operation it answers.
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Fetch(_) => OperationKind::Fetch,
        }
    }

    /// The names of the fields in which two outputs of one kind differ.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        match (self, other) {
            (Self::Fetch(a), Self::Fetch(b)) => a.changed_fields(b),
        }
    }
}
