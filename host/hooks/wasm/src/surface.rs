//! What a component imports and exports, held against the contract.
//!
//! The import list is the capability manifest: what is not imported cannot be reached. So
//! it is read before anything runs, and whatever is not the contract is refused by name.

use std::fmt;

use seam_contract::{Error, ErrorKind, OperationKind};
use wasmtime::{Engine, component::Component};

/// The package of the contract.
const PACKAGE: &str = "seam:hooks";

/// The versions of it that components may be built for: the contract grows within them and
/// never changes.
const VERSIONS: &str = "0.1.";

/// How the accepted versions are written in messages.
const ACCEPTED: &str = "seam:hooks@0.1";

/// A role that a component can play: an interface it exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookRole {
    /// Judges a request of `fetch`.
    FetchPre,
    /// Judges an answer of `fetch`.
    FetchPost,
    /// Stands around `fetch`.
    FetchLayer,
    /// Stands in place of the effect of `fetch`.
    FetchExecutor,
    /// Judges the input of any operation, as a document.
    DocumentPre,
    /// Judges the output of any operation, as a document.
    DocumentPost,
    /// Stands around any operation.
    DocumentLayer,
    /// Stands in place of the effect of any operation.
    DocumentExecutor,
}

impl HookRole {
    /// Every role there is.
    pub const ALL: [Self; 8] = [
        Self::FetchPre,
        Self::FetchPost,
        Self::FetchLayer,
        Self::FetchExecutor,
        Self::DocumentPre,
        Self::DocumentPost,
        Self::DocumentLayer,
        Self::DocumentExecutor,
    ];

    /// The name of the interface in `wit/`.
    pub fn interface(self) -> &'static str {
        match self {
            Self::FetchPre => "fetch-pre",
            Self::FetchPost => "fetch-post",
            Self::FetchLayer => "fetch-layer",
            Self::FetchExecutor => "fetch-executor",
            Self::DocumentPre => "document-pre",
            Self::DocumentPost => "document-post",
            Self::DocumentLayer => "document-layer",
            Self::DocumentExecutor => "document-executor",
        }
    }

    /// The operation it is typed for; `None` at the JSON door, which takes any.
    pub fn operation(self) -> Option<OperationKind> {
        match self {
            Self::FetchPre | Self::FetchPost | Self::FetchLayer | Self::FetchExecutor => Some(OperationKind::Fetch),
            Self::DocumentPre | Self::DocumentPost | Self::DocumentLayer | Self::DocumentExecutor => None,
        }
    }
}

impl fmt::Display for HookRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.interface())
    }
}

/// Whether these bytes are a component at all. Errors (kind `config`) say what they are
/// instead.
pub(crate) fn check_bytes(name: &str, bytes: &[u8]) -> Result<(), Error> {
    let what = match bytes {
        // The magic number, the version of the format, and the layer: 1 for components.
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            "is a core module, not a component; make one of it with wit-component (wasm-tools component new)"
        }
        [0, b'a', b's', b'm', ..] => "is WebAssembly of an unknown format, not a component",
        [] => "is empty, not a component",
        bytes if bytes.trim_ascii_start().starts_with(b"(") => {
            "is WebAssembly text, not a component; assemble it first (wasm-tools parse)"
        }
        _ => "is not WebAssembly; a hook is a component that exports a role of seam:hooks@0.1",
    };
    Err(config(format!("{name} {what}")))
}

/// Refuses every import that is not the contract's. Errors (kind `config`) name it.
pub(crate) fn check_imports(name: &str, engine: &Engine, component: &Component) -> Result<(), Error> {
    for (import, _) in component.component_type().imports(engine) {
        match Interface::parse(import) {
            Some(interface) if interface.is_ours() && interface.is_accepted() => {}
            Some(interface) if interface.is_ours() => return Err(other_version(name, import)),
            _ => {
                return Err(config(format!(
                    "{name} imports {import}, which nothing grants; a hook may import {ACCEPTED} and nothing else"
                )));
            }
        }
    }
    Ok(())
}

/// The roles a component exports; other exports are its own business.
///
/// Errors (kind `config`): it exports none, or one of another version of the contract.
pub(crate) fn roles(name: &str, engine: &Engine, component: &Component) -> Result<Vec<HookRole>, Error> {
    let ty = component.component_type();
    let mut roles = Vec::new();
    for (export, _) in ty.exports(engine) {
        let Some(interface) = Interface::parse(export).filter(Interface::is_ours) else {
            continue;
        };
        let role = HookRole::ALL
            .into_iter()
            .find(|role| role.interface() == interface.name);
        match role {
            Some(_) if !interface.is_accepted() => return Err(other_version(name, export)),
            Some(role) => roles.push(role),
            None => {
                return Err(config(format!(
                    "{name} exports {export}, which is no role; roles are {}",
                    list(&HookRole::ALL)
                )));
            }
        }
    }
    if roles.is_empty() {
        return Err(config(format!(
            "{name} exports no role of {ACCEPTED}; roles are {}",
            list(&HookRole::ALL)
        )));
    }
    Ok(roles)
}

/// The names of roles for a message.
pub(crate) fn list(roles: &[HookRole]) -> String {
    roles.iter().map(|role| role.interface()).collect::<Vec<_>>().join(", ")
}

/// A name such as `seam:hooks/fetch-pre@0.1.0`.
struct Interface<'a> {
    package: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Interface<'a> {
    fn parse(full: &'a str) -> Option<Self> {
        let (package, rest) = full.split_once('/')?;
        let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Self { package, name, version })
    }

    fn is_ours(&self) -> bool {
        self.package == PACKAGE
    }

    fn is_accepted(&self) -> bool {
        self.version.starts_with(VERSIONS)
    }
}

fn other_version(name: &str, full: &str) -> Error {
    config(format!(
        "{name} is built for {full}, another version of the contract; build it against {ACCEPTED}"
    ))
}

pub(crate) fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_say_what_they_are() {
        let said = |bytes: &[u8]| check_bytes("x.wasm", bytes).map_err(|error| error.to_string());
        assert!(said(b"\0asm\x0d\0\x01\0").is_ok());
        for (bytes, expected) in [
            (&b"\0asm\x01\0\0\0"[..], "core module"),
            (b"\0asm\x02\0\0\0", "unknown format"),
            (b"\0as", "not WebAssembly"),
            (b"", "empty"),
            (b"\n (component)", "text"),
            (b"#!/bin/sh", "not WebAssembly"),
        ] {
            let error = said(bytes).unwrap_err();
            assert!(error.starts_with("x.wasm is ") && error.contains(expected), "{error}");
        }
    }
}
