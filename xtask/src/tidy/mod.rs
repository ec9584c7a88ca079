//! `cargo xtask tidy`: the rules of the house that a compiler does not know.
//!
//! Each check is a function from the project's files to its violations; a violation
//! says where it is and what to do. `cargo test -p xtask` runs the same checks, and
//! shows for each that it finds what it looks for.

mod imports;
mod seam;
mod source;
mod tree;
mod unsafe_code;
mod wit;
mod words;

use std::fmt;

use anyhow::{Result, bail};

use crate::cli::Arguments;
use crate::workspace;
use tree::Tree;

/// A rule that is broken, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// `path:line`, or the path alone.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

/// A check: its name, what it guards, and how.
struct Check {
    name: &'static str,
    guards: &'static str,
    run: fn(&Tree) -> Result<Vec<Violation>>,
}

const CHECKS: [Check; 5] = [
    Check {
        name: "imports",
        guards: "dependencies point inward, edges never import each other",
        run: imports::check,
    },
    Check {
        name: "seam",
        guards: "effects are under executors/ and nowhere else",
        run: seam::check,
    },
    Check {
        name: "unsafe",
        guards: "unsafe is where it may be, with its reason",
        run: unsafe_code::check,
    },
    Check {
        name: "wit",
        guards: "wit/ and the Rust contract say the same",
        run: wit::check,
    },
    Check {
        name: "words",
        guards: "nothing is left for later",
        run: words::check,
    },
];

/// Runs every check and prints what it found.
pub fn run(_: &Arguments) -> Result<()> {
    let tree = Tree::read(&workspace::root()?)?;
    let mut broken = 0;
    for check in &CHECKS {
        let violations = (check.run)(&tree)?;
        let verdict = if violations.is_empty() { "ok" } else { "broken" };
        println!("{:<8} {verdict:<7} {}", check.name, check.guards);
        violations.iter().for_each(|violation| println!("  {violation}"));
        broken += violations.len();
    }
    match broken {
        0 => Ok(()),
        1 => bail!("one rule is broken"),
        many => bail!("rules are broken in {many} places"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_keeps_its_rules() {
        let tree = Tree::read(&workspace::root().unwrap()).unwrap();
        let violations: Vec<String> = CHECKS
            .iter()
            .flat_map(|check| (check.run)(&tree).unwrap())
            .map(|it| it.to_string())
            .collect();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
    }

    #[test]
    fn the_tree_holds_what_the_checks_are_about() {
        let tree = Tree::read(&workspace::root().unwrap()).unwrap();
        for path in [
            "host/contract/src/stack.rs",
            "host/contract/Cargo.toml",
            "wit/fetch.wit",
            "xtask/src/main.rs",
        ] {
            assert!(
                tree.get(path).is_some(),
                "{path} is missing: the checks would see nothing"
            );
        }
    }
}
