//! `cargo xtask demo`: the main job, from an empty checkout to printed decisions.

use std::process::Command;

use anyhow::Result;

use crate::cli::Arguments;
use crate::product::{self, Built};
use crate::workspace;

/// Builds everything and runs the demo, which checks what it prints.
pub fn run(_: &Arguments) -> Result<()> {
    let product = product::build(Built::ForUse)?;
    workspace::run(&mut Command::new(product.binaries.join("demo")))
}
