//! Rego inside a component: the engine, one policy, no way out.
//!
//! The host calls `load` once, snapshots the memory, and judges every operation in a
//! fresh instance of the snapshot: nothing of one evaluation reaches the next.
//! Deliberately absent: clocks, randomness, the network, files, the environment.

#[cfg(target_arch = "wasm32")]
mod component;
#[cfg(target_arch = "wasm32")]
mod heap;
mod json;
mod message;
mod names;
pub mod policy;
mod rules;

/// Dependencies that ask for randomness get an error: a verdict depends on the input
/// and the policy alone. The builtin that would ask is refused at load, see `names.rs`.
#[unsafe(no_mangle)]
fn __getrandom_v03_custom(_target: *mut u8, _length: usize) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
