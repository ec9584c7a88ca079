//! From a core module to a component, and what a component really asks for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{PackageName, Resolve, TypeDefKind, WorldId, WorldItem, WorldKey};

/// The custom sections of a module that say which world it was built for.
const WORLD_SECTION: &str = "component-type";

/// One interface of a component: what of it is really used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// `seam:hooks/fetch@0.1.0`
    pub interface: String,
    /// Functions, methods as `request.url`.
    pub functions: Vec<String>,
    /// Resource types; a type alone grants nothing.
    pub resources: Vec<String>,
}

/// The surface of a component.
#[derive(Debug)]
pub struct Surface {
    pub imports: Vec<Used>,
    pub exports: Vec<Used>,
}

/// Makes a component of a core module built with wit-bindgen.
pub fn encode(core: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(core)?.encode()
}

/// Reads the surface out of the bytes of a component.
pub fn surface(component: &[u8]) -> Result<Surface> {
    let (resolve, world) = decode(component)?;
    let world = &resolve.worlds[world];
    let read = |items: &wit_parser::IndexMap<WorldKey, WorldItem>| -> Vec<Used> {
        items.iter().map(|(key, item)| used(&resolve, key, item)).collect()
    };
    Ok(Surface {
        imports: read(&world.imports),
        exports: read(&world.exports),
    })
}

/// The WIT a guest is built from: the project's, and the directory of its own.
pub struct Contract {
    resolve: Resolve,
    /// The project's package, such as `seam:hooks@0.1.0`.
    project: PackageName,
}

impl Contract {
    /// Reads `wit/` of the project and, where it exists, `own`.
    pub fn read(project: &Path, own: &Path) -> Result<Self> {
        let mut resolve = Resolve {
            all_features: true,
            ..Resolve::default()
        };
        let (package, _) = resolve
            .push_dir(project)
            .with_context(|| format!("{}", project.display()))?;
        let project = resolve.packages[package].name.clone();
        if own.is_dir() {
            resolve.push_dir(own).with_context(|| format!("{}", own.display()))?;
        }
        Ok(Self { resolve, project })
    }

    /// Checks a component against the world its module was built for, as these
    /// directories have that world now. Gives the world's name.
    pub fn check(&self, core: &[u8], component: &[u8]) -> Result<String> {
        let (name, world) = self.world_of(core)?;
        wit_component::targets(&self.resolve, world, component)
            .with_context(|| format!("the component does not fit the world {name}"))?;
        let expected: Vec<String> = self.resolve.worlds[world]
            .exports
            .keys()
            .map(|key| self.resolve.name_world_key(key))
            .collect();
        let surface = surface(component)?;
        let exported: Vec<&str> = surface.exports.iter().map(|used| used.interface.as_str()).collect();
        if let Some(extra) = exported
            .iter()
            .find(|name| !expected.iter().any(|wanted| wanted == *name))
        {
            bail!("the component exports {extra}, which the world {name} does not");
        }
        Ok(name)
    }

    /// The first interface of the surface that is not the project's, of the imports
    /// where nothing else may stand, of the exports where a role is expected.
    pub fn foreign_import<'a>(&self, surface: &'a Surface) -> Option<&'a str> {
        surface
            .imports
            .iter()
            .map(|used| used.interface.as_str())
            .find(|name| !self.is_ours(name))
    }

    /// Whether the component exports a role of the project's contract.
    pub fn has_role(&self, surface: &Surface) -> bool {
        surface.exports.iter().any(|used| self.is_ours(&used.interface))
    }

    /// The name of the project's package.
    pub fn package(&self) -> String {
        self.project.to_string()
    }

    fn is_ours(&self, interface: &str) -> bool {
        let version = self
            .project
            .version
            .as_ref()
            .map(|version| format!("@{version}"))
            .unwrap_or_default();
        interface
            .strip_prefix(&format!("{}:{}/", self.project.namespace, self.project.name))
            .is_some_and(|rest| rest.ends_with(&version))
    }

    fn world_of(&self, core: &[u8]) -> Result<(String, WorldId)> {
        let (built, world) = built_for(core)?;
        let world = &built.worlds[world];
        let package = world.package.map(|package| &built.packages[package].name);
        let package = package.context("the module's world belongs to no package")?;
        let name = format!("{}:{}/{}", package.namespace, package.name, world.name);
        let found = self.resolve.worlds.iter().find(|(_, candidate)| {
            candidate.name == world.name
                && candidate
                    .package
                    .is_some_and(|owner| self.resolve.packages[owner].name == *package)
        });
        match found {
            Some((id, _)) => Ok((name, id)),
            None => bail!("the module was built for the world {name} of {package}, which no WIT here has"),
        }
    }
}

/// Where a guest keeps WIT of its own.
pub fn own_wit(crate_directory: &Path) -> PathBuf {
    crate_directory.join("wit")
}

/// The world that wit-bindgen wrote into the module.
fn built_for(core: &[u8]) -> Result<(Resolve, WorldId)> {
    for payload in Parser::new(0).parse_all(core) {
        if let Payload::CustomSection(section) = payload.context("this is no wasm module")?
            && section.name().starts_with(WORLD_SECTION)
        {
            return wit_parser::decoding::decode_world(section.data()).context("its world cannot be read");
        }
    }
    bail!("the module names no world; was it built with wit-bindgen?")
}

fn decode(component: &[u8]) -> Result<(Resolve, WorldId)> {
    match wit_component::decode(component)? {
        DecodedWasm::Component(resolve, world) => Ok((resolve, world)),
        DecodedWasm::WitPackage(..) => bail!("this is a WIT package, not a component"),
    }
}

fn used(resolve: &Resolve, key: &WorldKey, item: &WorldItem) -> Used {
    let name = resolve.name_world_key(key);
    let WorldItem::Interface { id, .. } = item else {
        return Used {
            functions: vec![name.clone()],
            interface: name,
            resources: Vec::new(),
        };
    };
    let interface = &resolve.interfaces[*id];
    let functions = interface.functions.keys().map(|function| plain(function)).collect();
    let resources = interface
        .types
        .iter()
        .filter(|(_, id)| matches!(resolve.types[**id].kind, TypeDefKind::Resource))
        .map(|(name, _)| name.clone())
        .collect();
    Used {
        interface: name,
        functions,
        resources,
    }
}

/// `[method]request.url` as `request.url`.
fn plain(function: &str) -> String {
    match function.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, name)) => name.to_owned(),
        None => function.to_owned(),
    }
}
