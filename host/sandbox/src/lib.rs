//! The sandbox: runs a guest's script in an isolate of its own.
//!
//! [`run`] is the whole of it. A script gets the language, the harmless part of the web
//! platform, a console that is captured, and the APIs of the categories that are
//! configured ([`Seam`]). What it wants from the world leaves its thread as an
//! [`Operation`](seam_contract::Operation) and passes a [`Stack`](seam_contract::Stack) on
//! the host's runtime; only the answer comes back.
//!
//! **Architecture invariant.** This crate makes operations and performs no effect: no
//! network, no file, no process is in its reach, and a test of its dependencies can show it.

mod console;
mod guest;
mod limits;
mod ops;
mod outcome;
mod platform;
mod run;
mod script;
mod source;

pub use console::{Level, Line};
pub use limits::{InvalidLimit, Limits};
pub use outcome::{Outcome, Status, Value};
pub use platform::init_platform;
pub use run::{Seam, run};
pub use script::{Language, Script};
pub use seam_isolate::ScriptError;
