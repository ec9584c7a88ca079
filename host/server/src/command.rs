//! The commands: from arguments to an exit status.

mod check;
mod run;
mod serve;

use std::{io, process::ExitCode};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    cli::{Cli, Command, Places},
    config::Mistakes,
    log,
    stacks::Stacks,
    stdio::Stdio,
};

/// Carries out a command. `stdio` is the process's real input and output.
pub async fn carry_out(cli: Cli, stdio: Stdio) -> ExitCode {
    match cli.command {
        Command::Serve(arguments) => serve::serve(arguments, stdio).await,
        Command::Run(arguments) => run::run(arguments, stdio).await,
        Command::Check(arguments) => check::check(arguments, stdio).await,
    }
}

/// The stacks of a configuration, or those of none.
async fn stacks(policies_json: Option<&str>, places: &Places) -> Result<Stacks, Mistakes> {
    match policies_json {
        Some(argument) => Stacks::open(argument, places.surroundings()).await,
        None => Ok(Stacks::default()),
    }
}

/// Tells every mistake of a configuration.
fn tell(mistakes: &Mistakes) {
    let count = mistakes.iter().len();
    log::line(format_args!(
        "the configuration has {count} mistake{}",
        if count == 1 { "" } else { "s" }
    ));
    for mistake in mistakes.iter() {
        log::line(format_args!("  {mistake}"));
    }
}

/// Cancelled when the process is asked to end.
fn interrupted() -> io::Result<CancellationToken> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(token)
}
