//! The stack, tested alone: layers written in Rust around a recording executor.

mod chain;
mod descents;
mod documents;
mod round_trip;
mod support;
