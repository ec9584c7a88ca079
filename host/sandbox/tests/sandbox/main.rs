//! The sandbox with a real stack and an executor that records instead of acting.

mod fetch;
mod hostile;
mod limits;
mod script;
mod support;
mod web;
