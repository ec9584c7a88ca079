//! Tests of the program: the real binary, driven from outside.

mod check;
mod config;
mod mcp;
mod raw;
mod run;
mod support;
