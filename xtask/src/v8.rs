//! Where V8's prebuilt archive comes from.
//!
//! The build script of the crate `v8` downloads an archive of 30 MB unless variables
//! say otherwise. This module finds one in this order: what the variables name; a
//! mirror directory beside the checkout; the user's cache; upstream's download.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::workspace;

const ARCHIVE: &str = "RUSTY_V8_ARCHIVE";
const MIRROR: &str = "RUSTY_V8_MIRROR";
const UPSTREAM: &str = "https://github.com/denoland/rusty_v8/releases/download";

/// Seconds to wait for upstream: long enough for a slow line, short enough to be told
/// the alternative.
const UPSTREAM_PATIENCE: &str = "15";

/// Where the archive comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// `RUSTY_V8_ARCHIVE` is set and used as it is.
    Archive(String),
    /// A directory in the mirror layout, with both files.
    Directory(PathBuf, Files),
    /// A mirror on the network, named by `RUSTY_V8_MIRROR`.
    Remote(String),
    /// Upstream's release page answers.
    Upstream(Files),
}

/// The names of one version's files in the mirror layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    directory: String,
    archive: String,
    binding: String,
}

/// The variables every cargo that builds V8 has to be started with.
pub fn env() -> Result<Vec<(String, String)>> {
    Ok(match find()? {
        Source::Directory(path, _) => vec![(MIRROR.to_owned(), path.display().to_string())],
        Source::Archive(_) | Source::Remote(_) | Source::Upstream(_) => Vec::new(),
    })
}

/// Finds an archive. The error says what was looked for and what to set.
pub fn find() -> Result<Source> {
    let root = workspace::root()?;
    let files = Files::of(&root)?;
    if let Ok(archive) = std::env::var(ARCHIVE) {
        return Ok(Source::Archive(archive));
    }
    if let Ok(mirror) = std::env::var(MIRROR) {
        if mirror.starts_with("http:") || mirror.starts_with("https:") {
            return Ok(Source::Remote(mirror));
        }
        return files
            .in_directory(Path::new(&mirror))
            .with_context(|| format!("{MIRROR}={mirror} holds no {}", files.wanted()));
    }
    let places = places(&root);
    if let Some(found) = places.iter().find_map(|place| files.in_directory(place)) {
        return Ok(found);
    }
    if files.upstream_answers() {
        return Ok(Source::Upstream(files));
    }
    let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    bail!(
        "no prebuilt V8: upstream does not answer, and none of {} holds {}; \
         set {MIRROR} to a directory that does, or {ARCHIVE} to the archive itself",
        places.join(", "),
        files.wanted()
    )
}

impl Source {
    /// Compares the files of a directory with its `SHA256SUMS`, where there is one.
    pub fn check(&self) -> Result<Option<String>> {
        let Self::Directory(path, files) = self else {
            return Ok(None);
        };
        let directory = path.join(&files.directory);
        let sums_path = directory.join("SHA256SUMS");
        let Ok(sums) = std::fs::read_to_string(&sums_path) else {
            return Ok(None);
        };
        for name in [&files.archive, &files.binding] {
            let contents = std::fs::read(directory.join(name)).with_context(|| format!("{name} cannot be read"))?;
            check_sum(&sums, name, &contents).with_context(|| format!("{}", sums_path.display()))?;
        }
        Ok(Some("checksums match SHA256SUMS".to_owned()))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(archive) => write!(f, "{ARCHIVE} ({archive})"),
            Self::Directory(path, files) => write!(f, "{}", path.join(&files.directory).display()),
            Self::Remote(url) => write!(f, "{MIRROR} ({url})"),
            Self::Upstream(files) => write!(f, "{UPSTREAM}/{}", files.directory),
        }
    }
}

impl Files {
    /// The files the pinned version of the crate asks for on this machine.
    fn of(root: &Path) -> Result<Self> {
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock cannot be read")?;
        let version = locked_version(&lock).context("Cargo.lock names no crate `v8`")?;
        let target = host_target()?;
        // The features deno_core asks for (and the file names follow them): `simdutf`,
        // without pointer compression and V8's own sandbox.
        let suffix = format!("simdutf_release_{target}");
        let archive = match target.contains("windows") {
            true => format!("rusty_v8_{suffix}.lib.gz"),
            false => format!("librusty_v8_{suffix}.a.gz"),
        };
        Ok(Self {
            directory: format!("v{version}"),
            archive,
            binding: format!("src_binding_{suffix}.rs"),
        })
    }

    fn in_directory(&self, mirror: &Path) -> Option<Source> {
        // The build script runs elsewhere: only an absolute path means the same there.
        let mirror = mirror.canonicalize().ok()?;
        let directory = mirror.join(&self.directory);
        let complete = directory.join(&self.archive).is_file() && directory.join(&self.binding).is_file();
        complete.then(|| Source::Directory(mirror, self.clone()))
    }

    fn upstream_answers(&self) -> bool {
        let url = format!("{UPSTREAM}/{}/{}", self.directory, self.archive);
        workspace::succeeds(
            Command::new("curl")
                .args(["--silent", "--head", "--fail", "--location", "--output", "/dev/null"])
                .args(["--max-time", UPSTREAM_PATIENCE, &url]),
        )
    }

    fn wanted(&self) -> String {
        format!("{0}/{1} and {0}/{2}", self.directory, self.archive, self.binding)
    }
}

fn places(root: &Path) -> Vec<PathBuf> {
    let beside = root.parent().map(|parent| parent.join("shared/v8"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .map(|cache| cache.join("seam/v8"));
    beside.into_iter().chain(cache).collect()
}

fn host_target() -> Result<String> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let about = workspace::output(rustc.arg("-vV"))?;
    about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

/// The version of the crate `v8` in the text of a lock file.
fn locked_version(lock: &str) -> Option<String> {
    let lock: toml::Table = lock.parse().ok()?;
    lock.get("package")?
        .as_array()?
        .iter()
        .find(|package| package.get("name").and_then(toml::Value::as_str) == Some("v8"))?
        .get("version")?
        .as_str()
        .map(str::to_owned)
}

fn check_sum(sums: &str, name: &str, contents: &[u8]) -> Result<()> {
    let expected = sums
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(_, file)| file.trim_start_matches([' ', '*']) == name)
        .map(|(sum, _)| sum)
        .with_context(|| format!("{name} is not listed"))?;
    let found: String = Sha256::digest(contents)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if !found.eq_ignore_ascii_case(expected) {
        bail!("{name} has the checksum {found}, not {expected}; fetch it again");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_crate_v8_and_of_no_namesake() {
        let lock = "[[package]]\nname = \"deno_v8\"\nversion = \"0.5.0\"\n\
                    [[package]]\nname = \"v8\"\nversion = \"150.4.0\"\n";
        assert_eq!(locked_version(lock), Some("150.4.0".to_owned()));
        assert_eq!(
            locked_version("[[package]]\nname = \"deno_v8\"\nversion = \"0.5.0\"\n"),
            None
        );
    }

    #[test]
    fn a_checksum_must_be_listed_and_match() {
        let sums = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc.txt\n";
        assert!(check_sum(sums, "abc.txt", b"abc").is_ok());
        assert!(
            check_sum(sums, "abc.txt", b"abd")
                .unwrap_err()
                .to_string()
                .contains("fetch it again")
        );
        assert!(
            check_sum(sums, "abd.txt", b"abc")
                .unwrap_err()
                .to_string()
                .contains("not listed")
        );
    }
}
