//! The shipped binary and what stands around it, built the one way all commands share:
//! the whole workspace at once, so that every dependency is compiled with one set of
//! features.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::Arguments;
use crate::{guests, setup, v8, workspace};

/// Our own code at this level where it is measured. Dependencies are optimised anyhow.
const MEASURED: &str = "profile.dev.opt-level=3";

/// How our own code is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// Fast to build.
    ForUse,
    /// Optimised.
    ForMeasuring,
}

/// What there is after a build.
pub struct Product {
    /// The directory with the binaries.
    pub binaries: PathBuf,
    /// The directory with the components.
    pub components: PathBuf,
}

/// Setup, guests, then every binary of the workspace.
pub fn build(built: Built) -> Result<Product> {
    setup::run(&Arguments::default())?;
    guests::run(&Arguments::default())?;
    let root = workspace::root()?;
    let mut cargo = workspace::cargo();
    cargo
        .current_dir(&root)
        .envs(v8::env()?)
        .args(["build", "--workspace", "--bins", "--locked"]);
    if built == Built::ForMeasuring {
        cargo.args(["--config", MEASURED]);
    }
    println!("building seam (the first time takes V8's and wasmtime's crates half an hour on two cores)");
    workspace::run(&mut cargo)?;
    Ok(Product {
        binaries: root.join("target/debug"),
        components: root.join("target/components"),
    })
}
