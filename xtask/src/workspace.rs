//! Where things are, and how other programs are started.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The directory with the root `Cargo.toml`.
pub fn root() -> Result<PathBuf> {
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(manifest) => PathBuf::from(manifest),
        None => std::env::current_dir().context("the current directory cannot be read")?,
    };
    start
        .ancestors()
        .find(|dir| dir.join("Cargo.lock").is_file() && dir.join("wit").is_dir())
        .map(Path::to_path_buf)
        .with_context(|| format!("{} is not inside the project", start.display()))
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a program to its end; an exit code other than 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let name = shown(command);
    let status = command.status().with_context(|| format!("{name} cannot be started"))?;
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    Ok(())
}

/// What a program prints on stdout; its stderr is shown only in the error.
pub fn output(command: &mut Command) -> Result<String> {
    let name = shown(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} cannot be started"))?;
    if !output.status.success() {
        bail!(
            "{name} failed ({}): {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed no valid text"))
}

/// Whether a program runs and ends well, its output dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Replaces a file at once: a reader sees the old or the new contents, never a part.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<()> {
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    std::fs::write(&partial, contents)
        .and_then(|()| std::fs::rename(&partial, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    format!("`{}`", words.join(" "))
}
