//! Where cases run: threads that all descend from the one that started V8, whose memory
//! protection is inherited. The test harness's own threads do not.

use std::{
    future::Future,
    sync::{OnceLock, mpsc},
    thread,
};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Handle};

/// Runs a future on the stage and waits for it.
pub fn on_stage<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (sender, result) = mpsc::channel();
    stage()?.spawn(async move {
        // Where nobody waits any more, nobody needs the result.
        drop(sender.send(work.await));
    });
    result.recv().context("the case panicked, see above")?
}

/// The runtime of the stage, started with the first case.
fn stage() -> Result<&'static Handle> {
    static STAGE: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let (sender, started) = mpsc::channel();
        thread::spawn(move || {
            seam_isolate::init_platform();
            let runtime = Builder::new_multi_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                drop(sender.send(runtime.handle().clone()));
                runtime.block_on(std::future::pending::<()>());
            }
        });
        started.recv().ok()
    };
    STAGE.get_or_init(start).as_ref().context("no runtime for the cases")
}
