//! `seam check`

use std::{fmt::Write as _, io::Write as _, process::ExitCode};

use crate::{cli::Check, command, log, stacks::Stacks, stdio::Stdio};

/// Loads the configuration for real and prints what it amounts to, or what is wrong.
pub(super) async fn check(arguments: Check, mut stdio: Stdio) -> ExitCode {
    match Stacks::open(&arguments.policies_json, arguments.places.surroundings()).await {
        Ok(stacks) => match stdio.output.write_all(shown(&stacks).as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                log::line(format_args!("cannot write to standard output: {error}"));
                ExitCode::FAILURE
            }
        },
        Err(mistakes) => {
            command::tell(&mistakes);
            ExitCode::FAILURE
        }
    }
}

fn shown(stacks: &Stacks) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    for picture in &stacks.pictures {
        let _ = writeln!(text, "{picture}");
    }
    if stacks.fetch.is_none() {
        text.push_str("fetch: not configured, it does not exist in scripts\n\n");
    }
    for warning in &stacks.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.push_str("The configuration is good.\n");
    text
}
