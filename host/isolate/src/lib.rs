//! V8 isolates that can be limited, stopped and trusted to hold hostile code.
//!
//! An [`Isolate`] runs one script or one hook file. It has no way out by itself: no op,
//! no global, no `WebAssembly`, no shared memory. Whoever creates it adds the ops it
//! needs as an extension and names them in [`Options::ops`]; every other op throws.
//!
//! **Architecture invariants.** All `unsafe` code around V8 is in this crate. Nothing an
//! isolate runs can end the process, write to stdout, or hold memory beyond its
//! [`Limits`] for longer than it takes to stop it. An isolate stays on the thread that
//! created it; only its [`Terminator`] leaves.

mod error;
mod fatal;
mod isolate;
mod memory;
mod ops;
mod platform;
mod realm;
mod terminator;
mod thread;
mod watchdog;

/// deno_core, for crates that declare ops: `use seam_isolate::deno_core;` beside them.
///
/// `op2` calls a check in debug builds that exists only in debug builds of deno_core
/// itself. Dependencies are optimised here, so it is supplied; it guards against ops that
/// call back into ops while state is borrowed, which a panic would report as well.
pub mod deno_core {
    pub use ::deno_core::*;

    #[doc(hidden)]
    pub mod _ops {
        pub use ::deno_core::_ops::*;

        /// Stands in for the check that deno_core leaves out when it is optimised.
        pub fn reentrancy_check(_: &::deno_core::OpDecl) -> Option<()> {
            None
        }
    }
}

pub use error::{ScriptError, Stop};
pub use isolate::{Function, Isolate, Options, THREAD_STACK, Value};
pub use memory::{Limits, Memory, Reservation, array_buffer};
pub use ops::{CORE_OPS, refuse_ops};
pub use platform::init_platform;
pub use realm::HARDEN;
pub use terminator::{Armed, Cause, Terminator};
pub use thread::ThreadId;
