//! Compiled components on disk, addressed by what they were compiled from.
//!
//! Compiled code is native code: whoever can write here can do whatever this process can.
//! So the directory must belong to this user alone, all the way up; each file gets its name
//! from everything that went into it, and appears whole or not at all.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use seam_contract::{Error, ErrorKind};
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

/// How many compiled components are kept. One is up to some ten megabytes, and each edit
/// of a policy makes another.
const KEPT: usize = 64;

/// Write permission of the group and of everybody.
const OTHERS_WRITE: u32 = 0o022;

/// In a directory with this bit, only the owner of an entry can replace it (`/tmp`).
const STICKY: u32 = 0o1000;

/// Names what a component was compiled from, SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these parts, in this order. Parts don't run into each other.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sha = Sha256::new();
        for part in parts {
            sha.update((part.len() as u64).to_le_bytes());
            sha.update(part);
        }
        Self(sha.finalize().into())
    }

    /// The digest as bytes, to be a part of another.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A directory of compiled components.
pub(crate) struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// Opens the directory, made if it is missing.
    ///
    /// Errors (kind `config`): it cannot be made, or others could write to it.
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        let unusable = |why: String| {
            Error::new(
                ErrorKind::Config,
                format!("the cache directory {} {why}", directory.display()),
            )
        };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| unusable(format!("cannot be made: {error}")))?;
        // The real path: a link on the way could otherwise be turned elsewhere later.
        let directory = fs::canonicalize(directory).map_err(|error| unusable(format!("cannot be read: {error}")))?;
        for (depth, part) in directory.ancestors().enumerate() {
            let metadata = fs::metadata(part).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            let sticky = depth > 0 && metadata.mode() & STICKY != 0;
            if metadata.mode() & OTHERS_WRITE != 0 && !sticky {
                return Err(unusable(format!(
                    "is not safe: others can write to {}; run chmod go-w on it or name another directory",
                    part.display()
                )));
            }
            let owner = metadata.uid();
            if owner != 0 && owner != rustix::process::geteuid().as_raw() {
                return Err(unusable(format!(
                    "is not safe: {} belongs to another user; name another directory",
                    part.display()
                )));
            }
        }
        Ok(Self { directory })
    }

    /// The component compiled from this, if it is here. One that this build of wasmtime
    /// didn't make is not.
    pub(crate) fn find(&self, engine: &wasmtime::Engine, source: &Digest) -> Option<Component> {
        let path = self.path(engine, source);
        let file = fs::File::open(&path).ok()?;
        // For `prune`. Not being able to says nothing about the contents.
        let _ = file.set_modified(SystemTime::now());
        // SAFETY: only `keep` writes here, and only what wasmtime itself compiled. `open`
        // made sure that nobody else can write to the directory or put another in its
        // place, and files appear by `rename`, so none is half written or changes while it
        // is mapped. wasmtime refuses what another version or configuration compiled.
        unsafe { Component::deserialize_file(engine, &path) }.ok()
    }

    /// Keeps what was compiled from this. A disk that is full costs time at the next start
    /// and nothing else, so it is no error.
    pub(crate) fn keep(&self, engine: &wasmtime::Engine, source: &Digest, component: &Component) {
        if let Ok(bytes) = component.serialize() {
            let _ = self.write(&self.path(engine, source), &bytes);
            let _ = self.prune();
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let write = WRITES.fetch_add(1, Ordering::Relaxed);
        let temporary = self.directory.join(format!("{}-{write}.tmp", process::id()));
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes the files that were not used for longest. A removed file that is mapped
    /// stays mapped.
    fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(KEPT)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn path(&self, engine: &wasmtime::Engine, source: &Digest) -> PathBuf {
        let mut key = Key(Sha256::new());
        key.write(source.as_bytes());
        engine.precompile_compatibility_hash().hash(&mut key);
        let name: String = key.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name).with_extension("cwasm")
    }
}

/// Collects what is hashed into a SHA-256, the same in every process.
struct Key(Sha256);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the digest is taken whole.
    fn finish(&self) -> u64 {
        0
    }
}
