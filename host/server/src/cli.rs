//! The command line of `seam`.

use std::{
    env, fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand};
use seam_sandbox::Limits;

use crate::{
    execution::{MAX_HEAP_MB, MAX_TIME_SECS, MIN_HEAP_MB},
    log,
    stacks::Surroundings,
};

/// Runs scripts of agents in V8 isolates, and puts hooks and policies around every effect.
#[derive(Debug, Parser)]
#[command(name = "seam", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = r#"Examples:
  seam check --policies-json /etc/seam/policies.json
  seam serve --policies-json /etc/seam/policies.json
  seam run hello.ts --trace --policies-json '{"fetch": {"pre": [{"url": "file:///etc/policies/fetch_hooks.js"}]}}'

A script has no file system, network or process of its own. Without --policies-json it can
only compute; with it, the operations that the configuration names exist (fetch, for now)."#;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves MCP over standard input and output.
    #[command(after_long_help = SERVE)]
    Serve(Serve),
    /// Runs one script file.
    #[command(after_long_help = RUN)]
    Run(Run),
    /// Loads a configuration and prints its stacks, or everything that is wrong with it.
    #[command(after_long_help = CHECK)]
    Check(Check),
}

const SERVE: &str = r#"The tool is run_js {code, timeout_secs?, heap_memory_max_mb?}. Standard output carries the
protocol and nothing else; the log goes to standard error. The server ends when its
standard input does.

Examples:
  seam serve
  seam serve --policies-json policies.json --trace /var/log/seam/operations.jsonl

A client's configuration:
  {"mcpServers": {"seam": {"command": "seam", "args": ["serve", "--policies-json", "/etc/seam/policies.json"]}}}

Exit status: 0 at the end of input, 1 where the configuration is refused or the protocol breaks."#;

const RUN: &str = r#"The result (the default export, or the value of the last expression) goes to standard
output; the console, the trace and errors go to standard error.

Examples:
  seam run hello.js
  seam run report.ts --policies-json policies.json --trace --timeout-secs 60

Exit status: 0 completed, 1 the script failed or was stopped, 2 the configuration is refused or
the file cannot be read."#;

const CHECK: &str = r#"Everything is really loaded: JavaScript is evaluated, Rego and components are compiled.

Examples:
  seam check --policies-json policies.json
  seam check --policies-json '{"fetch": {"policies": [{"url": "file:///etc/policies/fetch.rego"}]}}'

Exit status: 0 the configuration is good, 1 it has mistakes, all of them listed."#;

/// `seam serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The operations that exist, with their hooks, policies and layers: JSON, or the path of a
    /// file with JSON. Without it scripts have no effects at all.
    #[arg(long, value_name = "JSON|FILE")]
    pub policies_json: Option<String>,
    /// Writes one JSON line for each operation: append to this file, or `stderr`.
    #[arg(long, value_name = "FILE|stderr")]
    pub trace: Option<PathBuf>,
    /// Where things are.
    #[command(flatten)]
    pub places: Places,
}

/// `seam run`
#[derive(Debug, Args)]
pub struct Run {
    /// The script: .js, .mjs, or .ts, .mts (whose types are stripped, not checked).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The operations that exist, with their hooks, policies and layers: JSON, or the path of a
    /// file with JSON. Without it the script has no effects at all.
    #[arg(long, value_name = "JSON|FILE")]
    pub policies_json: Option<String>,
    /// Prints a table of each operation: its places, their verdicts, and the microseconds each took
    /// itself.
    #[arg(long)]
    pub trace: bool,
    /// Stops the script after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::DEFAULT_TIME.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=MAX_TIME_SECS))]
    pub timeout_secs: u64,
    /// Stops the script when its heap has grown to this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = Limits::DEFAULT_HEAP_MB as u64,
          value_parser = clap::value_parser!(u64).range(MIN_HEAP_MB..=MAX_HEAP_MB))]
    pub heap_mb: u64,
    /// Where things are.
    #[command(flatten)]
    pub places: Places,
}

/// `seam check`
#[derive(Debug, Args)]
pub struct Check {
    /// The configuration: JSON, or the path of a file with JSON.
    #[arg(long, value_name = "JSON|FILE", required = true)]
    pub policies_json: String,
    /// Where things are.
    #[command(flatten)]
    pub places: Places,
}

/// Where things are, for every command.
#[derive(Debug, Default, Args)]
pub struct Places {
    /// The directory of the shipped components, needed where Rego is configured. Default:
    /// `components` beside this program, else one directory up.
    #[arg(long, value_name = "DIR", env = "SEAM_COMPONENTS")]
    pub components: Option<PathBuf>,
    /// Where compiled components are kept, for a quick start. It must belong to this user alone.
    /// Default: `seam` in `$XDG_CACHE_HOME` or `~/.cache`.
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

impl Places {
    /// The surroundings of stacks, defaults filled in.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings {
            components: self.components.clone().unwrap_or_else(default_components),
            cache: self.cache_dir.clone().or_else(default_cache),
            fetch: None,
        }
    }
}

fn default_components() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new(".")).join("components");
    let above = program.ancestors().nth(2).unwrap_or(Path::new(".")).join("components");
    if beside.is_dir() { beside } else { above }
}

/// The user's cache, made where it is missing. Going without one is slow, not unsafe.
fn default_cache() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    let cache = caches.join("seam");
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(&cache) {
        Ok(()) => Some(cache),
        Err(error) => {
            log::line(format_args!(
                "no cache of compiled components, {} cannot be made: {error}; --cache-dir names another",
                cache.display()
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
