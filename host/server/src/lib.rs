//! The server: from a configuration to stacks, and from MCP and the command line to
//! executions of scripts.
//!
//! [`Stacks`] is what a configuration becomes. [`execution`] runs scripts against it;
//! [`mcp`] and [`command`] are the two ways in.
//!
//! **Architecture invariant.** This is the only crate that knows every other one.

pub mod config;
pub mod log;
pub mod stdio;
pub mod trace;
