//! Hooks that are WebAssembly components.
//!
//! The way of one call: a [`Component`] takes a place in a stack as a pre hook, a post
//! hook, a layer or an executor; each call of it gets a fresh instance with limits of its
//! own; the guest reads and makes values through host functions and answers; the instance
//! is thrown away. [`Engine`] is where components come from.
//!
//! **Architecture invariant.** A component is linked with the contract (`wit/`) and nothing
//! else: no clock, no randomness, no file, no network. What it imports beyond the contract
//! is refused when it is loaded. No state goes from one call to the next.

mod bindings;
mod budget;
mod cache;
mod component;
mod engine;
mod functions;
mod hook;
mod host;
mod limits;
mod session;
mod state;
mod surface;
mod ticker;
mod trap;
mod values;

pub use cache::Digest;
pub use component::Component;
pub use engine::{Engine, EngineOptions};
pub use limits::{GUEST_MEMORY, INSTANCES, TABLE_ELEMENTS};
pub use surface::HookRole;
