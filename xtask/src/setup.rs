//! `cargo xtask setup`: makes a machine ready to build. Does nothing twice.

use anyhow::Result;

use crate::cli::Arguments;
use crate::{v8, wasm};

/// Finds or installs everything, with a line for each.
pub fn run(_: &Arguments) -> Result<()> {
    let v8 = v8::find()?;
    println!("v8: {v8}");
    if let Some(checked) = v8.check()? {
        println!("v8: {checked}");
    }
    let compiler = wasm::install()?;
    println!("wasm guests: {compiler}");
    Ok(())
}
