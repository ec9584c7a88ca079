//! Files for a test, and the program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An empty directory of one test's own.
pub struct Dir(PathBuf);

impl Dir {
    /// Makes it anew; `name` is that of the test.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server").join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and gives its `file://` URL.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        self.url(name)
    }

    /// The `file://` URL of a name in here, whether it exists or not.
    pub fn url(&self, name: &str) -> String {
        format!("file://{}", self.0.join(name).display())
    }
}

/// The program, with a cache that the tests share and nothing of the user's environment.
pub fn seam(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seam"));
    command
        .args(arguments)
        .env_clear()
        .env("XDG_CACHE_HOME", cache())
        .env("PATH", "/usr/bin:/bin");
    command
}

pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("server-cache")
}

/// What a finished process wrote and how it ended.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn finished(command: &mut Command) -> Finished {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Finished {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// The lines of the log without the program's name.
pub fn log(err: &str) -> Vec<String> {
    err.lines()
        .map(|line| line.strip_prefix("seam: ").unwrap_or(line).trim().to_owned())
        .collect()
}

/// A component that the guests' build must have made.
pub fn component(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_seam"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("components")
        .join(name);
    assert!(path.exists(), "{} is missing, run cargo xtask guests", path.display());
    path
}
