//! `seam run`

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use seam_contract::record::Recorder;
use seam_sandbox::{Limits, Line, Outcome, Script, Status};
use tokio::sync::mpsc;

use crate::{
    cli::Run,
    command,
    execution::{self, Executions, Job},
    log,
    stdio::Stdio,
    trace::{Form, Trace},
};

/// The exit status where nothing was run.
const NOT_RUN: u8 = 2;

/// Runs one file and prints its result.
pub(super) async fn run(arguments: Run, mut stdio: Stdio) -> ExitCode {
    let script = match script(&arguments.file) {
        Ok(script) => script,
        Err(error) => {
            log::line(format_args!("cannot read {}: {error}", arguments.file.display()));
            return NOT_RUN.into();
        }
    };
    let stacks = match command::stacks(arguments.policies_json.as_deref(), &arguments.places).await {
        Ok(stacks) => stacks,
        Err(mistakes) => {
            command::tell(&mistakes);
            return NOT_RUN.into();
        }
    };
    let started = || -> io::Result<_> {
        let trace = arguments
            .trace
            .then(|| Trace::start(Box::new(io::stderr()), Form::Tables))
            .transpose()?;
        Ok((trace, command::interrupted()?))
    };
    let (trace, cancelled) = match started() {
        Ok(started) => started,
        Err(error) => {
            log::line(format_args!("cannot start: {error}"));
            return NOT_RUN.into();
        }
    };
    let executions = Executions::new(stacks, trace.clone().map(|trace| trace as Arc<dyn Recorder>));
    let (sender, lines) = mpsc::unbounded_channel();
    let printed = tokio::spawn(print(lines));
    let limits = execution::limits(Duration::from_secs(arguments.timeout_secs), arguments.heap_mb);
    let ended = executions
        .run(Job {
            script,
            limits,
            console: Some(sender),
            cancelled,
        })
        .await;
    // Its only way to fail is a panic, which is in the log.
    let _ = printed.await;
    if let Some(trace) = trace {
        trace.finish();
    }
    match ended {
        Ok(ended) => finish(ended.outcome, &mut stdio),
        Err(busy) => {
            log::line(busy);
            NOT_RUN.into()
        }
    }
}

/// Prints console lines as they come.
async fn print(mut lines: mpsc::UnboundedReceiver<Line>) {
    while let Some(line) = lines.recv().await {
        // A closed standard error is no reason to stop a script.
        let _ = io::stderr().write_all(format!("{}\n", line.text).as_bytes());
    }
}

/// Prints the result or the error.
fn finish(outcome: Outcome, stdio: &mut Stdio) -> ExitCode {
    if let Some(error) = &outcome.error {
        let text = error.stack.clone().unwrap_or_else(|| error.to_string());
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }
    let written = match outcome.result {
        Some(result) => writeln!(stdio.output, "{}", plain(result.text())),
        None => Ok(()),
    };
    match (outcome.status, written) {
        (Status::Completed, Ok(())) => ExitCode::SUCCESS,
        (_, Err(error)) => {
            log::line(format_args!("cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}

/// A string as it is, everything else as JSON: a pipe wants the text and not its quotes.
fn plain(result: &str) -> String {
    serde_json::from_str(result).unwrap_or_else(|_| result.to_owned())
}

fn script(path: &Path) -> io::Result<Script> {
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if ![".js", ".mjs", ".ts", ".mts"].iter().any(|end| name.ends_with(end)) {
        return Err(io::Error::other("its name ends in none of .js, .mjs, .ts, .mts"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(Limits::MAX_CODE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > Limits::MAX_CODE_BYTES {
        return Err(io::Error::other(format!(
            "larger than the limit of {} bytes",
            Limits::MAX_CODE_BYTES
        )));
    }
    let code = String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))?;
    Ok(Script::of_file(name, code))
}
