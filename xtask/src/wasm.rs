//! The compiler for wasm guests: rustup's where its target can be had, else Debian's
//! Rust, which brings the sources of the standard library along.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace;

/// What guests are compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's compiler beside rustup's, its std sources, and a linker for wasm.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// A compiler that can build guests.
#[derive(Debug, PartialEq, Eq)]
pub enum Compiler {
    /// The pinned toolchain with the target's standard library.
    Rustup,
    /// `/usr/bin/rustc` with this linker; the standard library is compiled on the way.
    Debian { linker: PathBuf },
}

impl Compiler {
    /// A `cargo` that builds guests with this compiler, up to the subcommand.
    pub fn cargo(&self) -> Command {
        let mut cargo = match self {
            Self::Rustup => workspace::cargo(),
            Self::Debian { .. } => Command::new("/usr/bin/cargo"),
        };
        // What the cargo that runs us passes on is meant for another compiler.
        for variable in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "RUSTC_WRAPPER",
        ] {
            cargo.env_remove(variable);
        }
        if let Self::Debian { linker } = self {
            for variable in ["RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH", "CARGO"] {
                cargo.env_remove(variable);
            }
            cargo.env("RUSTC", "/usr/bin/rustc");
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            // `-Zbuild-std` is a nightly option; this is how a stable compiler takes it.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        cargo
    }

    /// Further arguments of `cargo build`.
    pub fn build_arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Rustup => &[],
            Self::Debian { .. } => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rustup => write!(f, "rustup's {TARGET}"),
            Self::Debian { linker } => {
                write!(
                    f,
                    "Debian's rustc with {} (compiles the standard library once)",
                    linker.display()
                )
            }
        }
    }
}

/// The compiler of this machine; the error says how to get one.
pub fn find() -> Result<Compiler> {
    match detect() {
        Some(compiler) => Ok(compiler),
        None => bail!("nothing here compiles for {TARGET}; run `cargo xtask setup`"),
    }
}

/// The compiler of this machine, installed if need be.
pub fn install() -> Result<Compiler> {
    if let Some(compiler) = detect() {
        return Ok(compiler);
    }
    println!("wasm guests: rustup target add {TARGET} …");
    let added = workspace::succeeds(Command::new("rustup").args(["target", "add", TARGET]));
    if let Some(compiler) = detect().filter(|_| added) {
        return Ok(compiler);
    }
    let by_hand = format!("apt-get update && apt-get install -y {}", PACKAGES.join(" "));
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("rustup cannot add {TARGET}, and there is no apt-get; install that target by hand");
    }
    if workspace::output(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("rustup cannot add {TARGET}; as root, run `{by_hand}`");
    }
    println!("wasm guests: {by_hand} …");
    workspace::run(apt_get().arg("update"))?;
    workspace::run(apt_get().args(["install", "-y"]).args(PACKAGES))?;
    find()
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
    command
}

fn detect() -> Option<Compiler> {
    if has_standard_library() {
        return Some(Compiler::Rustup);
    }
    let sources = workspace::output(Command::new("/usr/bin/rustc").args(["--print", "sysroot"]))
        .ok()
        .map(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std/Cargo.toml"))?;
    if !sources.is_file() || !Path::new("/usr/bin/cargo").is_file() {
        return None;
    }
    linkers()
        .into_iter()
        .find(|path| path.is_file())
        .map(|linker| Compiler::Debian { linker })
}

/// Whether the pinned toolchain has the target's compiled standard library.
fn has_standard_library() -> bool {
    let directory = workspace::output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    let Ok(entries) = directory.map(|path| std::fs::read_dir(path.trim())) else {
        return false;
    };
    entries.is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

fn linkers() -> Vec<PathBuf> {
    let llvm = PACKAGES.iter().filter_map(|package| package.strip_prefix("lld-"));
    let packaged = llvm.map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin/wasm-ld")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    packaged
        .chain(std::env::split_paths(&path).map(|directory| directory.join("wasm-ld")))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// What a variable is set to for the compiler's cargo; `Some(None)` is unset on purpose.
    fn variable(cargo: &Command, name: &str) -> Option<Option<String>> {
        let found = cargo.get_envs().find(|(key, _)| *key == OsStr::new(name))?;
        Some(found.1.map(|value| value.to_string_lossy().into_owned()))
    }

    #[test]
    fn flags_meant_for_the_host_do_not_reach_guests() {
        for compiler in [Compiler::Rustup, Compiler::Debian { linker: "/ld".into() }] {
            assert_eq!(variable(&compiler.cargo(), "RUSTFLAGS"), Some(None));
        }
    }

    #[test]
    fn debians_compiler_is_used_as_a_whole() {
        let compiler = Compiler::Debian { linker: "/ld".into() };
        let cargo = compiler.cargo();
        assert_eq!(cargo.get_program(), "/usr/bin/cargo");
        assert_eq!(variable(&cargo, "RUSTC"), Some(Some("/usr/bin/rustc".into())));
        assert_eq!(variable(&cargo, "RUSTUP_TOOLCHAIN"), Some(None));
        assert_eq!(
            variable(&cargo, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"),
            Some(Some("/ld".into()))
        );
        assert!(compiler.build_arguments().contains(&"-Zbuild-std=std,panic_abort"));
    }
}
