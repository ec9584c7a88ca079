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
/// and the policy alone.
#[unsafe(no_mangle)]
fn __getrandom_v03_custom(_dest: *mut u8, _len: usize) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
