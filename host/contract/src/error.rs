//! The ways an operation ends without an answer.
//!
//! A [`Denial`] is a decision. An [`Error`] is everything else: a hook that gave no
//! verdict, an input that cannot be executed, an effect that went wrong. They never turn
//! into each other, and their texts can't be mistaken for each other.

use std::{error::Error as StdError, fmt, sync::Arc};

/// How long a reason may be, in bytes; longer ones are cut. Reasons travel into guests,
/// audit lines and messages of a person's size.
pub const MAX_REASON: usize = 4096;

/// Which place in the stack something happened at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A hook that judges the input.
    PreHook,
    /// A hook that judges the output.
    PostHook,
    /// A hook around the operation.
    Layer,
    /// The policies of the operation, `@policy`.
    Policy,
    /// The innermost place: the real effect, `@execute`, or a virtual one.
    Executor,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PreHook => "pre hook",
            Self::PostHook => "post hook",
            Self::Layer => "layer",
            Self::Policy => "policy",
            Self::Executor => "executor",
        })
    }
}

/// A decision against an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Who decided.
    pub by: Role,
    /// Why, in the hook's words, at most [`MAX_REASON`] bytes.
    pub reason: Option<String>,
}

impl Denial {
    /// A denial; an over-long reason is cut.
    pub fn new(by: Role, reason: Option<String>) -> Self {
        Self {
            by,
            reason: reason.map(bounded),
        }
    }
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be executed as it stands: the caller's mistake.
    Invalid,
    /// A hook gave no verdict: it trapped, threw, hung, vanished or answered out of form.
    HookFailed,
    /// The real effect went wrong.
    EffectFailed,
    /// The operation was ended from outside before it answered.
    Cancelled,
    /// The configuration cannot be carried out.
    Config,
}

impl ErrorKind {
    /// The name that hooks see: `hook-failed`, `effect-failed`, `invalid`, `cancelled`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::HookFailed => "hook-failed",
            Self::EffectFailed => "effect-failed",
            Self::Cancelled => "cancelled",
            Self::Config => "config",
        }
    }
}

/// Something went wrong; nobody decided. Displays as `<who> failed: <what>`.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    at: Option<(Role, String)>,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind. `message` is lower case, without a full stop, and free of
    /// credentials.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            at: None,
            message: bounded(message.into()),
            source: None,
        }
    }

    /// A hook gave no verdict.
    pub fn hook(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::HookFailed, message)
    }

    /// With what lies behind it.
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// With another kind: an input that is invalid because a hook wrote it is the hook's
    /// failure.
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// With the place it happened at, unless that is known already.
    pub fn at(mut self, role: Role, name: &str) -> Self {
        self.at.get_or_insert_with(|| (role, name.to_owned()));
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The role and name of the hook or executor, where one was at work.
    pub fn place(&self) -> Option<(Role, &str)> {
        self.at.as_ref().map(|(role, name)| (*role, name.as_str()))
    }

    /// What went wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some((Role::Policy, _)) => write!(f, "policy failed: {}", self.message),
            Some((role, name)) => write!(f, "{role} {name} failed: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.kind.name())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// The end of an operation without an answer.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Somebody decided against it.
    Denied(Denial),
    /// Nobody decided; it failed.
    Failed(Error),
}

impl Refusal {
    /// The name that hooks see: `denied`, or that of the error's kind.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Failed(error) => error.kind().name(),
        }
    }

    /// What refused, as hooks see it.
    pub fn by(&self) -> Role {
        match self {
            Self::Denied(denial) => denial.by,
            Self::Failed(error) => error.place().map_or(Role::Executor, |(role, _)| role),
        }
    }

    /// The reason of a denial, or the message of an error.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Denied(denial) => denial.reason.as_deref(),
            Self::Failed(error) => Some(error.message()),
        }
    }

    /// The text the script sees. `api` is what it called (`fetch`, `fs.readFile`),
    /// `target` what it called it on, without userinfo and query.
    ///
    /// `fetch denied by pre hook (no http): http://ok.test/` is a decision,
    /// `fetch stopped, pre hook a.js failed (timed out after 5000 ms): http://ok.test/`
    /// is not.
    pub fn message(&self, api: &str, target: &str) -> String {
        match self {
            Self::Denied(Denial {
                by,
                reason: Some(reason),
            }) => format!("{api} denied by {by} ({reason}): {target}"),
            Self::Denied(Denial { by, reason: None }) => format!("{api} denied by {by}: {target}"),
            Self::Failed(error) => {
                let what = error.message();
                match (error.kind(), error.place()) {
                    (ErrorKind::HookFailed, Some((Role::Policy, _))) => {
                        format!("{api} stopped, policy failed ({what}): {target}")
                    }
                    (ErrorKind::HookFailed, Some((role, name))) => {
                        format!("{api} stopped, {role} {name} failed ({what}): {target}")
                    }
                    (ErrorKind::HookFailed, None) => format!("{api} stopped, a hook failed ({what}): {target}"),
                    (ErrorKind::Cancelled, _) => format!("{api} cancelled ({what}): {target}"),
                    _ => format!("{api} failed ({what}): {target}"),
                }
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

/// Cuts a text at [`MAX_REASON`] bytes, at a character's boundary, and says so.
pub fn bounded(mut text: String) -> String {
    if text.len() > MAX_REASON {
        let end = (0..=MAX_REASON)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
        text.push_str(" [cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_does_not_read_like_a_decision() {
        let denied = Refusal::from(Denial::new(Role::PreHook, Some("no".into())));
        let failed = Refusal::from(Error::hook("timed out after 5 ms").at(Role::PreHook, "a.js"));
        assert_eq!(
            denied.message("fetch", "http://ok.test/"),
            "fetch denied by pre hook (no): http://ok.test/"
        );
        assert_eq!(
            failed.message("fetch", "http://ok.test/"),
            "fetch stopped, pre hook a.js failed (timed out after 5 ms): http://ok.test/"
        );
        assert_eq!((denied.kind_name(), failed.kind_name()), ("denied", "hook-failed"));
    }

    #[test]
    fn the_first_place_named_stays() {
        let error = Error::hook("x").at(Role::Policy, "p").at(Role::Layer, "l");
        assert_eq!(error.place(), Some((Role::Policy, "p")));
    }

    #[test]
    fn long_reasons_are_cut_at_a_character() {
        let denial = Denial::new(Role::Layer, Some("\u{e9}".repeat(MAX_REASON)));
        let reason = denial.reason.unwrap();
        assert!(reason.len() <= MAX_REASON + " [cut]".len() && reason.ends_with("\u{e9} [cut]"));
    }
}
