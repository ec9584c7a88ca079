//! `cargo xtask bench`: measures with optimised code and keeps the page.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cli::Arguments;
use crate::product::{self, Built};
use crate::workspace;

/// Builds for measuring, measures, prints the page and writes it to `target/bench`.
pub fn run(_: &Arguments) -> Result<()> {
    let product = product::build(Built::ForMeasuring)?;
    let mut bench = Command::new(product.binaries.join("seam-bench"));
    bench.arg(product.binaries.join("seam")).arg(&product.components);
    let measured = bench
        .stderr(Stdio::inherit())
        .output()
        .context("the benchmark cannot be started")?;
    if !measured.status.success() {
        bail!("the benchmark failed ({})", measured.status);
    }
    print!("{}", String::from_utf8_lossy(&measured.stdout));
    let directory = workspace::root()?.join("target/bench");
    std::fs::create_dir_all(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    workspace::write_atomically(&directory.join("results.md"), &measured.stdout)
}
