//! Starting V8 for a process that will run guests.

use std::{
    sync::{Once, mpsc},
    thread,
};

use crate::guest;

/// Starts V8, and makes sure that every isolate of this process can live beside guests.
/// Call it on the main thread before any other thread that will create an isolate is
/// spawned. Later calls do nothing.
///
/// V8 has one read-only heap a process, and the first isolate brings it. Guests start from
/// a snapshot whose read-only heap has more in it than V8's own: an isolate made without
/// that snapshot (a hook's) finds all it needs in the larger one, but not the other way
/// round, where V8 would end the process. So the first isolate is a guest's. It runs nothing
/// and stays, so that there is never a second first one.
pub fn init_platform() {
    static ONCE: Once = Once::new();
    seam_isolate::init_platform();
    ONCE.call_once(|| {
        let (ready, made) = mpsc::channel();
        let keeper = thread::Builder::new().name("seam-v8-first".into()).spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
                return;
            };
            let _inside = runtime.enter();
            let Ok(_first) = guest::empty() else { return };
            // The receiver waits for exactly this.
            let _ = ready.send(());
            loop {
                thread::park();
            }
        });
        // A process that cannot make this isolate cannot make any other either: the first
        // script will say so.
        if keeper.is_ok() {
            let _ = made.recv();
        }
    });
}
