//! `cargo xtask`: the project's own commands. Starting it needs nothing but cargo.

mod bench;
mod cli;
mod component;
mod demo;
mod guests;
mod lint;
mod mutants;
mod product;
mod setup;
mod test;
mod tidy;
mod v8;
mod wasm;
mod workspace;

use std::process::ExitCode;

use cli::{Command, Flag};

/// Every command, in the order a newcomer needs them.
const COMMANDS: &[Command] = &[
    Command {
        name: "setup",
        about: "makes this machine ready: V8's archive and a compiler for wasm guests",
        flags: &[],
        passes_on: None,
        run: setup::run,
    },
    Command {
        name: "guests",
        about: "builds the hooks under guest-hooks/ into target/components/",
        flags: &[Flag {
            name: guests::WIT,
            about: "prints what each component really imports and exports",
        }],
        passes_on: None,
        run: guests::run,
    },
    Command {
        name: "demo",
        about: "setup, guests, build, then the main job: a real client, a real server, every decision",
        flags: &[],
        passes_on: None,
        run: demo::run,
    },
    Command {
        name: "test",
        about: "setup, guests, then every test of the workspace",
        flags: &[],
        passes_on: Some("arguments of `cargo test`"),
        run: test::run,
    },
    Command {
        name: "lint",
        about: "clippy over everything, warnings denied, the guests' workspace included",
        flags: &[],
        passes_on: None,
        run: lint::run,
    },
    Command {
        name: "tidy",
        about: "checks the rules of the house: import direction, one seam, unsafe, wit drift",
        flags: &[],
        passes_on: None,
        run: tidy::run,
    },
    Command {
        name: "mutants",
        about: "breaks the contract on purpose (tests/mutations.toml); every break must fail a test",
        flags: &[],
        passes_on: Some("names of mutations, to run only these"),
        run: mutants::run,
    },
    Command {
        name: "bench",
        about: "what each kind of hook costs, beside a peer from the same run; writes target/bench/results.md",
        flags: &[],
        passes_on: None,
        run: bench::run,
    },
];

fn main() -> ExitCode {
    cli::main(COMMANDS, std::env::args().skip(1).collect())
}
