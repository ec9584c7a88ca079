//! The wasm backend against real components, in a real stack.

mod bodies;
mod cache;
mod document;
mod limits;
mod load;
mod parallel;
mod roles;
mod support;
