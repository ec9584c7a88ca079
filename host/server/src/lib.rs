//! The server: from a configuration to stacks, and from MCP and the command line to
//! executions of scripts.
//!
//! [`Stacks`] is what a configuration becomes. [`execution`] runs scripts against it;
//! [`mcp`] and [`command`] are the two ways in.
//!
//! **Architecture invariant.** This is the only crate that knows every other one.

pub mod cli;
pub mod command;
pub mod config;
pub mod execution;
mod load;
pub mod log;
pub mod mcp;
pub mod picture;
pub mod stacks;
pub mod stdio;
pub mod trace;

pub use stacks::{Stacks, Surroundings};
