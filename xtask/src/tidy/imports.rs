//! Import direction: contract → isolate → sandbox, hooks, executors → server.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::Violation;
use super::tree::Tree;

/// What the contract's crate must not know, as prefixes of package names.
const NOT_IN_THE_CONTRACT: [&str; 10] = [
    "v8",
    "deno_",
    "wasmtime",
    "wit-bindgen",
    "reqwest",
    "hyper",
    "rmcp",
    "serde",
    "rusty_v8",
    "regorus",
];

/// Features of tokio that reach the world outside.
const TOKIO_EFFECTS: [&str; 5] = ["full", "fs", "net", "process", "signal"];

/// The one place that knows an HTTP client.
const HTTP_CLIENT: &str = "host/executors/http";

/// The crates of the host that a crate may import, by its directory.
fn allowed(directory: &str, imported: &str) -> bool {
    let inner = |names: &[&str]| names.contains(&imported);
    match directory {
        "host/contract" => false,
        "host/isolate" => inner(&["host/contract"]),
        "host/server" => true,
        // The Rego engine is a component: loading one is what the wasm backend does.
        "host/hooks/rego" => inner(&["host/contract", "host/hooks/wasm"]),
        "host/sandbox" | "host/hooks/js" => inner(&["host/contract", "host/isolate"]),
        _ => inner(&["host/contract"]),
    }
}

/// Checks every `Cargo.toml` under host/.
pub fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for file in tree.with_extension("toml").filter(|file| file.is_under("host")) {
        let Some(directory) = file.path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let manifest: Table = file.text.parse().with_context(|| file.path.clone())?;
        for (name, dependency) in dependencies(&manifest) {
            violations.extend(broken(directory, &name, dependency).map(|(what, remedy)| Violation {
                place: format!("{}:{}", file.path, line_of(&file.text, &name)),
                what,
                remedy,
            }));
        }
    }
    Ok(violations)
}

fn broken(directory: &str, name: &str, dependency: &Value) -> Option<(String, &'static str)> {
    if let Some(path) = dependency.get("path").and_then(Value::as_str) {
        let imported = resolved(directory, path);
        if imported.starts_with("host/") && !allowed(directory, &imported) {
            return Some((
                format!("{directory} imports {imported}"),
                "move what both need inward, or let host/server connect them",
            ));
        }
    }
    if directory == "host/contract" && NOT_IN_THE_CONTRACT.iter().any(|prefix| name.starts_with(prefix)) {
        return Some((
            format!("the contract depends on {name}"),
            "keep it free of engines, network and wire formats",
        ));
    }
    if directory == "host/contract" && name == "tokio" {
        let features = dependency
            .get("features")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let effect = features
            .iter()
            .filter_map(Value::as_str)
            .find(|feature| TOKIO_EFFECTS.contains(feature));
        return effect.map(|effect| {
            (
                format!("the contract turns on tokio's `{effect}`"),
                "effects belong to executors/",
            )
        });
    }
    (name == "reqwest" && directory != HTTP_CLIENT).then(|| {
        (
            format!("{directory} depends on reqwest"),
            "let the operation go through host/executors/http",
        )
    })
}

/// All dependencies of a manifest, those for tests and build scripts included.
fn dependencies(manifest: &Table) -> BTreeMap<String, &Value> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(|targets| targets.values());
    let tables = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    tables
        .flat_map(|table| {
            kinds
                .iter()
                .filter_map(|kind| table.get(*kind).and_then(Value::as_table))
        })
        .flatten()
        .map(|(key, dependency)| {
            let package = dependency.get("package").and_then(Value::as_str).unwrap_or(key);
            (package.to_owned(), dependency)
        })
        .collect()
}

/// `../../contract` seen from `host/hooks/js` is `host/contract`.
fn resolved(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn line_of(text: &str, name: &str) -> usize {
    text.lines().position(|line| line.contains(name)).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, manifest: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[(path, manifest)])).unwrap();
        violations.iter().map(ToString::to_string).collect()
    }

    fn breaks(path: &str, manifest: &str, expected: &str) {
        let found = found(path, manifest);
        assert!(
            found.iter().any(|violation| violation.contains(expected)),
            "{expected} not in {found:?}"
        );
    }

    #[test]
    fn inward_is_fine() {
        let manifest = "[dependencies]\nseam-contract = { path = \"../../contract\" }\n";
        assert_eq!(found("host/hooks/js/Cargo.toml", manifest), [""; 0]);
        let manifest = "[dependencies]\nseam-hook-wasm = { path = \"../wasm\" }\n";
        assert_eq!(found("host/hooks/rego/Cargo.toml", manifest), [""; 0]);
    }

    #[test]
    fn edges_do_not_import_each_other() {
        let sideways = "[dependencies]\nx = { path = \"../wasm\" }\n";
        breaks(
            "host/hooks/js/Cargo.toml",
            sideways,
            "host/hooks/js/Cargo.toml:2: host/hooks/js imports host/hooks/wasm",
        );
        let outward = "[dev-dependencies]\nx = { path = \"../executors/http\" }\n";
        breaks(
            "host/sandbox/Cargo.toml",
            outward,
            "host/sandbox imports host/executors/http",
        );
        let hidden = "[target.'cfg(unix)'.dependencies]\nx = { path = \"../sandbox\" }\n";
        breaks("host/isolate/Cargo.toml", hidden, "host/isolate imports host/sandbox");
    }

    #[test]
    fn the_contract_stays_bare() {
        breaks(
            "host/contract/Cargo.toml",
            "[dependencies]\nx = { path = \"../isolate\" }\n",
            "imports host/isolate",
        );
        breaks(
            "host/contract/Cargo.toml",
            "[dependencies]\nserde_json = \"1\"\n",
            "depends on serde_json",
        );
        let renamed = "[dependencies]\nengine = { package = \"wasmtime\", version = \"48\" }\n";
        breaks("host/contract/Cargo.toml", renamed, "depends on wasmtime");
        let tokio = "[dependencies]\ntokio = { workspace = true, features = [\"rt\", \"net\"] }\n";
        breaks("host/contract/Cargo.toml", tokio, "tokio's `net`");
    }

    #[test]
    fn one_crate_knows_an_http_client() {
        let manifest = "[dependencies]\nreqwest.workspace = true\n";
        breaks("host/server/Cargo.toml", manifest, "depends on reqwest");
        assert_eq!(found("host/executors/http/Cargo.toml", manifest), [""; 0]);
    }
}
