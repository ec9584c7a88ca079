//! Hook and policy files of one test, in a directory that goes when the test ends.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;
use url::Url;

/// A directory for one test.
pub struct Files(TempDir);

impl Files {
    /// An empty one.
    pub fn new() -> Result<Self> {
        Ok(Self(tempfile::Builder::new().prefix("seam-e2e-").tempdir()?))
    }

    /// Where a file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and gives its `file://` URL.
    pub fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.path(name);
        std::fs::write(&path, text)?;
        file_url(&path)
    }
}

/// The `file://` URL of a path.
pub fn file_url(path: &Path) -> Result<String> {
    let path = path
        .canonicalize()
        .with_context(|| format!("{} is missing", path.display()))?;
    match Url::from_file_path(&path) {
        Ok(url) => Ok(url.into()),
        Err(()) => anyhow::bail!("{} has no file URL", path.display()),
    }
}
