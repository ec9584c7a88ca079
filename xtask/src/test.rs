//! `cargo xtask test`: everything a change has to pass.

use std::process::Command;

use anyhow::Result;

use crate::cli::Arguments;
use crate::{guests, mutants, setup, v8, workspace};

/// Guests with logic worth testing outside a component, compiled for this machine.
const TESTED_GUESTS: [&str; 1] = ["rego"];

/// Setup, guests and their tests, the clients that the end-to-end tests drive, every test of
/// the workspace, then the mistakes that those tests must notice.
pub fn run(arguments: &Arguments) -> Result<()> {
    setup::run(&Arguments::default())?;
    guests::run(&Arguments::default())?;
    let root = workspace::root()?;
    for guest in TESTED_GUESTS {
        workspace::run(
            workspace::cargo()
                .current_dir(root.join("guest-hooks"))
                .env("CARGO_TARGET_DIR", root.join("target/guests"))
                .args(["test", "--locked", "--quiet", "--package", guest]),
        )?;
    }
    workspace::run(Command::new("sh").arg(root.join("tests/clients/setup.sh")))?;
    workspace::run(
        workspace::cargo()
            .current_dir(&root)
            .envs(v8::env()?)
            .args(["test", "--workspace", "--locked"])
            .args(&arguments.passed_on),
    )?;
    mutants::run(&Arguments::default())
}
