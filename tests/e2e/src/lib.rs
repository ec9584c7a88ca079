//! What the end-to-end tests and the demo stand on: a recording HTTP server, the shipped
//! `seam` binary in a process of its own, a real MCP client, and the binary's own trace.
//!
//! **Architecture invariant.** Nothing here links the product. What these tests see is
//! what a user sees: a process, its standard streams, its trace file, and what arrives at
//! a server.

pub mod client;
pub mod files;
pub mod product;
pub mod server;
pub mod trace;
pub mod wire;

pub use client::{Run, Session};
pub use files::Files;
pub use product::Product;
pub use server::{Answer, Recorder};
pub use wire::Wire;
