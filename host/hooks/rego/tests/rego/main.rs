//! The Rego backend against the real component, in a real stack.

mod cache;
mod judge;
mod load;
mod support;
