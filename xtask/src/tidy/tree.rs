//! The files the checks look at, in memory.

use std::path::Path;

use anyhow::{Context, Result};

/// Directories that are looked at, from the project's root.
const ROOTS: [&str; 6] = ["host", "guest-hooks", "policies", "tests", "wit", "xtask"];

/// Directories that hold nothing of ours.
const SKIPPED: [&str; 4] = ["target", "node_modules", "__pycache__", ".venv"];

/// Files that are looked at.
const EXTENSIONS: [&str; 6] = ["rs", "toml", "wit", "js", "rego", "py"];

/// The project's sources.
#[derive(Debug, Default)]
pub struct Tree {
    files: Vec<File>,
}

/// One file.
#[derive(Debug)]
pub struct File {
    /// From the project's root, with `/`.
    pub path: String,
    pub text: String,
}

impl Tree {
    /// Reads every source file under the root.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        for directory in ROOTS {
            if root.join(directory).is_dir() {
                tree.walk(&root.join(directory), directory)?;
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree of these files, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).into(),
            text: (*text).into(),
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    /// The text of one file, for tests.
    #[cfg(test)]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.text.as_str())
    }

    /// All files with this extension.
    pub fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.extension() == Some(extension))
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    fn walk(&mut self, directory: &Path, name: &str) -> Result<()> {
        let entries = std::fs::read_dir(directory).with_context(|| format!("{name} cannot be listed"))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("{name} cannot be listed"))?;
            let file_name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{name}/{file_name}");
            let kind = entry.file_type().with_context(|| path.clone())?;
            if kind.is_dir() && !SKIPPED.contains(&file_name.as_str()) {
                self.walk(&entry.path(), &path)?;
            } else if kind.is_file() && path.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.contains(&end)) {
                let bytes = std::fs::read(entry.path()).with_context(|| format!("{path} cannot be read"))?;
                self.files.push(File {
                    path,
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                });
            }
        }
        Ok(())
    }
}

impl File {
    /// Whether the file lies under a directory.
    pub fn is_under(&self, directory: &str) -> bool {
        self.path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
    }

    fn extension(&self) -> Option<&str> {
        self.path.rsplit_once('.').map(|(_, extension)| extension)
    }
}
