//! One suite of cases, run against every hook backend.
//!
//! A [`Case`] is data: a request, the places that a hook takes in a stack, what the effect
//! answers, and everything that must come of it. The same case runs with the hook written
//! in Rego, JavaScript and wasm ([`Hooks`]), through the real `Stack`; what happened is
//! [`observed`](observe::observe) and [`compared`](expect::differences) in full. What a
//! case does not mention has to be unchanged, not just any value.

pub mod backend;
pub mod case;
pub mod expect;
pub mod observe;
pub mod stage;

pub use backend::{Backend, Engines, Hooks};
pub use case::{Case, Place, load};
pub use expect::{Expected, differences};
pub use observe::{Observed, observe};
pub use stage::on_stage;
