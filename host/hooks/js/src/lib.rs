//! Hooks written in JavaScript.
//!
//! A [`JsFile`] is one file of plain script (no module), evaluated when it is loaded and
//! kept warm: what it keeps at its top level persists from call to call. Its functions
//! stand in a stack as pre hooks, post hooks, layers or executors. Calls into one file
//! take turns; a layer keeps its turn while it waits for `next`.
//!
//! # What a hook file finds
//!
//! The built-ins of ECMAScript with `Intl`, and a `console` whose lines go to the host's
//! log. Nothing else by any name: no `fetch`, no `fs`, no timers, no `import`, no
//! `WebAssembly`, no shared memory, no `FinalizationRegistry`. `eval` and `Function` of a
//! text throw: a hook computes over texts that guests choose. [`GLOBALS`] is the list.
//!
//! # What a hook function does
//!
//! - `pre(input)` and `post(input, output)` give a verdict, or a promise of one:
//!   `undefined` or `null` abstains, `true` and `false` decide, an object is the long form.
//! - `handle(input, next)` as a layer gives the output document; `next(input)` promises
//!   the output of the rest of the stack and may be called up to [`MAX_DESCENTS`] times.
//!   It rejects with an error that has `kind`, `by` and `reason`; thrown on, the refusal
//!   behind it reaches the guest as it was.
//! - `handle(input)` as an executor gives the output document.
//!
//! Documents are made anew for each call: changing one changes nothing. An answer is held
//! to JSON strictly: a function, a symbol, a `BigInt`, `NaN`, a `Map` or a forgotten
//! promise anywhere in it is a failure, never a missing member. Throwing is a failure of
//! the hook; in a layer or an executor, throwing an error whose `name` is `Denied` denies
//! with its message. So is a rejected promise that nobody handled when the call ends.
//!
//! # How a call ends
//!
//! Its limit counts from the start of its turn; waiting for the turn has a bound of the
//! same length. A call that is late or given up ends for good: running script is
//! terminated, what it waited for never resumes, descents still in flight are dropped. The
//! file's state stays, as it was at that moment, and the next call finds it. Only a file
//! that used up its memory, or whose worker crashed or would not stop, loses its state: it
//! is evaluated anew, from the text it had at start-up, for the next call.
//!
//! **Architecture invariant.** The isolate of a file lives on a thread of its own and links
//! nothing that could act: a descent is run by the layer's own future, on the host's side.

mod call;
mod console;
mod file;
mod next;
mod place;
mod realm;
mod thrown;
mod worker;

pub use call::MAX_WAITING;
pub use file::{JsFile, Options};
pub use next::MAX_DESCENTS;
pub use realm::GLOBALS;
