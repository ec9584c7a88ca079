//! How much one execution may have.

use std::{fmt, time::Duration};

/// The limits of one execution. [`Limits::default`] suits a tool call of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, from the start to the last un-awaited operation.
    pub time: Duration,
    /// V8's heap, in MiB. Array buffers and bodies may take as much again.
    pub heap_mb: usize,
    /// What the console and the result keep, in bytes each.
    pub output_bytes: usize,
}

impl Limits {
    /// Long enough for a handful of slow requests, short enough for somebody waiting.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(30);
    /// The longest anybody may ask for: beyond it, a job wants another tool.
    pub const MAX_TIME: Duration = Duration::from_secs(600);
    /// Enough for a body of the largest size as a string and its parsed form.
    pub const DEFAULT_HEAP_MB: usize = 128;
    /// Below this V8 has no room for its own start.
    pub const MIN_HEAP_MB: usize = 16;
    /// One execution alone can't be given more than a small machine has.
    pub const MAX_HEAP_MB: usize = 2048;
    /// More than anybody reads; a model's context is smaller still.
    pub const DEFAULT_OUTPUT_BYTES: usize = 1 << 20;
    /// What a client of the protocol takes in one line.
    pub const MAX_OUTPUT_BYTES: usize = 8 << 20;
    /// How long a script may be, in bytes. The parser's stack is sized by it.
    pub const MAX_CODE_BYTES: usize = 256 << 10;

    /// The same limits, if they are within what is allowed.
    pub fn checked(self) -> Result<Self, InvalidLimit> {
        let reject = |limit, range: String| Err(InvalidLimit { limit, range });
        if self.time.is_zero() || self.time > Self::MAX_TIME {
            return reject(
                "the time limit",
                format!("above 0 and up to {} s", Self::MAX_TIME.as_secs()),
            );
        }
        if !(Self::MIN_HEAP_MB..=Self::MAX_HEAP_MB).contains(&self.heap_mb) {
            return reject(
                "the heap limit",
                format!("from {} to {} MiB", Self::MIN_HEAP_MB, Self::MAX_HEAP_MB),
            );
        }
        if self.output_bytes > Self::MAX_OUTPUT_BYTES {
            return reject("the output limit", format!("up to {} bytes", Self::MAX_OUTPUT_BYTES));
        }
        Ok(self)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Self::DEFAULT_TIME,
            heap_mb: Self::DEFAULT_HEAP_MB,
            output_bytes: Self::DEFAULT_OUTPUT_BYTES,
        }
    }
}

/// A limit outside of what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLimit {
    limit: &'static str,
    range: String,
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.limit, self.range)
    }
}

impl std::error::Error for InvalidLimit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_limits() {
        assert!(Limits::default().checked().is_ok());
        let bad = |change: fn(&mut Limits)| {
            let mut limits = Limits::default();
            change(&mut limits);
            limits.checked().unwrap_err().to_string()
        };
        assert_eq!(
            bad(|l| l.time = Duration::ZERO),
            "the time limit must be above 0 and up to 600 s"
        );
        assert_eq!(bad(|l| l.heap_mb = 1), "the heap limit must be from 16 to 2048 MiB");
        assert_eq!(
            bad(|l| l.output_bytes = usize::MAX),
            "the output limit must be up to 8388608 bytes"
        );
    }
}
