//! `seam`: the program. Takes the standard streams, starts V8, and hands over.

use std::process::ExitCode;

use clap::Parser as _;
use seam_server::{cli::Cli, command, log, stdio};

fn main() -> ExitCode {
    // Before anything else runs: this is the only thing that may print to standard output.
    let cli = Cli::parse();
    let stdio = match stdio::claim() {
        Ok(stdio) => stdio,
        Err(error) => {
            log::line(format_args!("cannot take the standard streams: {error}"));
            return ExitCode::FAILURE;
        }
    };
    log::install();
    seam_sandbox::init_platform();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log::line(format_args!("cannot start the runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let end = runtime.block_on(command::carry_out(cli, stdio));
    // A read of standard input may hang until the client closes it; it is not waited for.
    runtime.shutdown_background();
    end
}
