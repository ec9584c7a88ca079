//! `cargo xtask test`: everything a change has to pass.

use anyhow::Result;

use crate::cli::Arguments;
use crate::{guests, setup, v8, workspace};

/// Setup, guests, then every test of the workspace.
pub fn run(arguments: &Arguments) -> Result<()> {
    setup::run(&Arguments::default())?;
    guests::run(&Arguments::default())?;
    workspace::run(
        workspace::cargo()
            .current_dir(workspace::root()?)
            .envs(v8::env()?)
            .args(["test", "--workspace", "--locked"])
            .args(&arguments.passed_on),
    )
}
