//! `cargo xtask mutants`: breaks the contract's code on purpose, one mistake at a time,
//! and expects the contract's tests to notice. What survives is a missing test.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::cli::Arguments;
use crate::workspace;

/// The list of mistakes.
const LIST: &str = "tests/mutations.toml";

/// The crate that is broken, in the project and in the copy.
const CRATE: &str = "host/contract";

/// How long the tests of one mutation may run. A mistake can make a test wait for ever,
/// which is noticed too; unbroken they take seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// One mistake: a text of a file and what stands there instead.
#[derive(Debug, PartialEq, Eq)]
struct Mutation {
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
}

/// What became of a mistake.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// A test failed: this one, first of all.
    Caught(String),
    Survived,
}

/// Makes every mistake of the list, or those named, and prints who noticed.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace::root()?;
    let list = std::fs::read_to_string(root.join(LIST)).with_context(|| LIST.to_owned())?;
    let mutations = selected(parse(&list).context(LIST)?, &arguments.passed_on)?;
    let copy = Copy::make(&root)?;
    copy.compile().context("the contract does not compile as it is")?;
    if let Outcome::Caught(test) = copy.test()? {
        bail!("the test {test} fails without any mutation; mend that first");
    }
    let width = mutations
        .iter()
        .map(|mutation| mutation.name.len())
        .max()
        .unwrap_or_default();
    let mut survivors = 0;
    for mutation in &mutations {
        let outcome = copy
            .with(mutation, Copy::test)
            .with_context(|| format!("mutation `{}`", mutation.name))?;
        match outcome {
            Outcome::Caught(test) => println!("{:width$}  caught by {test}", mutation.name),
            Outcome::Survived => {
                survivors += 1;
                println!("{:width$}  SURVIVED", mutation.name);
            }
        }
    }
    if survivors > 0 {
        bail!(
            "{survivors} of {} mutations survived; write the tests that notice them",
            mutations.len()
        );
    }
    println!("all {} mutations were caught", mutations.len());
    Ok(())
}

fn selected(mutations: Vec<Mutation>, names: &[String]) -> Result<Vec<Mutation>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !mutations.iter().any(|mutation| mutation.name == **name))
    {
        bail!("{LIST} has no mutation `{unknown}`");
    }
    Ok(mutations
        .into_iter()
        .filter(|mutation| names.is_empty() || names.contains(&mutation.name))
        .collect())
}

fn parse(list: &str) -> Result<Vec<Mutation>> {
    let list: Table = list.parse()?;
    let entries = list
        .get("mutation")
        .and_then(Value::as_array)
        .context("there is no [[mutation]]")?;
    entries
        .iter()
        .enumerate()
        .map(|(at, entry)| one(entry).with_context(|| format!("mutation {}", at + 1)))
        .collect()
}

fn one(entry: &Value) -> Result<Mutation> {
    let text = |key: &str| {
        let value = entry.get(key).and_then(Value::as_str);
        value
            .map(str::to_owned)
            .with_context(|| format!("`{key}` is missing or no text"))
    };
    let keys = ["name", "file", "find", "replace", "why"];
    let unknown = entry
        .as_table()
        .and_then(|table| table.keys().find(|key| !keys.contains(&key.as_str())));
    if let Some(unknown) = unknown {
        bail!("unknown key `{unknown}`; there are {}", keys.join(", "));
    }
    text("why")?;
    Ok(Mutation {
        name: text("name")?,
        file: PathBuf::from(text("file")?),
        find: text("find")?,
        replace: text("replace")?,
    })
}

/// A copy of the crate in a workspace of its own, so that nobody sees it broken.
struct Copy {
    root: PathBuf,
}

impl Copy {
    fn make(project: &Path) -> Result<Self> {
        let root = project.join("target/mutants");
        let member = root.join(CRATE);
        if member.exists() {
            std::fs::remove_dir_all(&member).with_context(|| format!("{}", member.display()))?;
        }
        copy_directory(&project.join(CRATE), &member)?;
        for name in ["Cargo.lock", "rust-toolchain.toml"] {
            std::fs::copy(project.join(name), root.join(name)).with_context(|| name.to_owned())?;
        }
        let manifest = std::fs::read_to_string(project.join("Cargo.toml")).context("Cargo.toml")?;
        std::fs::write(root.join("Cargo.toml"), only_member(&manifest)?).context("Cargo.toml of the copy")?;
        Ok(Self { root })
    }

    /// Makes the mistake, does something, and takes it back.
    fn with<T>(&self, mutation: &Mutation, then: impl Fn(&Self) -> Result<T>) -> Result<T> {
        let path = self.root.join(CRATE).join(&mutation.file);
        let whole = std::fs::read_to_string(&path).with_context(|| mutation.file.display().to_string())?;
        std::fs::write(&path, mutated(&whole, mutation)?)?;
        let done = self
            .compile()
            .context("it does not compile, so no test could notice")
            .and_then(|()| then(self));
        std::fs::write(&path, whole)?;
        done
    }

