//! The standard streams, taken before anything else can print.
//!
//! **Architecture invariant.** After [`claim`], whatever writes to descriptor 1 (a guest's
//! engine, a hook, a panic, a child) writes to standard error, and whatever reads from
//! descriptor 0 reads nothing. Only the holder of [`Stdio`] has the real ones.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{io::fcntl_dupfd_cloexec, stdio};

/// The process's real standard input and output.
pub struct Stdio {
    /// Descriptor 0 as it was.
    pub input: File,
    /// Descriptor 1 as it was.
    pub output: File,
}

/// Moves the real streams away. To be called once, first thing in `main`.
///
/// Errors: the process is out of descriptors, or has no null device.
pub fn claim() -> io::Result<Stdio> {
    let (input, output) = (moved(stdio::stdin())?, moved(stdio::stdout())?);
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(Stdio {
        input: input.into(),
        output: output.into(),
    })
}

/// The same stream under a number that no child inherits, above the three standard ones.
fn moved(stream: impl AsFd) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(stream, 3)?)
}
