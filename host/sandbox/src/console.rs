//! What a script prints, kept up to a limit and shown while it runs.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

/// What an empty line costs of the limit, in bytes: a million of them must come to an end
/// too.
const LINE_COST: usize = 16;

/// The method of `console` a line was printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `console.debug`
    Debug,
    /// `console.log` and its kin
    Log,
    /// `console.info`
    Info,
    /// `console.warn`
    Warn,
    /// `console.error`, `console.trace`, `console.assert`
    Error,
}

impl Level {
    /// As the console's own script numbers them; whatever else comes is `Log`.
    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Debug,
            2 => Self::Info,
            3 => Self::Warn,
            4 => Self::Error,
            _ => Self::Log,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Debug => "debug",
            Self::Log => "log",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        })
    }
}

/// One call of `console`. The text may have line breaks in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How it was printed.
    pub level: Level,
    /// What was printed: valid Unicode, lone surrogates replaced.
    pub text: String,
}

/// The lines of one execution.
pub(crate) struct Console {
    state: Mutex<State>,
}

struct State {
    lines: Vec<Line>,
    room: usize,
    limit: usize,
    full: bool,
    live: Option<UnboundedSender<Line>>,
}

/// Whether the console takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    Full,
}

impl Console {
    /// A console that keeps `limit` bytes and sends each line to `live` as it comes. What
    /// is sent is what is kept, so the channel is bounded by the limit.
    pub(crate) fn new(limit: usize, live: Option<UnboundedSender<Line>>) -> Self {
        Self {
            state: Mutex::new(State {
                lines: Vec::new(),
                room: limit,
                limit,
                full: false,
                live,
            }),
        }
    }

    /// How many bytes of the next line are kept at most.
    pub(crate) fn room(&self) -> usize {
        self.lock().room
    }

    /// Keeps a line. `whole` is the length it had before anybody shortened it.
    pub(crate) fn print(&self, level: Level, mut text: String, whole: usize) -> Room {
        let mut state = self.lock();
        if state.full {
            return Room::Full;
        }
        let cost = whole.saturating_add(LINE_COST);
        if cost <= state.room {
            state.room -= cost;
            state.keep(Line { level, text });
            return Room::Left;
        }
        text.truncate(text.floor_char_boundary(state.room));
        if !text.is_empty() {
            state.keep(Line { level, text });
        }
        let marker = format!("[output cut here: a script may print {} bytes]", state.limit);
        state.keep(Line {
            level: Level::Warn,
            text: marker,
        });
        state.room = 0;
        state.full = true;
        state.live = None;
        Room::Full
    }

    /// Takes what was printed so far, and takes no more.
    pub(crate) fn take(&self) -> Vec<Line> {
        let mut state = self.lock();
        state.full = true;
        state.live = None;
        std::mem::take(&mut state.lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, line: Line) {
        if let Some(live) = &self.live {
            // Nobody listening any more is no reason to stop.
            let _ = live.send(line.clone());
        }
        self.lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(console: &Console) -> Vec<String> {
        console.take().into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn output_is_cut_with_a_marker() {
        let console = Console::new(64, None);
        assert_eq!(console.print(Level::Log, "a".repeat(20), 20), Room::Left);
        assert_eq!(console.print(Level::Log, "\u{e9}".repeat(40), 80), Room::Full);
        assert_eq!(console.print(Level::Log, "more".into(), 4), Room::Full);
        assert_eq!(
            texts(&console),
            [
                "a".repeat(20),
                "\u{e9}".repeat(14),
                "[output cut here: a script may print 64 bytes]".into()
            ]
        );
    }

    #[test]
    fn empty_lines_cost_something() {
        let console = Console::new(1600, None);
        let kept = (0..1000)
            .filter(|_| console.print(Level::Log, String::new(), 0) == Room::Left)
            .count();
        assert_eq!(kept, 100);
    }

    #[test]
    fn lines_are_seen_as_they_come() {
        let (live, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let console = Console::new(1000, Some(live));
        console.print(Level::Warn, "x".into(), 1);
        assert_eq!(
            seen.try_recv().unwrap(),
            Line {
                level: Level::Warn,
                text: "x".into()
            }
        );
    }
}
