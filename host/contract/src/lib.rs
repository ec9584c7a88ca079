//! The contract of Seam: what an operation is, what a hook may answer, and the stack
//! that every effect passes.
//!
//! The way of one operation: [`Operation`] → [`Stack::run`] → each [`Layer::handle`] from
//! the outermost in → the [`Executor`] → [`Output`] back through the layers in reverse.
//! [`stack`] is the file to read first.
//!
//! **Architecture invariant.** This crate knows no V8, no wasmtime, no network and no
//! file system: it decides who is asked, in which order, and what counts as an answer.
//! It knows no serde either; the wire shape of documents lives in [`document`].

pub mod call;
pub mod document;
pub mod error;
pub mod fetch;
pub mod headers;
pub mod hook;
pub mod json;
pub mod layer;
pub mod operation;
pub mod record;
pub mod schema;
pub mod stack;
pub mod verdict;

pub use call::{Call, Caller, Cx};
pub use error::{Denial, Error, ErrorKind, Refusal, Role};
pub use hook::{Gate, PostHook, PostLayer, PreHook, PreLayer};
pub use layer::{Layer, Next};
pub use operation::{Operation, OperationKind, Output};
pub use stack::{Executor, Stack};
pub use verdict::Verdict;
