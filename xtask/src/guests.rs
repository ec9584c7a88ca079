//! `cargo xtask guests`: every crate under guest-hooks/ as a component.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cli::Arguments;
use crate::component::{self, Contract, Surface, Used};
use crate::{wasm, workspace};

/// The flag that prints imports and exports.
pub const WIT: &str = "--wit";

/// One crate under guest-hooks/.
struct Guest {
    name: String,
    directory: PathBuf,
    /// `[package.metadata.seam] contract = "other"`: built for another contract on
    /// purpose, for the tests that see it refused.
    other_contract: bool,
}

/// A guest as a component.
struct Built {
    name: String,
    world: String,
    size: usize,
    surface: Surface,
}

/// Builds all guests, turns each into a component and checks it against `wit/`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace::root()?;
    let guests = guests(&root)?;
    let modules = compile(&root)?;
    let components = root.join("target/components");
    std::fs::create_dir_all(&components).with_context(|| format!("{}", components.display()))?;
    let mut built = Vec::new();
    for guest in &guests {
        built.push(componentize(&root, guest, &modules, &components).with_context(|| guest.name.clone())?);
    }
    if arguments.has(WIT) {
        built.iter().for_each(|component| print!("{}", table(component)));
    } else {
        println!("guests: {} components in {}", built.len(), components.display());
    }
    Ok(())
}

/// Compiles the guests' workspace; gives the directory with the core modules.
fn compile(root: &Path) -> Result<PathBuf> {
    let compiler = wasm::find()?;
    let target = root.join("target/guests");
    if !target.join(wasm::TARGET).exists() {
        println!("guests: first build with {compiler}; this takes minutes");
    }
    workspace::run(
        compiler
            .cargo()
            .current_dir(root.join("guest-hooks"))
            .env("CARGO_TARGET_DIR", &target)
            .args(["build", "--release", "--locked", "--quiet", "--target", wasm::TARGET])
            .args(compiler.build_arguments()),
    )?;
    Ok(target.join(wasm::TARGET).join("release"))
}

fn componentize(root: &Path, guest: &Guest, modules: &Path, components: &Path) -> Result<Built> {
    let module = modules.join(format!("{}.wasm", guest.name.replace('-', "_")));
    let core = std::fs::read(&module).with_context(|| format!("{}", module.display()))?;
    let component = component::encode(&core)?;
    let contract = Contract::read(&root.join("wit"), &component::own_wit(&guest.directory))?;
    let world = contract.check(&core, &component)?;
    let surface = component::surface(&component)?;
    check_contract(guest, &contract, &surface)?;

    let path = components.join(format!("{}.wasm", guest.name));
    if std::fs::read(&path).ok().as_ref() != Some(&component) {
        workspace::write_atomically(&path, &component)?;
    }
    Ok(Built {
        name: guest.name.clone(),
        world,
        size: component.len(),
        surface,
    })
}

/// A guest of this project imports the contract and nothing else, and has a role in it.
fn check_contract(guest: &Guest, contract: &Contract, surface: &Surface) -> Result<()> {
    if guest.other_contract {
        if contract.has_role(surface) {
            bail!(
                "it says `contract = \"other\"` and exports a role of {}",
                contract.package()
            );
        }
        return Ok(());
    }
    if let Some(import) = contract.foreign_import(surface) {
        bail!("it imports {import}, which is not of {}", contract.package());
    }
    if !contract.has_role(surface) {
        bail!("it exports no role of {}", contract.package());
    }
    Ok(())
}

fn guests(root: &Path) -> Result<Vec<Guest>> {
    let manifest = root.join("guest-hooks/Cargo.toml");
    let metadata = workspace::output(
        workspace::cargo()
            .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
            .arg(&manifest),
    )?;
    let metadata: Value = serde_json::from_str(&metadata).context("`cargo metadata` printed no JSON")?;
    let packages = metadata["packages"]
        .as_array()
        .context("`cargo metadata` printed no packages")?;
    packages
        .iter()
        .map(guest)
        .collect::<Option<Vec<_>>>()
        .context("`cargo metadata` printed an unknown shape")
}

fn guest(package: &Value) -> Option<Guest> {
    Some(Guest {
        name: package["name"].as_str()?.to_owned(),
        directory: Path::new(package["manifest_path"].as_str()?).parent()?.to_path_buf(),
        other_contract: package["metadata"]["seam"]["contract"].as_str() == Some("other"),
    })
}

/// One component's imports and exports. They are exact: the compiler drops what a Rust
/// guest does not use, so an import that is not listed cannot be reached.
fn table(component: &Built) -> String {
    let mut text = format!(
        "{}  {} bytes, world {}\n",
        component.name, component.size, component.world
    );
    for (label, side) in [
        ("imports", &component.surface.imports),
        ("exports", &component.surface.exports),
    ] {
        if side.is_empty() {
            text += &format!("  {label}  nothing\n");
        }
        for used in side {
            text += &format!("  {label}  {:<34} {}\n", used.interface, functions(used));
        }
    }
    text + "\n"
}

fn functions(used: &Used) -> String {
    if used.functions.is_empty() {
        return match used.resources.is_empty() {
            true => "(types only)".to_owned(),
            false => format!("(the type {} only)", used.resources.join(", ")),
        };
    }
    used.functions.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(interface: &str) -> Used {
        Used {
            interface: interface.into(),
            functions: Vec::new(),
            resources: Vec::new(),
        }
    }

    fn surface(imports: &[&str], exports: &[&str]) -> Surface {
        let side = |names: &[&str]| names.iter().map(|name| used(name)).collect();
        Surface {
            imports: side(imports),
            exports: side(exports),
        }
    }

    fn checked(surface: &Surface, other_contract: bool) -> Result<(), String> {
        let contract = Contract::read(&workspace::root().unwrap().join("wit"), Path::new("/nonexistent")).unwrap();
        let guest = Guest {
            name: "g".into(),
            directory: PathBuf::new(),
            other_contract,
        };
        check_contract(&guest, &contract, surface).map_err(|error| error.to_string())
    }

    #[test]
    fn a_guest_imports_the_contract_and_nothing_else() {
        let role = "seam:hooks/fetch-pre@0.1.0";
        assert_eq!(checked(&surface(&["seam:hooks/fetch@0.1.0"], &[role]), false), Ok(()));
        let foreign = checked(&surface(&["wasi:clocks/wall-clock@0.2.12"], &[role]), false).unwrap_err();
        assert_eq!(
            foreign,
            "it imports wasi:clocks/wall-clock@0.2.12, which is not of seam:hooks@0.1.0"
        );
        assert!(checked(&surface(&["seam:hooks/fetch@0.9.0"], &[role]), false).is_err());
    }

    #[test]
    fn a_guest_has_a_role() {
        let none = checked(&surface(&[], &["seam:rego/setup@0.1.0"]), false).unwrap_err();
        assert_eq!(none, "it exports no role of seam:hooks@0.1.0");
    }

    #[test]
    fn a_guest_of_another_contract_is_really_of_another() {
        assert_eq!(checked(&surface(&[], &["seam:hooks/fetch-pre@0.9.0"]), true), Ok(()));
        assert!(checked(&surface(&[], &["seam:hooks/fetch-pre@0.1.0"]), true).is_err());
    }
}
