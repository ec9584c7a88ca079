//! The shipped parts: the `seam` binary and the guest components, as they were built.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::files::file_url;

/// Where the parts of the product lie.
pub struct Product {
    binary: PathBuf,
    components: PathBuf,
    cache: PathBuf,
    repository: PathBuf,
}

impl Product {
    /// Finds the binary of the profile that this test was built in, and the components.
    ///
    /// Errors name what is missing and the command that makes it: a test never passes
    /// because the product is not there.
    pub fn find() -> Result<Self> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let me = std::env::current_exe()?;
        // Tests are built into `deps`, binaries beside it.
        let built = me.parent().context("a program has a directory")?;
        let profile = if built.ends_with("deps") {
            built.parent().unwrap_or(built)
        } else {
            built
        };
        let target = profile.parent().context("the profile lies in a target directory")?;
        let product = Self {
            binary: profile.join("seam"),
            components: target.join("components"),
            cache: target.join("e2e-cache"),
            repository,
        };
        let binary = &product.binary;
        ensure!(
            binary.is_file(),
            "{} is missing; run `cargo xtask test`, or `cargo build -p seam`",
            binary.display()
        );
        Ok(product)
    }

    /// The binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The repository's root.
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// Where the official clients are installed.
    pub fn clients(&self) -> Result<PathBuf> {
        let clients = self.components.with_file_name("clients");
        ensure!(
            clients.join("python").is_dir() && clients.join("inspector").is_dir(),
            "{} lacks the official MCP clients; run tests/clients/setup.sh",
            clients.display()
        );
        Ok(clients)
    }

    /// The `file://` URL of a component, such as `stamp`.
    pub fn component(&self, name: &str) -> Result<String> {
        let path = self.components.join(format!("{name}.wasm"));
        ensure!(
            path.is_file(),
            "{} is missing; run `cargo xtask guests`",
            path.display()
        );
        file_url(&path)
    }

    /// The `file://` URL of a file of the repository, such as `policies/fetch.rego`.
    pub fn shipped(&self, path: &str) -> Result<String> {
        file_url(&self.repository.join(path))
    }

    /// A command of the binary, such as `serve`, that finds its components and keeps what
    /// it compiles from test to test.
    pub fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg(subcommand)
            .arg("--components")
            .arg(&self.components)
            .arg("--cache-dir")
            .arg(&self.cache);
        command
    }

    /// The same with a configuration.
    pub fn configured(&self, subcommand: &str, policies: &serde_json::Value) -> Command {
        let mut command = self.command(subcommand);
        command.arg("--policies-json").arg(policies.to_string());
        command
    }
}
