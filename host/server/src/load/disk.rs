//! Reading the files of sources, with limits and errors that a person can act on.
//!
//! Errors are of kind `config` and don't repeat the path of the source: who asked puts it
//! in front.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use seam_contract::{Error, ErrorKind};

/// How large a script or a policy may be, in bytes, a directory of policies as a whole.
/// Hand-written ones are kilobytes; more would be data, which belongs elsewhere.
const MAX_TEXT: u64 = 4 << 20;

/// How large a component may be, in bytes. Those with an interpreter inside have 20 MB.
const MAX_COMPONENT: u64 = 64 << 20;

/// How many policies a directory may hold.
const MAX_POLICIES: usize = 256;

/// The last part of a path, for messages and records.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The one path of a file, whatever links lead to it.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|error| unreadable(&error))
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    let bytes = bytes(path, MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|_| config("is not UTF-8 text"))
}

/// The bytes of a component.
pub(super) fn component(path: &Path) -> Result<Vec<u8>, Error> {
    bytes(path, MAX_COMPONENT)
}

/// The policies of a `.rego` file, or of a directory: those of its own entries that end
/// in `.rego`, sorted by name; other entries are ignored.
pub(super) fn rego(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let is_policy = |path: &Path| path.extension().is_some_and(|extension| extension == "rego");
    if !path.is_dir() {
        if !is_policy(path) {
            return Err(config(
                "is neither a .js, .wasm or .rego file nor a directory of .rego files",
            ));
        }
        return Ok(vec![(name(path), text(path)?)]);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| unreadable(&error))?;
    let mut files: Vec<PathBuf> = entries
        .iter()
        .map(fs::DirEntry::path)
        .filter(|path| is_policy(path))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(config("is a directory without any .rego file"));
    }
    if files.len() > MAX_POLICIES {
        return Err(config(&format!(
            "has {} .rego files, more than the limit of {MAX_POLICIES}",
            files.len()
        )));
    }
    let policy = |file: &PathBuf| {
        let name = name(file);
        let text = text(file).map_err(|error| config(&format!("{name} {}", error.message())))?;
        Ok((name, text))
    };
    let policies: Vec<_> = files.iter().map(policy).collect::<Result<_, Error>>()?;
    if policies.iter().map(|(_, text)| text.len() as u64).sum::<u64>() > MAX_TEXT {
        return Err(config(&format!(
            "has .rego files of more than {MAX_TEXT} bytes together"
        )));
    }
    Ok(policies)
}

fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(&error))?;
    if metadata.is_dir() {
        return Err(config("is a directory, not a file"));
    }
    // Opening a pipe or a device could wait for ever.
    if !metadata.is_file() {
        return Err(config("is not a regular file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > limit {
        return Err(config(&format!("is larger than the limit of {limit} bytes")));
    }
    Ok(bytes)
}

fn unreadable(error: &std::io::Error) -> Error {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "cannot be read: permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    config(&why)
}

fn config(why: &str) -> Error {
    Error::new(ErrorKind::Config, why)
}
