//! `seam serve`

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use seam_contract::record::Recorder;

use crate::{
    cli::Serve,
    command,
    execution::Executions,
    log, mcp,
    stdio::Stdio,
    trace::{Form, Trace},
};

/// Serves MCP over standard streams until the input ends.
pub(super) async fn serve(arguments: Serve, stdio: Stdio) -> ExitCode {
    let stacks = match command::stacks(arguments.policies_json.as_deref(), &arguments.places).await {
        Ok(stacks) => stacks,
        Err(mistakes) => {
            command::tell(&mistakes);
            return ExitCode::FAILURE;
        }
    };
    for warning in &stacks.warnings {
        log::line(format_args!("warning: {warning}"));
    }
    let trace = match arguments.trace.as_deref().map(trace).transpose() {
        Ok(trace) => trace,
        Err(error) => {
            let file = arguments.trace.unwrap_or_default();
            log::line(format_args!("--trace: cannot write {}: {error}", file.display()));
            return ExitCode::FAILURE;
        }
    };
    let stop = match command::interrupted() {
        Ok(stop) => stop,
        Err(error) => {
            log::line(format_args!("cannot listen for signals: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let recorder = trace.clone().map(|trace| trace as Arc<dyn Recorder>);
    let end = mcp::serve(stdio, Arc::new(Executions::new(stacks, recorder)), stop).await;
    if let Some(trace) = trace {
        trace.finish();
    }
    end
}

/// Records as JSON lines, behind what the file has already. Only this user may read a
/// new one: reasons and targets are in it.
fn trace(file: &Path) -> io::Result<Arc<Trace>> {
    let sink: Box<dyn Write + Send> = if file == Path::new("stderr") {
        Box::new(io::stderr())
    } else {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
        Box::new(io::BufWriter::new(file))
    };
    Trace::start(sink, Form::Lines)
}
