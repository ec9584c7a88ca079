//! Progress of one call: a notification at the start, then the console as it comes.
//!
//! The rate is bounded: lines that come faster are sent together, and what does not fit
//! into one message is counted in it. A client that does not read holds up nothing but its
//! own notifications.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use seam_sandbox::Line;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// The shortest time between two notifications: a person cannot read faster.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long the message of one notification may be, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// The notifications of one call, if its client wants any.
pub(super) struct Progress(Option<JoinHandle<()>>);

impl Progress {
    /// Tells the start, and gives where console lines are to be put.
    pub(super) fn start(cx: &RequestContext<RoleServer>) -> (Self, Option<mpsc::UnboundedSender<Line>>) {
        let Some(token) = cx.meta.get_progress_token() else {
            return (Self(None), None);
        };
        let (sender, lines) = mpsc::unbounded_channel();
        let teller = Teller {
            peer: cx.peer.clone(),
            token,
            told: 0.0,
        };
        let task = tokio::spawn(teller.run(lines));
        (Self(Some(task)), Some(sender))
    }

    /// Waits until everything is told, but not for a client that has cancelled.
    pub(super) async fn finish(self, cancelled: &CancellationToken) {
        let Some(mut task) = self.0 else { return };
        tokio::select! {
            // The task's only way to fail is a panic, which is in the log.
            _ = &mut task => {}
            () = cancelled.cancelled() => task.abort(),
        }
    }
}

struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    told: f64,
}

impl Teller {
    async fn run(mut self, mut lines: mpsc::UnboundedReceiver<Line>) {
        self.tell("started".into()).await;
        let mut message = Message::default();
        let mut next = Instant::now();
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => message.add(&line),
                    None => break,
                },
                () = sleep_until(next), if !message.is_empty() => {
                    self.tell(message.take()).await;
                    next = Instant::now() + INTERVAL;
                }
            }
        }
        if !message.is_empty() {
            self.tell(message.take()).await;
        }
    }

    /// A client that is gone needs no progress.
    async fn tell(&mut self, message: String) {
        self.told += 1.0;
        let note = ProgressNotificationParam::new(self.token.clone(), self.told).with_message(message);
        let _ = self.peer.notify_progress(note).await;
    }
}

/// The lines of the next notification.
#[derive(Default)]
struct Message {
    text: String,
    left_out: usize,
}

impl Message {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.left_out == 0
    }

    fn add(&mut self, line: &Line) {
        if self.text.len() + line.text.len() + 1 > MAX_MESSAGE {
            self.left_out += 1;
            return;
        }
        self.text.push_str(&line.text);
        self.text.push('\n');
    }

    fn take(&mut self) -> String {
        let Self { mut text, left_out } = std::mem::take(self);
        if left_out > 0 {
            text.push_str(&format!("[{left_out} lines left out here]\n"));
        }
        text.pop();
        text
    }
}
