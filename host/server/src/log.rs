//! The log: plain lines on standard error, never on standard output.
//!
//! Nothing here can fail or panic: a log that cannot be written is not worth a server.

use std::{
    fmt::{self, Write as _},
    io::Write as _,
    panic,
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

/// Writes one line.
pub fn line(text: impl fmt::Display) {
    // One write, so that lines of several threads do not mix.
    let _ = std::io::stderr().write_all(format!("seam: {text}\n").as_bytes());
}

/// Sends panics and the errors of libraries to the log. To be called once.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("no message");
        let place = info
            .location()
            .map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
        line(format_args!("defect, please report it: panicked{place}: {what}"));
    }));
    // It is set already where several tests share a process.
    let _ = tracing::subscriber::set_global_default(LibraryErrors);
}

/// Takes errors of libraries, without spans.
struct LibraryErrors;

impl Subscriber for LibraryErrors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::ERROR
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::ERROR)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        line(format_args!("{}:{}", event.metadata().target(), text.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The fields of an event as text, cut where they grow long.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        /// Enough to know what happened; a library may put a whole message here.
        const MAX_TEXT: usize = 600;
        if self.0.len() < MAX_TEXT {
            // Writing to a `String` cannot fail.
            let _ = match field.name() {
                "message" => write!(self.0, " {value:?}"),
                name => write!(self.0, " {name}={value:?}"),
            };
        }
        if let Some((at, _)) = self.0.char_indices().nth(MAX_TEXT) {
            self.0.truncate(at);
        }
    }
}
