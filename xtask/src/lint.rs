//! `cargo xtask lint`: clippy, with warnings as errors.

use anyhow::Result;

use crate::cli::Arguments;
use crate::{setup, v8, workspace};

const DENIED: [&str; 3] = ["--", "--deny", "warnings"];

/// The workspace, then the guests' own, for the machine that compiles them.
pub fn run(_: &Arguments) -> Result<()> {
    setup::run(&Arguments::default())?;
    let root = workspace::root()?;
    workspace::run(
        workspace::cargo()
            .current_dir(&root)
            .envs(v8::env()?)
            .args(["clippy", "--workspace", "--all-targets", "--locked"])
            .args(DENIED),
    )?;
    workspace::run(
        workspace::cargo()
            .current_dir(root.join("guest-hooks"))
            .env("CARGO_TARGET_DIR", root.join("target/guests"))
            .args(["clippy", "--workspace", "--locked"])
            .args(DENIED),
    )
}
