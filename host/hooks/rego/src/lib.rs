//! Hooks and policies in Rego.
//!
//! Rego runs in a component (`guest-hooks/rego`); this crate has no Rego in it. A policy is
//! loaded into an instance of that component once, at start-up; the instance is snapshotted,
//! and the snapshot is a component like any other: each operation is judged in a fresh
//! instance of it, through the JSON door.
//!
//! The way of one policy: [`RegoEngine::load`] → [`snapshot`] → `seam_hook_wasm::Engine` →
//! [`Policy`].

mod policy;
mod snapshot;

use std::{
    fmt, fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use seam_contract::{
    Caller, Error, ErrorKind, Operation, OperationKind, Output,
    call::Call,
    document::{self, Bodies},
    fetch::{Request, Response},
    headers::Headers,
    json,
    verdict::Side,
};
use seam_hook_wasm::{Digest, Engine};

pub use policy::Policy;

use snapshot::{Failure, Loader, Setup};

/// The interface by which a policy gets into the component.
const SETUP: &str = "seam:rego/setup@0.1.0";

/// Changes when the way a snapshot is made does, so that older ones are not found.
const RECIPE: &[u8] = b"seam rego snapshot 1";

/// The most that all files of one policy may have together, in bytes. Parsing takes some
/// twenty times as much of the guest's memory.
pub const MAX_POLICY: usize = 8 << 20;

/// The Rego component, from which policies are made.
pub struct RegoEngine {
    engine: Arc<Engine>,
    component: Vec<u8>,
    digest: Digest,
    loader: Mutex<Option<Loader>>,
}

impl RegoEngine {
    /// Reads the component that `cargo xtask guests` built.
    ///
    /// Errors (kind `config`): it is not there.
    pub fn open(engine: &Arc<Engine>, component: &Path) -> Result<Self, Error> {
        let bytes = fs::read(component).map_err(|error| {
            config(format!(
                "the rego component {} cannot be read: {error}; build it with cargo xtask guests",
                component.display()
            ))
        })?;
        Ok(Self {
            engine: engine.clone(),
            digest: Digest::of([&bytes[..]]),
            component: bytes,
            loader: Mutex::default(),
        })
    }

    /// Makes a policy of these files (name and text each) and the rule to be asked, such as
    /// `data.mcp.fetch.pre`. `side` says which documents it will judge. The order of the
    /// files does not matter. Takes seconds unless the engine's cache knows the result, so
    /// this is for start-up.
    ///
    /// Errors (kind `config`): a file does not parse (its name, line and column), the rule is
    /// defined nowhere, no files at all, or more than [`MAX_POLICY`].
    pub fn load(
        &self,
        name: &str,
        mut files: Vec<(String, String)>,
        rule: &str,
        kind: OperationKind,
        side: Side,
    ) -> Result<Policy, Error> {
        let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
        if bytes > MAX_POLICY {
            return Err(config(format!(
                "{name} has {bytes} bytes, more than the limit of {MAX_POLICY}"
            )));
        }
        if files.is_empty() {
            return Err(config(format!("{name} has no .rego files")));
        }
        files.sort();
        for (_, text) in &mut files {
            // Editors of another system write it; Rego has no such character.
            if let Some(rest) = text.strip_prefix('\u{feff}') {
                *text = rest.to_owned();
            }
        }
        let warm_up = warm_up(kind, side)?;
        let setup = Setup {
            files: &files,
            rule,
            warm_up: &warm_up,
        };
        let component = self.engine.load_made(name, &self.source(&setup), || {
            let made = self
                .loader()
                .and_then(|loader| loader.snapshot(&self.component, &setup));
            made.map_err(|error| config(format!("{name}: {error}")))
        })?;
        Ok(Policy::new(component, rule, kind, side))
    }

    /// The component compiled for loading: once, and only if a policy has to be made.
    fn loader(&self) -> Result<Loader, Failure> {
        // What a panic left behind is either no loader or a whole one.
        let mut kept = self.loader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loader) = &*kept {
            return Ok(loader.clone());
        }
        Ok(kept.insert(Loader::new(&self.component)?).clone())
    }

    /// Everything that goes into a snapshot.
    fn source(&self, setup: &Setup<'_>) -> Digest {
        let head = [
            RECIPE,
            self.digest.as_bytes(),
            setup.rule.as_bytes(),
            setup.warm_up.as_bytes(),
        ];
        let files = setup
            .files
            .iter()
            .flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        Digest::of(head.into_iter().chain(files))
    }
}

impl fmt::Debug for RegoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegoEngine").finish_non_exhaustive()
    }
}

/// A document of the kind a policy will judge, for its first evaluation. What it says means
/// nothing, but it must be the same each time: it is part of the snapshot.
fn warm_up(kind: OperationKind, side: Side) -> Result<String, Error> {
    let (operation, output) = match kind {
        OperationKind::Fetch => {
            let url = "https://warm-up.invalid/path?query=1";
            let headers = Headers::new([("accept", "*/*")])?;
            let response = Response::new(200, url)?.with_headers(headers.clone());
            let request = Request::new("GET", url, headers, None)?;
            (Operation::Fetch(request), Output::Fetch(response))
        }
    };
    let call = Call::new(Arc::new(Caller::new("warm-up")), &operation);
    Ok(json::write(&match side {
        Side::Input => document::input(&call, &operation, Bodies::Withheld),
        Side::Output => document::both(&call, &operation, &output, Bodies::Withheld),
    }))
}

fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}