    fn compile(&self) -> Result<()> {
        workspace::output(self.cargo().args(["test", "--offline", "--quiet", "--no-run"])).map(drop)
    }

    fn test(&self) -> Result<Outcome> {
        let mut tests = self
            .cargo()
            .args(["test", "--offline", "--no-fail-fast"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdout = tests.stdout.take().context("the tests have no stdout")?;
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = tests.try_wait()? {
                break Some(status);
            }
            if Instant::now() > deadline {
                tests.kill()?;
                tests.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        match status {
            None => Ok(Outcome::Caught(format!(
                "a test that waits for more than {} s",
                PATIENCE.as_secs()
            ))),
            Some(status) if status.success() => Ok(Outcome::Survived),
            Some(_) => {
                let text = reader.join().ok().context("the tests' output was lost")??;
                let test = first_failure(&text).context("the tests ended badly without a failed test")?;
                Ok(Outcome::Caught(test.to_owned()))
            }
        }
    }

    fn cargo(&self) -> Command {
        let mut cargo = workspace::cargo();
        cargo
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .stdin(Stdio::null());
        cargo
    }
}

/// The root manifest with the broken crate as its only member.
fn only_member(manifest: &str) -> Result<String> {
    let mut manifest: Table = manifest.parse()?;
    let workspace = manifest
        .get_mut("workspace")
        .and_then(Value::as_table_mut)
        .context("no [workspace]")?;
    workspace.insert("members".into(), Value::Array(vec![Value::String(CRATE.into())]));
    workspace.remove("exclude");
    workspace.remove("default-members");
    Ok(manifest.to_string())
}

/// The text with the mistake in it. The place must be unmistakable.
fn mutated(text: &str, mutation: &Mutation) -> Result<String> {
    match text.matches(&mutation.find).count() {
        1 => Ok(text.replacen(&mutation.find, &mutation.replace, 1)),
        count => bail!(
            "its text stands {count} times in {}, not once; update {LIST}",
            mutation.file.display()
        ),
    }
}

/// The first `test NAME ... FAILED` of a test run.
fn first_failure(output: &str) -> Option<&str> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("{}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("{}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).with_context(|| format!("{}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation(find: &str) -> Mutation {
        Mutation {
            name: "m".into(),
            file: "src/x.rs".into(),
            find: find.into(),
            replace: "b".into(),
        }
    }

    #[test]
    fn a_mistake_is_made_in_one_place_only() {
        assert_eq!(mutated("x a y", &mutation("a")).unwrap(), "x b y");
        assert!(
            mutated("a a", &mutation("a"))
                .unwrap_err()
                .to_string()
                .contains("2 times")
        );
        assert!(
            mutated("x", &mutation("a"))
                .unwrap_err()
                .to_string()
                .contains("0 times")
        );
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        let entry = "[[mutation]]\nname = \"n\"\nfile = \"f\"\nfind = \"a\"\nreplace = \"b\"\n";
        assert!(format!("{:#}", parse(entry).unwrap_err()).contains("`why` is missing"));
        assert_eq!(parse(&format!("{entry}why = \"w\"\n")).unwrap().len(), 1);
        assert!(format!("{:#}", parse(&format!("{entry}wyh = \"w\"\n")).unwrap_err()).contains("unknown key `wyh`"));
    }

    #[test]
    fn the_failed_test_is_named() {
        let output = "test a::b ... ok\ntest c::d ... FAILED\ntest e ... FAILED\n";
        assert_eq!(first_failure(output), Some("c::d"));
        assert_eq!(first_failure("test a::b ... ok\n"), None);
    }

    #[test]
    fn the_copy_has_one_member_and_the_same_dependencies() {
        let manifest =
            "[workspace]\nmembers = [\"a\", \"b\"]\nexclude = [\"c\"]\n[workspace.dependencies]\nx = \"1\"\n";
        let copy: Table = only_member(manifest).unwrap().parse().unwrap();
        assert_eq!(
            copy["workspace"]["members"],
            Value::Array(vec![Value::String(CRATE.into())])
        );
        assert_eq!(copy["workspace"]["dependencies"]["x"].as_str(), Some("1"));
    }

    #[test]
    fn the_list_in_the_project_can_be_applied() {
        let root = workspace::root().unwrap();
        let list = parse(&std::fs::read_to_string(root.join(LIST)).unwrap()).unwrap();
        assert!(list.len() >= 10, "ten mistakes are the least");
        for mutation in list {
            let text = std::fs::read_to_string(root.join(CRATE).join(&mutation.file)).unwrap();
            mutated(&text, &mutation).unwrap_or_else(|error| panic!("{}: {error}", mutation.name));
        }
    }
}
